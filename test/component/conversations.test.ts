// Pins: a conversation is open for 24 hours after what the person wrote last, whatever the order of webhooks; what is sent
// outside of it is accepted with a warning or refused, as the account says. Real: Redis, HTTP, producer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { eraseMessages } from '../../src/erase/erase-messages.ts'
import { openFiles } from '../../src/files/open.ts'
import { useDataKeys } from '../../src/kernel/sealed.ts'
import { openReplyWindow, replyWindowOf, storeInbound, WINDOW_MS } from '../../src/lanes/messages/inbound.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { conversations } from '../../src/producer/api/conversations/routes.ts'
import { audioTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const HOUR = 3_600_000

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
})
afterAll(() => service?.close())

let count = 0
async function writes(from: string, agoMs: number, more: object = {}): Promise<void> {
  count += 1
  const message = { id: `wamid.c${count}`, lane: tenant.cloudLane, from, type: 'text', text: 'Hi' }
  await storeInbound(service.redis, tenant.account, { ...message, received_at: Date.now() - agoMs, ...more }, HOUR)
}

const ask = (path: string, key = tenant.apiKey) => service.api.as(key).get(`/conversations/${path}`)
const conversation = async (person: string, query: { sender?: string } = {}) =>
  (await tenant.api.call(conversations.show, { params: { person }, query })).data

const send = (to: string, more: object = {}) =>
  fetch(`${service.url}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: tenant.apiKey, ...audioTo(to, more) }),
  })

test('a reply window is open until 24 hours after the latest message, also when an earlier one comes after it', async () => {
  const person = '491530000001'
  expect(await conversation(person)).toMatchObject({ open: false, open_until: null, last_received_at: null })
  await writes(person, HOUR)
  await writes(person, 5 * HOUR)
  const { open, open_until: until, last_received_at: last, sender } = await conversation('+49 153 0000001')
  expect([open, sender]).toEqual([true, tenant.cloudNumber])
  expect(Math.abs(Date.parse(until ?? '') - (Date.now() + 23 * HOUR))).toBeLessThan(60_000)
  expect(Date.parse(until ?? '') - Date.parse(last ?? '')).toBe(WINDOW_MS)
  // With each number there is a conversation of its own, and on the other wire nobody hears what people write.
  expect((await conversation(person, { sender: tenant.partnerNumber })).open).toBe(null)
})

test('a message that is too old, of a group, or not from the person opens nothing; a future time counts as now', async () => {
  await writes('491530000002', 25 * HOUR)
  await writes('491530000003', 0, { parts: { group_id: 'g1' } })
  await writes('491530000004', 0, { type: 'system' })
  for (const person of ['491530000002', '491530000003', '491530000004']) {
    expect((await conversation(person)).open, person).toBe(false)
  }
  await writes('US.1', -100 * HOUR)
  const until = await replyWindowOf(service.redis, tenant.cloudLane, ['US.1'])
  expect(until).toBeLessThanOrEqual(Date.now() + WINDOW_MS)
})

test('a reply window is open under both number and user id of a person with both, until the person is erased', async () => {
  const [person, userId] = ['491530000020', 'DE.20']
  await writes(person, HOUR, { parts: { from_user_id: userId } })
  for (const name of [person, userId]) expect((await conversation(name)).open, name).toBe(true)
  const { redis, config } = service
  const [queues, files] = [openLaneQueues(redis), await openFiles(config)]
  const { account, cloudLane: lane } = tenant
  await eraseMessages({ redis, queues, files, config }, { account, lane, person, nowMs: Date.now() })
  await queues.close()
  for (const name of [person, userId]) expect((await conversation(name)).open, name).toBe(false)
})

test('a reply window stays open until its latest end when the data key changes', async () => {
  const [older, newer] = ['an older key of thirty-two characters', 'a newer key of thirty-two characters']
  const [redis, lane, person, nowMs] = [service.redis, tenant.cloudLane, '491530000010', Date.now()]
  try {
    useDataKeys([older])
    await openReplyWindow(redis, lane, person, nowMs - HOUR, nowMs)
    useDataKeys([newer, older])
    expect(await replyWindowOf(redis, lane, [person])).toBe(nowMs - HOUR + WINDOW_MS)
    await openReplyWindow(redis, lane, person, nowMs - 2 * HOUR, nowMs)
    expect(await replyWindowOf(redis, lane, [person])).toBe(nowMs - HOUR + WINDOW_MS)
    await openReplyWindow(redis, lane, person, nowMs, nowMs)
    expect(await replyWindowOf(redis, lane, [person])).toBe(nowMs + WINDOW_MS)
  } finally {
    useDataKeys([])
  }
})

test('an invalid person, sender or key is refused', async () => {
  expect(await ask('Ada')).toMatchObject({ status: 400, json: { error: { code: 'invalid_request' } } })
  expect(await ask('491530000001?sender=4910000000')).toMatchObject({
    status: 400,
    json: { error: { code: 'unknown_sender' } },
  })
  expect(await ask('491530000001', await tenant.key('contacts:read'))).toMatchObject({ status: 403 })
  const other = await service.addTenant({ defaultProvider: 'cloud-api' })
  expect(await ask('491530000001', other.apiKey)).toMatchObject({ status: 200, json: { data: { open: false } } })
})

test('a message outside the window is accepted with a warning, one inside without', async () => {
  const outside = await send('+491530000005')
  expect([outside.status, outside.headers.get('x-laneway-warning')]).toEqual([200, 'outside_window'])
  await writes('491530000005', HOUR)
  const inside = await send('+491530000005')
  expect([inside.status, inside.headers.get('x-laneway-warning')]).toEqual([200, null])
  const late = await send('+491530000005', { send_at: new Date(Date.now() + 48 * HOUR).toISOString() })
  expect([late.status, late.headers.get('x-laneway-warning')]).toEqual([200, 'outside_window'])
})

test('an account may refuse messages outside the window, alone and in a batch; other senders are not affected', async () => {
  await setAccountSettings(service.redis, tenant.account, { outside_window: 'refuse' })
  const refused = await eventually(async () => {
    const answer = await send('+491530000006')
    return answer.status === 409 ? answer.json() : undefined
  }, 'the setting is known')
  expect(refused).toMatchObject({ error: { code: 'outside_window' } })
  await writes('491530000007', HOUR)
  expect((await send('+491530000007')).status).toBe(200)
  const items = ['+491530000006', '+491530000007'].map((to) => audioTo(to))
  const batch = await tenant.api.post('/messages/batch', { messages: items })
  expect(batch.json).toMatchObject({ results: [{ error: { code: 'outside_window' } }, { id: expect.any(String) }] })

  const partner = await service.addTenant({ defaultProvider: 'partner-api' })
  await setAccountSettings(service.redis, partner.account, { outside_window: 'refuse' })
  const body = { api_key: partner.apiKey, ...audioTo('+491530000006') }
  expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(200)
})
