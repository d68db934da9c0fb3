// Pins: with LANEWAY_DATA_KEY, no number and no text of a message can be found in Redis, by whatever door it came; messages
// are found, shown, sent again and forgotten as ever, those of before the key and of an older key too; and a process
// without the key neither starts nor spoils what it cannot read. Real: Redis, HTTP, producer, worker, command line.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useDataKeys } from '../../src/kernel/sealed.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { noteDataKeys } from '../../src/redis/data-keys.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { runCli } from '../support/cli.ts'
import { acknowledgedId, audioTo, reaches, sendTo } from '../support/messages.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { dataKeysSeen } from '../support/state/accounts.ts'
import { stored } from '../support/state/everything.ts'
import { jobOf, nextLook } from '../support/state/lanes.ts'
import { isOutbox, recipientCooldowns, replyWindowsOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'

const KEY = 'the data key of this test with 32 characters and more'
const NEXT = 'the next data key of this test with 32 characters and more'
const DAY_MS = 86_400_000

let service: CampaignService
let admin: string
beforeAll(async () => {
  service = await startCampaigns({ env: { LANEWAY_DATA_KEY: KEY } })
  admin = await service.tenant.key('admin')
})
afterAll(() => service?.close())

const textTo = (to: string, body: string) => ({ ...audioTo(`+${to}`), audio: undefined, type: 'text', text: { body } })

/** In an hour, so that it stays a job. */
const later = (to: string, body: string) => ({
  ...{ api_key: service.tenant.apiKey, ...textTo(to, body) },
  send_at: new Date(Date.now() + 3_600_000).toISOString(),
})

async function send(body: object): Promise<string> {
  return acknowledgedId(await service.post('/sendservicemessages/sendmessages', body))
}

async function receive(from: string, text: string): Promise<void> {
  const id = `wamid.${Buffer.from(`${from} 17`).toString('base64')}`
  const value = {
    metadata: { phone_number_id: `${PHONE_NUMBER_ID}1` },
    messages: [{ id, from, timestamp: String(Math.floor(Date.now() / 1_000)), type: 'text', text: { body: text } }],
  }
  expect((await bringWebhook(service.url, [{ field: 'messages', value }])).status).toBe(200)
}

/** What one tells the simulator to answer for a number. */
async function answerFor(to: string, behaviour: string): Promise<void> {
  const body = JSON.stringify({ match: { to }, behaviour })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${service.simulator.url}/_control`, { method: 'POST', headers, body })
  expect(answer.status, await answer.text()).toBe(200)
}

/** Keys that hold, or are named after, one of these; also as WhatsApp hides a number in its ids. */
async function holding(...secrets: string[]): Promise<string[]> {
  const hidden = secrets.map((secret) => Buffer.from(secret).toString('base64').slice(1, -3))
  const all = Object.entries(await stored(service.redis))
  return all
    .filter(([key, value]) => [...secrets, ...hidden].some((one) => (key + value).includes(one)))
    .map(([k]) => k)
}

async function found(query: string): Promise<{ id: string; to?: string; from?: string; text: string }[]> {
  const answer = await service.request('GET', `/messages?${query}`)
  expect(answer.status, answer.text).toBe(200)
  return answer.json().data
}

test('no number and no text of a message is readable in Redis, at any stage of its life', async () => {
  const { tenant } = service
  const people = Array.from({ length: 8 }, (_, i) => `4915208800${30 + i}`)
  const [waits = '', read = '', fails = '', cools = '', writes = '', inBatch = '', asked = '', cancels = ''] = people
  // Somebody listens, so that events are kept.
  await service.request('GET', '/events', undefined, await tenant.key('events'))
  await answerFor(fails, 'recipient-not-allowed')
  await send(later(waits, 'The secret of 1'))
  const ids = [
    await send({ api_key: tenant.apiKey, ...textTo(read, 'The secret of 2, which is longer than what is packed.') }),
    await send({ api_key: tenant.apiKey, ...textTo(fails, 'The secret of 3') }),
  ]
  await reaches(service, tenant, ids[0] ?? '', 'read')
  await reaches(service, tenant, ids[1] ?? '', 'failed')
  await answerFor(cools, 'pair-limited-once')
  const cooled = await send({ api_key: tenant.apiKey, ...textTo(cools, 'The secret of 8') })
  await eventually(async () => (await recipientCooldowns(service.redis))[0], 'there is a cooldown')
  await receive(writes, 'The secret of 4')
  const batch = await service.request('POST', '/messages/batch', { messages: [textTo(inBatch, 'The secret of 5')] })
  expect(batch.status, batch.text).toBe(200)
  const cancelled = await send(later(cancels, 'The secret of 6'))
  expect((await service.request('POST', `/messages/${cancelled}/cancel`)).status).toBe(200)
  expect((await service.request('POST', '/messages/requeue', { to: asked })).status).toBe(202)
  const campaign = await service.create({ rows: {} })
  await service.upload(campaign, 'phone,name\n4915208800901,Secretname\n')
  await service.checked(campaign)
  await service.move(campaign, 'start')
  await service.reaches(campaign, 'done')

  expect(await holding(...people, '4915208800901', 'secret of', 'Secretname')).toEqual([])
  // They are shown all the same.
  const [one] = await found(`to=${read}`)
  expect(one).toMatchObject({ to: read, text: 'The secret of 2, which is longer than what is packed.' })
  expect(await found(`from=${writes}&direction=inbound`)).toMatchObject([{ from: writes, text: 'The secret of 4' }])
  expect(await found(`to=${waits}`)).toMatchObject([{ to: waits, text: 'The secret of 1' }])
  const failed = await service.request('GET', `/messages/${ids[1]}`)
  expect(failed.json().data.problem.sentence).toMatch(/^[\x20-\x7E]+$/)
  const [inCampaign] = await found('to=4915208800901')
  expect(inCampaign?.text).toBe('Dear Secretname, spring is here.')
  // In the next test the worker has no key: a message that is due under this one would hold up its lane for good.
  const [ofBatch] = await found(`to=${inBatch}`)
  await reaches(service, tenant, ofBatch?.id ?? '', 'read')
  await service.request('POST', `/messages/${cooled}/cancel`)
})

test('data written without a key, or under an older one, is found, sent and erased', async () => {
  const { tenant } = service
  // Unlike all others, also in base64: what waits of theirs may be written meanwhile, without a key.
  const person = '436601234567'
  useDataKeys([])
  const clear = await sendTo(service, tenant, `+${person}`)
  await reaches(service, tenant, clear, 'read')
  await send(later(person, 'Before the key'))
  await receive(person, 'Received before the key')
  useDataKeys([KEY])
  await send(later(person, 'Under the old key'))
  await reaches(service, tenant, await sendTo(service, tenant, `+${person}`), 'read')
  useDataKeys([NEXT, KEY])
  await reaches(service, tenant, await sendTo(service, tenant, `+${person}`), 'read')
  expect(await found(`to=${person}`)).toHaveLength(5)
  expect(await replyWindowsOf(service.redis, person)).toHaveLength(1)

  const shown = await service.request('GET', `/admin/people/${person}`, undefined, admin)
  expect(shown.json().data.messages).toHaveLength(6)
  const erased = await service.request('DELETE', `/admin/people/${person}`, undefined, admin)
  expect(erased.status, erased.text).toBe(200)
  expect(await found(`to=${person}`)).toEqual([])
  expect(await found(`from=${person}&direction=inbound`)).toEqual([])
  // Events say no more of whom they are about than their ids, which end with them.
  const left = await holding(person, 'before the key', 'old key')
  expect(left.filter((key) => !isOutbox(key))).toEqual([])
  useDataKeys([KEY])
})

test('a worker without the key leaves a message to one that has it', async () => {
  const { tenant } = service
  useDataKeys([KEY])
  const queues = openLaneQueues(service.redis)
  await queues.pause(tenant.cloudLane)
  const id = await sendTo(service, tenant, '+491520880088')
  useDataKeys([])
  const looked = nextLook(tenant.cloudLane)
  await queues.resume(tenant.cloudLane)
  await looked
  // What came of the look, of which there is no other trace.
  const again = nextLook(tenant.cloudLane)
  queues.wake(tenant.cloudLane)
  await again
  expect((await jobOf(service.redis, id))?.failedReason).toBeUndefined()
  useDataKeys([KEY])
  queues.wake(tenant.cloudLane)
  await queues.close()
  await reaches(service, tenant, id, 'read')
})

test('a process that lacks a key still in use does not start, and says which', async () => {
  const { redis, server } = service
  const retentionMs = 30 * DAY_MS
  const nowMs = Date.now()
  await dataKeysSeen(redis).remove()
  await noteDataKeys(redis, [], { retentionMs, nowMs })
  await noteDataKeys(redis, [KEY], { retentionMs, nowMs })
  await expect(noteDataKeys(redis, [], { retentionMs, nowMs })).rejects.toThrow(/LANEWAY_DATA_KEY is not set/)
  await expect(noteDataKeys(redis, [NEXT], { retentionMs, nowMs })).rejects.toThrow(/lacks the key [0-9a-f]{8}/)
  const env = { REDIS_URL: server.url, LANEWAY_DATA_DIR: service.config.dataDir }
  const refused = await runCli(['messages', 'list', '--account', '1'], env)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('LANEWAY_DATA_KEY is not set')
  expect((await runCli(['messages', 'list', '--account', '1'], { ...env, LANEWAY_DATA_KEY: KEY })).code).toBe(0)

  // Rotated, the old one is needed until what it sealed has ended.
  await noteDataKeys(redis, [NEXT, KEY], { retentionMs, nowMs })
  await expect(noteDataKeys(redis, [NEXT], { retentionMs, nowMs: nowMs + 149 * DAY_MS })).rejects.toThrow(
    /lacks the key/,
  )
  await noteDataKeys(redis, [NEXT], { retentionMs, nowMs: nowMs + 151 * DAY_MS })
  expect(Object.keys(await dataKeysSeen(redis).fields())).toHaveLength(1)
  useDataKeys([KEY])
})
