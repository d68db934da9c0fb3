// Pins `reference`, the client's own text on a message: it comes back in lookups, lists and events, finds the message, and goes
// with the person.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { errorOf } from '../support/api-error.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { requeueRequest } from '../support/requeue.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { stored } from '../support/state/everything.ts'

let service: Service
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  other = await service.addTenant()
})
afterAll(() => service?.close())

const one = z.object({ data: z.object({ id: z.string(), reference: z.string().nullable() }) })
const many = z.object({ data: z.array(z.object({ id: z.string(), reference: z.string().nullable() })) })
const event = z.object({ data: z.object({ id: z.string(), reference: z.string().nullable() }) })
const page = z.object({ data: z.array(z.looseObject({ type: z.string(), data: z.unknown() })), next: z.string() })

const text = (to: string, more: object) => ({ to, type: 'text', text: { body: 'On its way' }, ...more })

async function send(to: string, reference: string): Promise<string> {
  const { status, text: answered, json } = await tenant.api.post('/messages', text(to, { reference }))
  expect(status, answered).toBe(202)
  return one.parse(json).data.id
}

async function found(reference: string, api = tenant.api): Promise<string[]> {
  const answer = await api.get(`/messages?${new URLSearchParams({ reference })}`)
  expect(answer.status, answer.text).toBe(200)
  return many.parse(answer.json).data.map(({ id }) => id)
}

test('a message has it from its acceptance on, and each of its events has it too', async () => {
  const key = await tenant.key('events')
  const { next } = page.parse((await service.api.as(key).get('/events')).json)
  const to = '+491700009101'
  const { status, json } = await tenant.api.post('/messages', text(to, { reference: 'order 4711' }))
  expect(status).toBe(202)
  const { id, reference } = one.parse(json).data
  expect(reference).toBe('order 4711')
  await reaches(service, tenant, id, 'read')
  expect(one.parse((await tenant.api.get(`/messages/${id}`)).json).data.reference).toBe('order 4711')
  const { data } = page.parse((await service.api.as(key).get(`/events?after=${next}`)).json)
  const own = data.flatMap((each) => event.safeParse(each).data ?? []).filter((each) => each.data.id === id)
  expect(own.length).toBeGreaterThan(0)
  expect(new Set(own.map((each) => each.data.reference))).toEqual(new Set(['order 4711']))
})

test('a message is found by it while it waits and once it was sent, by nothing shorter, and by nobody else', async () => {
  const [sent, waiting] = [
    await send('+491700009111', 'a-1'),
    await sendTo(service, tenant, '+491700009112', {
      reference: 'a-1',
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  ]
  await send('+491700009113', 'a-12')
  await reaches(service, tenant, sent, 'read')
  expect(await found('a-1')).toEqual([waiting, sent])
  expect(await found('a')).toEqual([])
  expect(await found('a-1', other.api)).toEqual([])
  const listed = await runCli(['messages', 'list', '--reference', 'a-1', '--json'], service.settings)
  expect(z.array(z.object({ id: z.string() })).parse(documentIn(listed.stdout))).toEqual(
    [waiting, sent].map((id) => expect.objectContaining({ id })),
  )
})

test('every way to send takes it: the older address, a batch and a list', async () => {
  const older = await sendTo(service, tenant, '+491700009121', { reference: 'w-1' })
  const ids = z.array(z.object({ id: z.string() }))
  const batch = await tenant.api.post('/messages/batch', {
    messages: [text('+491700009122', { reference: 'w-1', recipient_type: 'individual', messaging_product: 'chatapp' })],
  })
  expect(batch.status, batch.text).toBe(200)
  const [ofBatch] = z.object({ results: ids }).parse(batch.json).results
  const list = await tenant.api.post('/messages', { messages: [text('+491700009123', { reference: 'w-1' })] })
  expect(list.status, list.text).toBe(202)
  const [ofList] = z.object({ data: ids }).parse(list.json).data
  expect(await found('w-1')).toEqual([ofList?.id, ofBatch?.id, older])
})

test('only messages with it are sent again', async () => {
  const id = await sendTo(service, tenant, '+491700009131', {
    reference: 'r-1',
    send_at: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const cancelled = await tenant.api.post(`/messages/${id}/cancel`)
  expect(cancelled.status, cancelled.text).toBe(200)
  const matched = async (reference: string) => {
    const { body } = await requeueRequest(service, tenant, { reference, dry_run: true })
    return body.data?.matched
  }
  expect([await matched('r-1'), await matched('r-2')]).toEqual([1, 0])
})

test('one that is longer than 200 characters is refused with its name, and an empty one is none', async () => {
  const long = await tenant.api.post('/messages', text('+491700009141', { reference: 'x'.repeat(201) }))
  expect(long.status).toBe(400)
  expect(errorOf(long).details).toEqual([{ path: 'reference', message: 'at most 200 characters, got 201' }])
  const empty = await tenant.api.post('/messages', text('+491700009142', { reference: '' }))
  expect(one.parse(empty.json).data.reference).toBeNull()
})

test('it is erased with its person', async () => {
  const to = '491700009151'
  const id = await send(`+${to}`, 'for Canary Smith')
  await reaches(service, tenant, id, 'read')
  expect(JSON.stringify(await stored(service.redis))).toContain('Canary Smith')
  const erased = await service.api.as(await tenant.key('admin')).delete(`/admin/people/${to}`)
  expect(erased.status, erased.text).toBe(200)
  expect(JSON.stringify(await stored(service.redis))).not.toContain('Canary Smith')
  expect(one.parse((await tenant.api.get(`/messages/${id}`)).json).data.reference).toBeNull()
})
