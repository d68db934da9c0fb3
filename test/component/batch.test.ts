// Pins POST /messages/batch: every item judged by itself, ids in order, one Idempotency-Key for the whole, and a repeat
// after a crash makes what is missing and nothing else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { importTemplate } from '../../src/accounts/templates.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { errorOf } from '../support/api-error.ts'
import { imageBody, templateBody } from '../support/example-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { jobOf, loseJob } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const path = '/messages/batch'
const template = {
  name: 'order_update',
  language: 'en_US',
  category: 'UTILITY',
  components: [{ type: 'BODY', text: 'Order {{1}} is on its way' }],
}
const answerSchema = z.object({
  results: z.array(
    z.object({
      index: z.number(),
      id: z.string().optional(),
      error: z
        .object({ code: z.string(), message: z.string(), details: z.array(z.object({ path: z.string() })) })
        .optional(),
    }),
  ),
})

let service: Service
let lanes: LaneQueues
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  service = await startService({ templates: [template], worker: false })
  lanes = openLaneQueues(service.redis)
  tenant = await service.addTenant()
  other = await service.addTenant()
})
afterAll(async () => {
  await lanes?.close()
  await service?.close()
})

const image = (to: string, more: object = {}) => ({ ...imageBody(), api_key: undefined, to, ...more })
const update = (to: string, sender: string, order = '7') => ({
  ...templateBody({ components: [{ type: 'BODY', parameters: [{ type: 'text', text: order }] }] }),
  api_key: undefined,
  to,
  sender,
})
const post = (messages: unknown, headers: Record<string, string> = {}, api = tenant.api) =>
  api.post(path, { messages }, headers)

async function resultsOf(messages: readonly object[], headers: Record<string, string> = {}, api = tenant.api) {
  const { status, text, json } = await post(messages, headers, api)
  expect(status, text.slice(0, 500)).toBe(200)
  return answerSchema.parse(json).results
}

const jobsOf = async (lane: number) => Object.values(await lanes.counts(lane)).reduce((sum, each) => sum + each, 0)

const dataOf = async (id: string): Promise<string | null> => (await jobOf(service.redis, id))?.text ?? null

describe('a batch', () => {
  test('queues service and template messages of several lanes and answers with their ids in order', async () => {
    const results = await resultsOf([
      image('+491700000001'),
      update('+491700000002', tenant.cloudNumber),
      update('+491700000003', tenant.partnerNumber),
    ])
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2])
    const lanes = results.map(({ id }) => parseMessageId(id ?? '')?.lane)
    expect(lanes).toEqual([tenant.partnerLane, tenant.cloudLane, tenant.partnerLane])
    const recipients = await Promise.all(results.map(async ({ id }) => JSON.parse((await dataOf(id ?? '')) ?? '').to))
    expect(recipients).toEqual(['491700000001', '491700000002', '491700000003'])
  })

  test('sends each message from the sender that it names, and from the default one where it names none', async () => {
    const messages = [
      image('+491710000090', { sender: 'cloud' }),
      image('+491710000091'),
      image('+491710000092', { sender: `+${tenant.cloudNumber}` }),
      image('+491710000093', { sender: 'nobody' }),
    ]
    const results = await resultsOf(messages)
    const lanes = results.map(({ id }) => parseMessageId(id ?? '')?.lane)
    expect(lanes).toEqual([tenant.cloudLane, tenant.partnerLane, tenant.cloudLane, undefined])
    expect(results[3]?.error).toMatchObject({ code: 'unknown_sender', details: [{ path: 'sender' }] })
  })

  test('reaches WhatsApp, every message once', async () => {
    const to = Array.from({ length: 25 }, (_, i) => `4917100000${10 + i}`)
    const results = await resultsOf(to.map((each) => image(`+${each}`)))
    const worker = await service.startWorker()
    await eventually(async () => {
      const states = await Promise.all(results.map(({ id }) => stateOf(id ?? '')))
      return states.every((state) => state === 'read')
    }, 'all are read')
    await worker.close()
    const ledger = await (await fetch(`${service.simulator.url}/_ledger`)).text()
    for (const each of to) expect(ledger.split(`"${each}"`)).toHaveLength(2)
  })

  test('of a thousand messages is accepted, each with its own id', async () => {
    const results = await resultsOf(Array.from({ length: 1_000 }, () => image('+491700000004')))
    expect(new Set(results.map(({ id }) => id)).size).toBe(1_000)
  })

  test('lets bad items harm no other, and reports for each what is wrong', async () => {
    const results = await resultsOf([
      image('+491700000005'),
      image('12'),
      image('+491700000005', { type: 'dance' }),
      update('+491700000005', 'nobody'),
      update('+491700000005', tenant.partnerNumber, 'two\nlines'),
      image('+491700000005', { valid_until: '2001-01-01T00:00:00Z' }),
      update('+491700000005', other.partnerNumber),
      image('+491700000006'),
    ])
    expect(results.map(({ error }) => error?.code)).toEqual([
      undefined,
      'invalid_request',
      'invalid_request',
      'unknown_sender',
      'invalid_request',
      'invalid_request',
      'unknown_sender',
      undefined,
    ])
    const paths = results.map(({ error }) => error?.details[0]?.path)
    expect(paths.slice(1, 6)).toEqual([
      'to',
      'type',
      'sender',
      'template.components[0].parameters[0].text',
      'valid_until',
    ])
    expect(results.every(({ id, error }) => (id === undefined) !== (error === undefined))).toBe(true)
  })

  test('of nothing but bad items queues nothing and still gets an answer', async () => {
    const before = await jobsOf(tenant.partnerLane)
    const results = await resultsOf([image('12'), { to: 7 }])
    expect(results.map(({ error }) => error?.code)).toEqual(['invalid_request', 'invalid_request'])
    expect(await jobsOf(tenant.partnerLane)).toBe(before)
  })

  test('treats items that are not objects as bad items', async () => {
    const { json } = await post([image('+491700000007'), 'hello', null, 7, []])
    const { results } = answerSchema.parse(json)
    expect(results.map(({ id }) => id !== undefined)).toEqual([true, false, false, false, false])
  })
})

describe('a request is refused whole', () => {
  test.each([
    ['without messages', undefined, 'required'],
    ['with something else than a list', { 0: image('+491700000001') }, 'expected a list, got an object'],
    ['with an empty list', [], 'expected 1 to 1000 messages, got 0'],
    ['with 1,001 messages', Array.from({ length: 1_001 }, () => 1), 'expected 1 to 1000 messages, got 1001'],
  ])('%s', async (_what, messages, sentence) => {
    const answer = await post(messages)
    expect(answer.status).toBe(400)
    expect(errorOf(answer).details).toEqual([{ path: 'messages', message: sentence }])
  })

  test('over 4 MB, but not at 4 MB', async () => {
    const item = image('+491700000008', { note: 'x'.repeat(4_000) })
    const count = Math.floor((4 * 1_024 * 1_024 - 100) / (JSON.stringify(item).length + 1))
    expect((await post(Array.from({ length: Math.min(count, 1_000) }, () => item))).status).toBe(200)
    const larger = image('+491700000008', { note: 'x'.repeat(4_400) })
    expect((await post(Array.from({ length: 1_000 }, () => larger))).status).toBe(413)
  })

  test('without a key, with a key in the body, with a key that may only look up', async () => {
    const messages = [image('+491700000009')]
    expect((await service.post(path, { messages })).status).toBe(401)
    expect((await service.post(path, { messages, api_key: tenant.apiKey })).status).toBe(401)
    const reader = await tenant.apiWith('messages:read')
    expect((await post(messages, {}, reader)).status).toBe(403)
  })
})

describe('with an Idempotency-Key', () => {
  const key = (name: string) => ({ 'idempotency-key': name })

  test('the same batch gets the same ids and makes no second message, also when two come at once', async () => {
    const messages = [image('+491720000001'), image('12'), update('+491720000002', tenant.cloudNumber)]
    const before = (await jobsOf(tenant.partnerLane)) + (await jobsOf(tenant.cloudLane))
    const answers = await Promise.all(Array.from({ length: 20 }, () => resultsOf(messages, key('batch-1'))))
    const ids = answers.map((results) => results.map(({ id }) => id))
    for (const each of ids) expect(each).toEqual(ids[0])
    expect(answers[0]?.[1]?.error?.code).toBe('invalid_request')
    expect((await jobsOf(tenant.partnerLane)) + (await jobsOf(tenant.cloudLane))).toBe(before + 2)
  })

  test('another body is refused, and so is an Idempotency-Key that is too long', async () => {
    await resultsOf([image('+491720000003')], key('batch-2'))
    const reused = await post([image('+491720000004')], key('batch-2'))
    expect([reused.status, errorOf(reused).code]).toEqual([422, 'idempotency_key_reused'])
    expect((await post([image('+491720000003')], key('x'.repeat(256)))).status).toBe(400)
  })

  test('another account may use the same key for another batch', async () => {
    await resultsOf([image('+491720000005')], key('batch-3'))
    const theirs = await resultsOf([image('+491720000006')], key('batch-3'), other.api)
    expect(parseMessageId(theirs[0]?.id ?? '')?.lane).toBe(other.partnerLane)
  })

  test('items that a crash kept from being added are added by the repeat, under their reserved ids', async () => {
    const messages = Array.from({ length: 5 }, (_, i) => image(`+49172000001${i}`))
    const first = await resultsOf(messages, key('batch-4'))
    const [lost = '', kept = ''] = [first[3]?.id, first[0]?.id]
    const before = await jobsOf(tenant.partnerLane)
    await loseJob(service.redis, lost)
    expect(await dataOf(lost)).toBeNull()
    const again = await resultsOf(messages, key('batch-4'))
    expect(again).toEqual(first)
    expect(await dataOf(lost)).not.toBeNull()
    expect(await dataOf(kept)).not.toBeNull()
    expect(await jobsOf(tenant.partnerLane)).toBe(before)
  })

  test('a refused item stays refused, even if it would be accepted by now', async () => {
    const soon = { ...template, name: 'soon_there' }
    const body = { ...update('+491720000020', tenant.partnerNumber) }
    const messages = [{ ...body, template: { ...body.template, name: 'soon_there' } }, image('+491720000021')]
    const first = await resultsOf(messages, key('batch-5'))
    expect(first[0]?.error?.details[0]?.path).toBe('template.name')
    await importTemplate(service.redis, tenant.account, templateSchema.parse(soon))
    const again = await resultsOf(messages, key('batch-5'))
    expect(again[0]?.error?.code).toBe('refused_before')
    expect(again[1]).toEqual(first[1])
    expect((await resultsOf(messages))[0]?.id).toBeDefined()
  })
})

async function stateOf(id: string) {
  const answer = await service.post('/chatappbusiness/getmessgageinfobyid', { api_key: tenant.apiKey, message_id: id })
  return z.object({ message: z.object({ status: z.string() }) }).parse(answer.body).message.status
}
