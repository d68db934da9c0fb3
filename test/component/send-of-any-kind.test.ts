// Pins POST /messages, our own address: any kind, one or many, answered with the message itself.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { startProducer } from '../../src/producer/main.ts'
import { apiClient } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { silentLog } from '../support/app.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { loseJob } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const path = '/messages'
const template = {
  name: 'order_update',
  language: 'en_US',
  category: 'UTILITY',
  components: [{ type: 'BODY', text: 'Order {{1}} is on its way' }],
}

let service: Service
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  service = await startService({ templates: [template], worker: false })
  tenant = await service.addTenant()
  other = await service.addTenant()
})
afterAll(() => service?.close())

const text = (to: string, more: object = {}) => ({ to, type: 'text', text: { body: 'We are open until 8.' }, ...more })
const update = (to: string, more: object = {}) => ({
  to,
  sender: tenant.cloudNumber,
  type: 'template',
  template: {
    name: 'order_update',
    language: { code: 'en_US' },
    components: [{ type: 'BODY', parameters: [{ type: 'text', text: '7' }] }],
  },
  ...more,
})
const key = (name: string) => ({ 'idempotency-key': name })

const one = z.object({ data: z.object({ id: z.string(), state: z.string(), kind: z.string(), to: z.string() }) })
const many = z.object({
  data: z.array(
    z.object({
      index: z.number(),
      id: z.string().optional(),
      error: z.object({ code: z.string(), details: z.array(z.object({ path: z.string() })) }).optional(),
    }),
  ),
})

async function accepted(body: object, headers: Record<string, string> = {}) {
  const { status, text, json } = await tenant.api.post(path, body, headers)
  expect(status, text).toBe(202)
  return one.parse(json).data
}

async function results(messages: unknown, headers: Record<string, string> = {}, api = tenant.api) {
  const { status, text, json } = await api.post(path, { messages }, headers)
  expect(status, text.slice(0, 500)).toBe(202)
  return many.parse(json).data
}

describe('one message', () => {
  test('is answered with what its lookup shows, without the two fields that have one value', async () => {
    const { status, json } = await tenant.api.post(path, text('+49 170 0000001'))
    expect(status).toBe(202)
    expect(json).toMatchObject({ status: true, message: 'queued', data: { state: 'queued', direction: 'outbound' } })
    const { data } = one.parse(json)
    const looked = await tenant.api.get(`/messages/${data.id}`)
    expect(looked.json).toMatchObject({ data: z.object({ data: z.unknown() }).parse(json).data })
    expect(data).toMatchObject({ kind: 'text', to: '491700000001' })
  })

  test('may be a template, and may carry these two fields', async () => {
    const both = { recipient_type: 'individual', messaging_product: 'chatapp' }
    expect(await accepted(update('+491700000002', both))).toMatchObject({ kind: 'template', state: 'queued' })
  })

  test.each([
    ['another value of these', { messaging_product: 'whatsapp' }, 'messaging_product'],
    ['a key in the body', { api_key: 'key' }, 'api_key'],
    ['an unknown field', { priority: 1 }, 'priority'],
    ['a field of another kind', { image: { link: 'https://shop.example/a.png' } }, 'image'],
    ['an unknown kind', { type: 'fax' }, 'type'],
  ])('is refused for %s', async (_what, more, field) => {
    const answer = await tenant.api.post(path, text('+491700000003', more))
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'invalid_request'])
    expect(errorOf(answer).details).toMatchObject([{ path: field }])
  })

  test('of an unknown kind is told the kinds that there are, templates among them', async () => {
    const answer = await tenant.api.post(path, text('+491700000003', { type: 'fax' }))
    expect(errorOf(answer).message).toMatch(/\btext\b.*\btemplate\b/)
  })

  test('is the same message when it is repeated, and another one is refused under its key, whatever its kind', async () => {
    const first = await accepted(text('+491700000004'), key('one'))
    expect((await accepted(text('+491700000004'), key('one'))).id).toBe(first.id)
    const bodies = [text('+491700000005'), update('+491700000004'), { messages: [text('+491700000004')] }]
    for (const body of bodies) {
      const answer = await tenant.api.post(path, body, key('one'))
      expect([answer.status, errorOf(answer).code]).toEqual([422, 'idempotency_key_reused'])
    }
  })

  test('of another account is nobody’s business: its key and its senders are unknown there', async () => {
    const mine = await accepted(text('+491700000006'), key('shared'))
    const theirs = await other.api.post(path, text('+491700000006'), key('shared'))
    expect(one.parse(theirs.json).data.id).not.toBe(mine.id)
    const foreign = await other.api.post(path, text('+491700000006', { sender: tenant.cloudNumber }))
    expect([foreign.status, errorOf(foreign).code]).toEqual([400, 'unknown_sender'])
  })

  test('to somebody who has not written is warned of, or refused where the account says so', async () => {
    const own = await service.addTenant()
    const body = text('+491700000008', { sender: own.cloudNumber })
    const warned = await own.api.post(path, body)
    expect([warned.status, warned.headers.get('x-laneway-warning')]).toEqual([202, 'outside_window'])
    await setAccountSettings(service.redis, own.account, { outside_window: 'refuse' })
    const refused = await eventually(async () => {
      const answer = await own.api.post(path, body)
      return answer.status === 202 ? undefined : answer
    }, 'the setting is in force')
    expect([refused.status, errorOf(refused).code]).toEqual([409, 'outside_window'])
  })

  test('needs a key that may send, in the header', async () => {
    expect((await service.api.post(path, text('+491700000007'))).status).toBe(401)
    const reader = await tenant.apiWith('messages:read')
    expect((await reader.post(path, text('+491700000007'))).status).toBe(403)
  })
})

describe('several messages', () => {
  test('are answered one by one, and one that is refused harms no other', async () => {
    const found = await results([text('+491710000001'), update('+491710000002'), text('12'), 'hello', null])
    expect(found.map(({ index, id, error }) => [index, id !== undefined, error?.code])).toEqual([
      [0, true, undefined],
      [1, true, undefined],
      [2, false, 'invalid_request'],
      [3, false, 'invalid_request'],
      [4, false, 'invalid_request'],
    ])
    expect(found[2]?.error?.details).toMatchObject([{ path: 'to' }])
  })

  test('are the same messages when they are repeated, also those that a crash kept from being added', async () => {
    const messages = [text('+491710000003'), text('12'), update('+491710000004')]
    const first = await results(messages, key('many'))
    await loseJob(service.redis, first[2]?.id ?? '')
    expect(await results(messages, key('many'))).toEqual(first)
    expect((await tenant.api.get(`/messages/${first[2]?.id}`)).status).toBe(200)
  })

  test.each([
    ['an empty list', { messages: [] }],
    ['something else than a list', { messages: text('+491710000005') }],
    ['a field beside them', { messages: [text('+491710000005')], to: '+491710000005' }],
  ])('are refused as a whole with %s', async (_what, body) => {
    const answer = await tenant.api.post(path, body)
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'invalid_request'])
  })

  test('are refused while little is left of the disk, and a single one is accepted', async () => {
    const reserve = { diskBytes: Number.MAX_SAFE_INTEGER, redisPercent: 0 }
    const producer = await startProducer({ ...service.config, reserve }, service.server.url, silentLog)
    try {
      const api = apiClient(producer.url, tenant.apiKey)
      const refused = await api.post(path, { messages: [text('+491710000006')] })
      expect([refused.status, errorOf(refused).code]).toEqual([507, 'disk_reserve'])
      expect((await api.post(path, text('+491710000006'))).status).toBe(202)
    } finally {
      await producer.close()
    }
  })
})

test('a key that is for one sender sends from that one alone, one message or many', async () => {
  const only = { senders: [tenant.cloudLane] }
  const { secret } = await createCredential(service.redis, tenant.account, ['messages:send'], Date.now(), 0, '', only)
  const api = service.api.as(secret)
  const own = text('+491720000001', { sender: tenant.cloudNumber })
  const foreign = text('+491720000001', { sender: tenant.partnerNumber })
  expect((await api.post(path, own)).status).toBe(202)
  expect((await api.post(path, foreign)).status).toBe(403)
  const found = await results([own, foreign, text('+491720000001')], {}, api)
  expect(found.map(({ error }) => error?.code)).toEqual([undefined, 'forbidden', 'forbidden'])
})
