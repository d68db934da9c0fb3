// Pins: the plain claim and the plain settling of a campaign's messages write what the general steps write, field by
// field, and leave alone whatever is not as plain as that. Real: Redis and its scripts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readHistory } from '../../src/messages/history.ts'
import { acceptedAtMs, newUlid } from '../../src/messages/message-id.ts'
import { type Pace, paceOf } from '../../src/messages/pace.ts'
import { claim, putOff } from '../../src/messages/store/claim.ts'
import { claimFresh, type FreshClaim } from '../../src/messages/store/claim-fresh.ts'
import { readMessage } from '../../src/messages/store/records.ts'
import { recordSent } from '../../src/messages/store/settle-sent.ts'
import { markNotSent, recordStatus } from '../../src/messages/store/steps.ts'
import { observe } from '../../src/observe.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import {
  campaignCountsKey,
  campaignKey,
  campaignMarksKey,
  inDoubtKey,
  laneCooldownKey,
  laneSlotsKey,
  messageKey,
  outboxKey,
  pollKey,
  recipientCooldownKey,
} from '../../src/redis/keys.ts'
import { NotReplicatedError, requireReplicas } from '../../src/redis/replication.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const HOUR_MS = 3_600_000
const RUN = 7
const TOTAL = 40
const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: HOUR_MS }
const problem = { code: '131026', sentence: 'The chat product refused it.' }
const PACE = paceOf(10_000)
const nobody = () => undefined

let server: TestRedis
let redis: Redis
let lanes = 0
/** Changes that the telemetry is told of, as `lane from to`, with how many. */
const told = new Map<string, number>()
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
  observe(redis, {
    ...{ accepted: nobody, acceptTook: nobody, attempted: nobody, polled: nobody, tookIn: nobody },
    ...{ campaignPaused: nobody, eventDelivered: nobody, eventsNotTaken: nobody, refusedBy: nobody },
    changed({ lane, class: of, from, to, count = 1 }) {
      const change = `${lane} ${of} ${from} ${to}`
      told.set(change, (told.get(change) ?? 0) + count)
    },
  })
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

/** A lane with a campaign that runs, and with listeners to its events. */
async function newLane(state = 'running'): Promise<number> {
  lanes += 1
  await redis.hset(campaignKey(lanes, RUN), { state, total: TOTAL })
  await redis.xadd(outboxKey(lanes), '*', 'e', 'the first')
  return lanes
}

const startedAt = Date.now() - 60_000
const PLACES = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ulidAt = (place: number): string => {
  const ulid = newUlid(startedAt)
  return `${ulid.slice(0, 10)}000${PLACES[Math.floor(place / 32)]}${PLACES[place % 32]}${ulid.slice(15)}`
}

const claimsOf = (count: number, again = false): FreshClaim[] =>
  Array.from({ length: count }, (_, place) => ({
    ...{ ulid: ulidAt(place), place, attempt: `A${place}` },
    message: {
      ...({ to: `49171000${1_000 + place}`, type: 'template', text: '', class: 'campaign' } as const),
      ...{ validUntil: startedAt + HOUR_MS, campaign: undefined, run: RUN, filled: [`Ann "${place}"`], again },
    },
  }))

const fresh = (lane: number, claims: readonly FreshClaim[], pace: Pace = PACE) =>
  claimFresh(redis, { lane, run: RUN }, claims, { lostAfterMs: 20_000, retentionMs: HOUR_MS }, pace)
const general = (lane: number, { ulid, attempt, message }: FreshClaim) =>
  claim(redis, { lane, ulid }, attempt, message, times, PACE)
const sent = (lane: number, { ulid, place, attempt }: FreshClaim, firstPollMs?: number) =>
  recordSent(redis, { lane, ulid, run: RUN, place }, attempt, `wamid.${place}`, firstPollMs)
const sentInGeneral = (lane: number, { ulid, place, attempt }: FreshClaim, firstPollMs?: number) =>
  recordStatus(redis, { lane, ulid }, attempt, 'sent', { providerId: `wamid.${place}`, firstPollMs })

/** All that a lane's steps have written, times and slots aside. */
async function writtenOn(lane: number, claims: readonly FreshClaim[]) {
  const timeless = (event: string) => event.replace(/,-?[0-9a-z]+,/, ',some time,')
  const records = await Promise.all(
    claims.map(async ({ ulid }) => {
      const key = messageKey(lane, ulid)
      if ((await redis.type(key)) !== 'hash') return redis.type(key)
      const { h = '', ...fields } = await redis.hgetall(key)
      return { ...fields, h: h.replaceAll(/(^|\|)([a-z])[0-9a-z]+/g, '$1$2'), expires: (await redis.pttl(key)) > 0 }
    }),
  )
  const events = await redis.xrange(outboxKey(lane), '-', '+')
  return {
    records,
    counts: await redis.hgetall(campaignCountsKey(lane, RUN)),
    marks: (await redis.getBuffer(campaignMarksKey(lane, RUN)))?.toString('hex'),
    inDoubt: (await redis.zrange(inDoubtKey(lane), '0', '-1')).sort(),
    polls: (await redis.zrange(pollKey(lane), '0', '-1')).sort(),
    slots: await redis.llen(laneSlotsKey(lane)),
    events: events.flatMap(([, [, text = '']]) => text.split('\n').map(timeless)).sort(),
    told: ['queued', 'sending', 'sent', 'delivered'].map((to) => told.get(`${lane} campaign sending ${to}`) ?? 0),
  }
}

describe.each([false, true])('messages of a campaign, again: %s,', (again) => {
  test('are claimed and settled in plain steps as in general ones', async () => {
    const claims = claimsOf(33, again)
    const [plain, other] = [await newLane(), await newLane()]
    const results = await fresh(plain, claims)
    for (const each of claims) await general(other, each)
    expect(results).toHaveLength(33)
    for (const result of Array.isArray(results) ? results : []) expect(result).toMatchObject({ verdict: 'claimed' })
    expect(await writtenOn(plain, claims)).toEqual(await writtenOn(other, claims))

    await Promise.all(claims.map((each) => sent(plain, each, 5_000)))
    for (const each of claims) await sentInGeneral(other, each, 5_000)
    const written = await writtenOn(plain, claims)
    expect(written).toEqual(await writtenOn(other, claims))
    expect(written).toMatchObject({ counts: { c: '0', s: '33' }, inDoubt: [], told: [0, 0, 33, 0] })
    expect(written.polls).toHaveLength(33)
    expect(written.events).toHaveLength(34)
  })
})

test('settling many of one turn is one script', async () => {
  const claims = claimsOf(30)
  const lane = await newLane()
  await fresh(lane, claims)
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
  await sentInGeneral(lane, claimsOf(1)[0] as FreshClaim)
  const before = await calls()
  await Promise.all(claims.map((each) => sent(lane, each)))
  expect((await calls()) - before).toBeLessThanOrEqual(2)
})

test('messages that are settled in one turn are settled in their own lane, campaign, start and way of following', async () => {
  const hourAgo = startedAt - HOUR_MS
  const [a, b] = [await newLane(), await newLane()]
  const claimedOf = async (lane: number, run: number, at: number, ...places: number[]) => {
    await redis.hset(campaignKey(lane, run), { state: 'running', total: TOTAL })
    const claims = places.map((place): FreshClaim => {
      const [claim] = claimsOf(1) as [FreshClaim]
      const { message } = claim
      return { ...claim, place, ulid: newUlid(at), message: { ...message, run, validUntil: startedAt + 9 * HOUR_MS } }
    })
    const results = await claimFresh(redis, { lane, run }, claims, { lostAfterMs: 20_000, retentionMs: HOUR_MS }, PACE)
    expect(results).toEqual(claims.map(() => expect.objectContaining({ verdict: 'claimed' })))
    return claims.map(({ ulid, place, attempt }) => ({ message: { lane, ulid, run, place }, attempt }))
  }
  // Each differs from the one before in one respect.
  const claimed = [
    ...(await claimedOf(a, RUN, hourAgo, 0)),
    ...(await claimedOf(a, RUN, startedAt, 1, 2)),
    ...(await claimedOf(b, RUN, startedAt, 0)),
    ...(await claimedOf(b, RUN + 1, startedAt, 0, 1)),
  ]
  const isPolled = [false, false, true, true, true, false]
  await Promise.all(
    claimed.map(({ message, attempt }, i) =>
      recordSent(redis, message, attempt, 'wamid.1', isPolled[i] ? 5_000 : undefined),
    ),
  )
  for (const { message } of claimed) {
    const record = await readMessage(redis, message)
    const last = readHistory(record?.history ?? '', acceptedAtMs(message.ulid)).at(-1)
    expect([record?.state, Math.abs((last?.atMs ?? 0) - Date.now()) < HOUR_MS / 2]).toEqual(['sent', true])
  }
  const counts = [campaignCountsKey(a, RUN), campaignCountsKey(b, RUN), campaignCountsKey(b, RUN + 1)]
  expect(await Promise.all(counts.map((key) => redis.hget(key, 's')))).toEqual(['3', '1', '2'])
  const polled = claimed.flatMap(({ message }, i) => (isPolled[i] ? [message.ulid] : [])).sort()
  const due = await Promise.all([a, b].map((lane) => redis.zrange(pollKey(lane), '0', '-1')))
  expect(due.flat().sort()).toEqual(polled)
})

describe('a plain claim leaves alone', () => {
  test.each<[string, (lane: number, one: FreshClaim) => Promise<unknown>]>([
    ['one that was claimed before', (lane, one) => general(lane, { ...one, attempt: 'B' })],
    ['one that it has claimed itself', (lane, one) => fresh(lane, [one])],
    [
      'one that only its mark tells of',
      (lane, { place }) => redis.bitfield(campaignMarksKey(lane, RUN), 'SET', 'u4', `#${place}`, 4),
    ],
    ['one that was put off', (lane, { ulid }) => putOff(redis, { lane, ulid }, HOUR_MS)],
    [
      'one whose recipient is in a cooldown',
      (lane, { message }) => redis.set(recipientCooldownKey(lane, message.to), '1 1 1 0', 'PX', HOUR_MS),
    ],
  ])('%s', async (_name, meet) => {
    const lane = await newLane()
    const [one, two] = claimsOf(2) as [FreshClaim, FreshClaim]
    await meet(lane, one)
    const before = await redis.hgetall(messageKey(lane, one.ulid))
    const results = await fresh(lane, [one, two])
    expect(results).toMatchObject(['other', expect.anything()])
    expect(await redis.hgetall(messageKey(lane, one.ulid))).toEqual(before)
  })

  test('all of them when one has a record without a mark', async () => {
    const lane = await newLane()
    const claims = claimsOf(3)
    await redis.hset(messageKey(lane, claims[1]?.ulid ?? ''), { s: 's' })
    expect(await fresh(lane, claims)).toEqual(['other', 'other', 'other'])
    expect(await redis.zcard(inDoubtKey(lane))).toBe(0)
  })

  test('all of them when their validity is over', async () => {
    const lane = await newLane()
    const late = claimsOf(2).map((each) => ({ ...each, message: { ...each.message, validUntil: Date.now() - 1 } }))
    expect(await fresh(lane, late)).toEqual(['other', 'other'])
    expect(await redis.exists(messageKey(lane, late[0]?.ulid ?? ''))).toBe(0)
  })

  test('the second of two that are the same', async () => {
    const [one] = claimsOf(1) as [FreshClaim]
    expect(await fresh(await newLane(), [one, one])).toMatchObject([{ verdict: 'claimed' }, 'other'])
  })

  test('those whose slots would be too far ahead', async () => {
    const lane = await newLane()
    const claims = claimsOf(30)
    const results = await fresh(lane, claims, paceOf(1))
    const verdicts = Array.isArray(results) ? results.map((each) => (each === 'other' ? each : each.verdict)) : []
    expect(verdicts[0]).toBe('claimed')
    expect(verdicts.at(-1)).toBe('too_early')
    expect(await redis.zcard(inDoubtKey(lane))).toBe(verdicts.filter((each) => each === 'claimed').length)
  })

  test('all of a campaign that does not run, and of a lane in a cooldown', async () => {
    expect(await fresh(await newLane('paused'), claimsOf(2))).toBe('stopped')
    const lane = await newLane()
    await redis.set(laneCooldownKey(lane), String(Date.now() + HOUR_MS))
    expect(await fresh(lane, claimsOf(2))).toMatchObject({ laneMs: expect.any(Number) })
    expect(await redis.zcard(inDoubtKey(lane))).toBe(0)
  })
})

describe('proof that a message was sent comes to the same as in general', () => {
  const record = (lane: number, { ulid }: FreshClaim) => messageKey(lane, ulid)
  test.each<[string, (lane: number, one: FreshClaim) => Promise<unknown>]>([
    ['of another attempt than the one that counts', (lane, one) => redis.hset(record(lane, one), 'a', 'B')],
    ['once more', (lane, one) => sentInGeneral(lane, one)],
    ['after it was delivered', (lane, { ulid, attempt }) => recordStatus(redis, { lane, ulid }, attempt, 'delivered')],
    [
      'of one that has failed meanwhile',
      (lane, { ulid, attempt }) => recordStatus(redis, { lane, ulid }, attempt, 'failed', { problem }),
    ],
    [
      'of one that was tried before',
      async (lane, one) => {
        await markNotSent(redis, { lane, ulid: one.ulid }, one.attempt, { counts: true, maxTries: 5, problem })
        await general(lane, one)
      },
    ],
    ['of one that keeps what it says', (lane, one) => redis.hset(record(lane, one), 'p', '{}')],
    ['of one that has an error on it', (lane, one) => redis.hset(record(lane, one), 'e', 'x|y')],
    ['of one of which another attempt is known', (lane, one) => redis.hset(record(lane, one), 'b', 'fB')],
    ['of a person who was erased', (lane, one) => redis.hset(record(lane, one), 't', '')],
    ['of a message that belongs to no campaign', (lane, one) => redis.hdel(record(lane, one), 'r')],
    [
      'of one that was claimed by a clock that goes ahead',
      (lane, one) => redis.hset(record(lane, one), 'h', 'czzzzzz,A0'),
    ],
    ['of one that has no record', (lane, one) => redis.del(record(lane, one))],
  ])('%s', async (_name, meet) => {
    const claims = claimsOf(3)
    const [one] = claims as [FreshClaim]
    const [plain, other] = [await newLane(), await newLane()]
    for (const lane of [plain, other]) {
      await fresh(lane, claims)
      await meet(lane, one)
    }
    await Promise.all(claims.map((each) => sent(plain, each)))
    await Promise.all(claims.map((each) => sentInGeneral(other, each)))
    expect(await writtenOn(plain, claims)).toEqual(await writtenOn(other, claims))
  })

  test('where replicas are required and there are none, which fails', async () => {
    const claims = claimsOf(1)
    const [one] = claims as [FreshClaim]
    const lane = await newLane()
    await fresh(lane, claims)
    const strict = connectWithRetry(server.url)
    requireReplicas(strict, 1)
    const settling = recordSent(strict, { lane, ulid: one.ulid, run: RUN, place: 0 }, one.attempt, 'wamid.0', undefined)
    await expect(settling).rejects.toBeInstanceOf(NotReplicatedError)
    strict.disconnect()
  })

  test('and a record that is none fails its own message alone', async () => {
    const claims = claimsOf(3)
    const lane = await newLane()
    await fresh(lane, claims)
    await redis.set(messageKey(lane, claims[1]?.ulid ?? ''), 'not a hash')
    const ends = await Promise.allSettled(claims.map((each) => sent(lane, each)))
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await redis.hgetall(campaignCountsKey(lane, RUN))).toEqual({ c: '1', s: '2' })
  })
})
