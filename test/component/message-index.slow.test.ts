// Pins: the index of a lane has every message that there is, whatever wrote it and whatever broke off, and a list made
// from it shows what looking at each message by its id shows. Real: Redis, BullMQ's queues, the steps.

import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Sender } from '../../src/accounts/senders.ts'
import { openFolder } from '../../src/files/folder.ts'
import { type MessageId, messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import type { Cursor } from '../../src/lanes/archive/archive.ts'
import { keepIndexed } from '../../src/lanes/archive/message-index.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { findInbound, storeInbound } from '../../src/lanes/messages/inbound.ts'
import { newMessageOf } from '../../src/lanes/messages/new-message.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { findMessages } from '../../src/messages/lookup/find-messages.ts'
import { findMessage } from '../../src/messages/lookup/lookup.ts'
import { listedReceived, listedSent } from '../../src/messages/lookup/message-document.ts'
import { type MessageFilter, matches } from '../../src/messages/lookup/message-filter.ts'
import type { ListedMessage } from '../../src/messages/lookup/message-schema.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { connectWithRetry, readyOrLate } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { audioJob, type LaneRedis, LONG_TIMES, startLaneRedis } from '../support/lane-redis.ts'
import { jobOf, jobsOn, loseJob } from '../support/state/lanes.ts'
import {
  campaignRecord,
  indexPartsOf,
  indexSegmentOf,
  messageIndexOf,
  messageRecord,
  receivedRecord,
} from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const ACCOUNT = 1
const PEOPLE = ['491700000001', '491700000002', '491700000003'] as const
const HOUR_MS = 3_600_000
/** No list of a campaign is on this machine. */
const lists = { files: openFolder('/nonexistent'), validityMs: { campaign: HOUR_MS } }

let store: LaneRedis
beforeAll(async () => {
  store = await startLaneRedis()
})
afterAll(() => store?.close())

const senderOf = (id: number): Sender => ({
  ...{
    id,
    account: ACCOUNT,
    number: `4420000${id}`,
    name: '',
    provider: 'partner-api',
    base_url: 'http://127.0.0.1:9',
  },
  ...{
    token: '',
    phone_number_id: '',
    waba_id: '',
    follow_provider: true,
    marketing_route: 'messages',
    strict_pace: false,
    rate: 80,
    honours_idempotency: false,
    paused_for: '',
    paused_by: '',
    paused_at: 0,
  },
  ...{ blocked_at: 0, sent_after_block: 0, resumed_at: 0, portfolio: null },
})

/** All pages of a list. */
async function listed(lanes: readonly number[], filter: MessageFilter = {}, limit = 1_000): Promise<ListedMessage[]> {
  const found: ListedMessage[] = []
  let after: Cursor | undefined
  do {
    const senders = lanes.map(senderOf)
    const page = await findMessages(store.redis, { senders, filter, limit, after, nowMs: Date.now(), lists })
    expect(page.messages.length).toBeLessThanOrEqual(limit)
    found.push(...page.messages)
    after = page.next
  } while (after !== undefined)
  return found
}

const accept = fc.record({
  what: fc.constant('accept' as const),
  lane: fc.nat(1),
  to: fc.constantFrom(...PEOPLE),
  ageMs: fc.constantFrom(0, 0, 120_000, 2 * HOUR_MS, 72 * HOUR_MS),
  count: fc.integer({ min: 1, max: 4 }),
  class: fc.constantFrom('transactional' as const, 'campaign' as const),
  group: fc.constantFrom(undefined, 'spring'),
  isExpired: fc.boolean(),
})
const change = fc.record({
  what: fc.constantFrom('claim', 'deliver', 'fail', 'cancel', 'forget', 'again'),
  which: fc.nat(1_000),
})
const campaign = fc.record({
  what: fc.constant('campaign' as const),
  lane: fc.nat(1),
  from: fc.nat(5),
  count: fc.nat(4),
})
const receive = fc.record({ what: fc.constant('receive' as const), lane: fc.nat(1), from: fc.constantFrom(...PEOPLE) })
const life = fc.array(fc.oneof(accept, change, change, campaign, receive), { minLength: 1, maxLength: 20 })

const filters = fc.record(
  {
    state: fc.constantFrom(...STATES),
    to: fc.constantFrom(...PEOPLE),
    from: fc.constantFrom(...PEOPLE),
    class: fc.constantFrom('transactional' as const, 'campaign' as const),
    direction: fc.constantFrom('outbound' as const, 'inbound' as const),
    campaignId: fc.constant('spring'),
    code: fc.constant('131026'),
    sinceMs: fc.constantFrom(0, Date.now() - 3 * HOUR_MS),
    untilMs: fc.constantFrom(Date.now() - HOUR_MS, Date.now() + HOUR_MS),
  },
  { requiredKeys: [] },
)

test('a list equals what looking up each message by its id returns, in the order of ids, for any filter and page', async () => {
  await fc.assert(
    fc.asyncProperty(life, fc.array(filters, { minLength: 3, maxLength: 3 }), fc.integer({ min: 1, max: 6 }), run),
    { numRuns: 25 },
  )
})

type Steps = typeof life extends fc.Arbitrary<infer T> ? T : never

async function run(steps: Steps, asked: MessageFilter[], limit: number): Promise<void> {
  const { redis, queues } = store
  const lanes = [store.newLane(), store.newLane()]
  const sent: MessageId[] = []
  const received: string[] = []
  const startedAt = Date.now() - HOUR_MS
  for (const lane of lanes) await campaignRecord(redis, { lane, number: 1 }).change({ total: 10 })
  for (const step of steps) {
    if (step.what === 'accept') {
      const lane = lanes[step.lane] ?? 0
      const ids = Array.from({ length: step.count }, () => ({ lane, ulid: newUlid(Date.now() - step.ageMs) }))
      const { to, class: of, group, isExpired } = step
      const payload = { ...audioJob(isExpired ? -1_000 : HOUR_MS), to, class: of, ...(group && { campaign: group }) }
      await queues.addMany(ids.map((id) => ({ id: messageId(id.lane, id.ulid), payload })))
      sent.push(...ids)
    } else if (step.what === 'campaign') {
      const lane = lanes[step.lane] ?? 0
      const ids = Array.from({ length: step.count }, (_, i) => {
        const to = PEOPLE[(step.from + i) % 3] ?? ''
        return { to, ulid: campaignMessageUlid(`cmp_${lane}_1`, startedAt, step.from + i, to) }
      })
      await queues.addMany(
        ids.map(({ to, ulid }) => ({
          id: messageId(lane, ulid),
          payload: { ...audioJob(), to, class: 'campaign' as const, run: 1 },
        })),
      )
      for (const { ulid } of ids)
        if (!sent.some((id) => id.lane === lane && id.ulid === ulid)) sent.push({ lane, ulid })
    } else if (step.what === 'receive') {
      const id = `wamid.${newUlid(Date.now())}`
      const message = { id, lane: lanes[step.lane] ?? 0, from: step.from, type: 'text', text: 'x' }
      await storeInbound(redis, ACCOUNT, { ...message, received_at: Date.now() }, HOUR_MS)
      received.push(id)
    } else {
      const id = sent[step.which % Math.max(1, sent.length)]
      if (id !== undefined) await changeOne(step.what, id)
    }
  }

  const truth: ListedMessage[] = []
  for (const id of sent) {
    const found = await findMessage(redis, id, Date.now(), lists)
    if (found) truth.push(listedSent(found, senderOf(id.lane)))
  }
  for (const id of received) {
    const found = await findInbound(redis, ACCOUNT, id)
    if (found) truth.push(listedReceived(found, senderOf(found.lane)))
  }
  for (const filter of [{}, { campaign: { id: `cmp_${lanes[0]}_1`, lane: lanes[0] ?? 0, number: 1 } }, ...asked]) {
    const expected = truth.filter((message) => isExpected(message, filter))
    const found = await listed(lanes, filter, limit)
    expect(found.map(({ id }) => id).sort(), JSON.stringify(filter)).toEqual(expected.map(({ id }) => id).sort())
    expect(found.map(({ id }) => id)).toEqual(inOrder(found))
    for (const message of found) expect(expected).toContainEqual(message)
  }
}

async function changeOne(what: string, id: MessageId): Promise<void> {
  const { redis, queues } = store
  const job = (await jobOf(redis, messageId(id.lane, id.ulid)))?.data
  const claimed = async () => job && claim(redis, id, 'AAAAAA', newMessageOf(job), LONG_TIMES)
  switch (what) {
    case 'claim':
      await claimed()
      return
    case 'deliver':
      await claimed()
      await recordStatus(redis, id, 'AAAAAA', 'delivered', { providerId: 'wamid.x' })
      return
    case 'fail':
      await claimed()
      await recordStatus(redis, id, 'AAAAAA', 'failed', { problem: { code: '131026', sentence: 'No.' } })
      return
    case 'cancel':
      await cancelStep(redis, id, HOUR_MS)
      return
    case 'again':
      if (job) await queues.addMany([{ id: messageId(id.lane, id.ulid), payload: job }])
      return
    case 'forget':
      await messageRecord(redis, id).remove()
      await loseJob(redis, messageId(id.lane, id.ulid))
  }
}

/** As a person would say it, apart from how the search is done. */
function isExpected(message: ListedMessage, filter: MessageFilter): boolean {
  const at = Date.parse(message.accepted_at)
  const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY } = filter
  return matches(message, filter) && at >= sinceMs && at <= untilMs
}

function inOrder(found: readonly ListedMessage[]): string[] {
  const keyOf = ({ id, accepted_at }: ListedMessage): [number, string] => [
    Date.parse(accepted_at),
    parseMessageId(id)?.ulid ?? '',
  ]
  const sorted = [...found].sort((a, b) => {
    const [[atA, ulidA], [atB, ulidB]] = [keyOf(a), keyOf(b)]
    if (atA !== atB) return atB - atA
    // Received messages of the same ms have no order among those sent.
    return ulidA === '' || ulidB === '' ? found.indexOf(a) - found.indexOf(b) : ulidB < ulidA ? -1 : 1
  })
  return sorted.map(({ id }) => id)
}

test('a hundred writers at a time leave nothing out, over several segments, at no more than 40 bytes a message', async () => {
  const lane = store.newLane()
  const own = connectWithRetry(store.server.url)
  await readyOrLate(own, 300_000)
  const queues = openLaneQueues(own)
  try {
    const ids: string[] = []
    const write = async (by: number): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) {
        const ulids = Array.from({ length: 5 }, () => newUlid(Date.now()))
        ids.push(...ulids)
        const messages = ulids.map((ulid) => ({ id: messageId(lane, ulid), payload: audioJob() }))
        await (by % 2 === 0 ? queues : store.queues).addMany(messages)
      }
    }
    await Promise.all(Array.from({ length: 100 }, (_, i) => write(i)))
    const found = await listed([lane])
    expect(found.map(({ id }) => id)).toEqual(
      ids
        .sort()
        .reverse()
        .map((ulid) => messageId(lane, ulid)),
    )
    const parts = await indexPartsOf(store.redis, lane)
    expect(parts.length).toBeGreaterThan(5)
    const bytes = await Promise.all(parts.map((part) => part.bytesUsed()))
    expect(bytes.reduce((sum, each) => sum + each, 0) / ids.length).toBeLessThan(40)
    for (const [i, part] of parts.entries()) expect(await part.livesMs(), `part ${i}`).toBeGreaterThan(HOUR_MS)
  } finally {
    await queues.close()
    own.disconnect()
  }
})

test('whatever is interrupted, no message has a job that is missing in lists', async () => {
  const lane = store.newLane()
  for (let round = 0; round < 15; round += 1) {
    // As a server that has started again, and knows no script.
    if (round % 3 === 0) await store.redis.script('FLUSH')
    const own = connectWithRetry(store.server.url)
    await readyOrLate(own, 300_000)
    const queues = openLaneQueues(own)
    if (round % 2 === 0) await queues.addMany([{ id: messageId(lane, newUlid(Date.now())), payload: audioJob() }])
    const adding = Array.from({ length: 30 }, () =>
      queues.addMany([{ id: messageId(lane, newUlid(Date.now())), payload: audioJob() }]).catch(() => {}),
    )
    await Promise.race([adding[round], new Promise((resolve) => setImmediate(resolve))])
    own.disconnect()
    await Promise.all(adding)
    await queues.close()
  }
  // Redis may still be carrying out what came over the last connection: read until no job was added meanwhile.
  const { jobs, found } = await eventually(async () => {
    const before = await jobsOn(store.redis, lane)
    const read = { jobs: before, found: (await listed([lane])).map(({ id }) => id) }
    return (await jobsOn(store.redis, lane)).length === before.length && read
  }, 'nothing more is added')
  expect(jobs.length).toBeGreaterThan(15)
  expect(found).toEqual(jobs.sort().reverse())
})

test('a message that is sent again stays in the index for as long as its record can live', async () => {
  const lane = store.newLane()
  const [old, recent] = [newUlid(Date.now() - 72 * HOUR_MS), newUlid(Date.now())]
  const queues = openLaneQueues(store.redis, HOUR_MS)
  for (const ulid of [old, recent]) await queues.addMany([{ id: messageId(lane, ulid), payload: audioJob() }])
  const names = await messageIndexOf(store.redis, lane).all()
  expect(names.map((name) => name.slice(0, 2))).toEqual(['o2', 'o0'])
  await keepIndexed(store.redis, lane, [old], Date.now() + 100 * HOUR_MS)
  const { ids, hashes } = indexSegmentOf(store.redis, lane, names[0] ?? '')
  for (const part of [ids, hashes]) expect(await part.livesMs()).toBeGreaterThan(99 * HOUR_MS)
  await queues.close()
})

test('the index entry of a received message leads to it', async () => {
  const lane = store.newLane()
  const message = { id: 'wamid.in', lane, from: PEOPLE[0], type: 'text', text: 'Hi', received_at: Date.now() }
  await storeInbound(store.redis, ACCOUNT, message, HOUR_MS)
  expect(await receivedRecord(store.redis, ACCOUNT, 'wamid.in').isThere()).toBe(true)
  expect((await listed([lane], { from: PEOPLE[0] })).map(({ id }) => id)).toEqual(['wamid.in'])
  expect(await listed([lane], { from: PEOPLE[1] })).toEqual([])
})

test('an id that was not made from the list of its campaign does not grow the index', async () => {
  const lane = store.newLane()
  await campaignRecord(store.redis, { lane, number: 1 }).change({ total: 10 })
  const payload = { ...audioJob(), class: 'campaign' as const, run: 1 }
  const listedOne = campaignMessageUlid(`cmp_${lane}_1`, Date.now(), 9, PEOPLE[0])
  const foreign = newUlid(Date.now() + 1)
  for (const ulid of [listedOne, foreign]) await store.queues.addMany([{ id: messageId(lane, ulid), payload }])
  expect((await listed([lane])).map(({ id }) => id)).toEqual([foreign, listedOne].map((ulid) => messageId(lane, ulid)))
  expect(await indexSegmentOf(store.redis, lane, 'c1').ids.bytes()).toHaveLength(70)
})
