// Pins: claims go to Redis as one script, steps that are asked for in one event-loop tick as well, and each of them
// still comes to what it would have come to alone, whatever becomes of its neighbours.
import { expect, test } from 'vitest'
import { newUlid } from '../../src/kernel/message-id.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus, setNotSent, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { cooldownOf, inDoubtOn, messageRecord, queuedAgainOn, recipientCooldownOf } from '../support/state/messages.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

const HOUR_MS = 3_600_000
const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: HOUR_MS }
const problem = { code: '131026', sentence: 'WhatsApp refused it.' }
let lanes = 0
let people = 0
const someone = () => `4917${String(++people).padStart(8, '0')}`
const messageTo = (to: string) => ({
  ...({ to, type: 'audio', text: 'x', class: 'transactional', campaign: undefined, run: undefined } as const),
  validUntil: Date.now() + HOUR_MS,
})
const newLane = () => {
  lanes += 1
  return lanes
}
const newId = (lane: number) => ({ lane, ulid: newUlid(Date.now()) })

/** In one step. */
const claimAll = (ids: readonly ReturnType<typeof newId>[]) =>
  claimMessages(
    redis,
    ids.map((id) => ({ id, attempt: 'A1', message: messageTo(someone()) })),
    times,
  )

/** How often Redis ran scripts, or another command, for this. */
async function scriptsRun(work: () => Promise<unknown>, command = 'evalsha'): Promise<number> {
  const told = new RegExp(`cmdstat_${command}:calls=(\\d+)`)
  const calls = async () => Number(told.exec(await redis.info('commandstats'))?.[1] ?? 0)
  const before = await calls()
  await work()
  return (await calls()) - before
}

test('250 steps of one turn run as three scripts, those of two lanes as two', async () => {
  const [lane, other] = [newLane(), newLane()]
  const ids = Array.from({ length: 250 }, () => newId(lane))
  for (const id of ids) await claim(redis, id, 'A1', messageTo(someone()), times)
  const settleAll = (all: typeof ids) => Promise.all(all.map((id) => recordStatus(redis, id, 'A1', 'sent')))
  expect(await scriptsRun(() => settleAll(ids))).toBe(3)
  expect(await inDoubtOn(redis, lane).count()).toBe(0)
  expect(await scriptsRun(() => settleAll([newId(lane), newId(other), newId(lane), newId(other)]))).toBe(2)
})

test('the jobs of messages settled in one step are removed by one command', async () => {
  const lane = newLane()
  const ids = Array.from({ length: 20 }, () => newId(lane))
  for (const id of ids) await claim(redis, id, 'A1', messageTo(someone()), times)
  const settleAll = () => Promise.all(ids.map((id) => recordStatus(redis, id, 'A1', 'sent')))
  expect(await scriptsRun(settleAll, 'del')).toBe(1)
})

test('a broken record rejects its own claim and no other', async () => {
  const lane = newLane()
  const ids = Array.from({ length: 5 }, () => newId(lane))
  await messageRecord(redis, { lane, ulid: ids[2]?.ulid ?? '' }).ruin('not a hash')
  const ends = await claimAll(ids)
  expect(ends.map((end) => end instanceof Error)).toEqual([false, false, true, false, false])
  expect(ends[2]).toMatchObject({ name: 'ReplyError', message: expect.stringContaining('WRONGTYPE') })
  expect(await inDoubtOn(redis, lane).count()).toBe(4)
  for (const [i, id] of ids.entries()) if (i !== 2) expect((await readMessage(redis, id))?.state).toBe('sending')
})

test('of two claims of one message in one step, the first gets it, the second finds it in doubt', async () => {
  const id = newId(newLane())
  const message = messageTo(someone())
  const claims = ['A1', 'A2'].map((attempt) => ({ id, attempt, message }))
  const before = await redisNowMs(redis)
  const both = await claimMessages(redis, claims, times)
  expect(both).toEqual([
    { verdict: 'done', state: 'sending' },
    { verdict: 'in_doubt', state: 'unconfirmed' },
  ])
  const lookAt = Number(await inDoubtOn(redis, id.lane).timeOf(id.ulid))
  // Not before the first attempt's request can be under way no more.
  expect(lookAt - before).toBeGreaterThanOrEqual(times.lostAfterMs - 5_000)
})

test('steps of one turn have the same result as each alone, also two of the same message', async () => {
  const lane = newLane()
  const [sent, failed, doubted, again, unknown] = Array.from({ length: 5 }, () => newId(lane)) as [
    ReturnType<typeof newId>,
    ReturnType<typeof newId>,
    ReturnType<typeof newId>,
    ReturnType<typeof newId>,
    ReturnType<typeof newId>,
  ]
  for (const id of [sent, failed, doubted, again]) await claim(redis, id, 'A1', messageTo(someone()), times)
  const how = { counts: true, maxTries: 3, problem }
  const ends = await Promise.all([
    recordStatus(redis, sent, 'A1', 'sent', { providerId: 'p1' }),
    recordStatus(redis, failed, 'A1', 'failed', { problem }),
    setUnconfirmed(redis, doubted, 'A1', { problem, evidenceMs: 60_000 }),
    setNotSent(redis, again, 'A1', how),
    setNotSent(redis, again, 'A1', how),
    recordStatus(redis, unknown, 'A1', 'sent'),
    recordStatus(redis, sent, 'A1', 'delivered'),
  ])
  expect(ends.map(({ verdict, ...rest }) => [verdict, 'state' in rest ? rest.state : undefined])).toEqual([
    ['done', 'sent'],
    ['done', 'failed'],
    ['done', 'unconfirmed'],
    ['done', 'queued'],
    ['ignored', 'queued'],
    ['missing', undefined],
    ['done', 'delivered'],
  ])
  expect(await inDoubtOn(redis, lane).all()).toEqual([doubted.ulid])
  expect(await queuedAgainOn(redis, lane).all()).toEqual([again.ulid])
})

test('a message that comes into doubt and is settled in the same turn is not left to the sweep', async () => {
  const id = newId(newLane())
  await claim(redis, id, 'A1', messageTo(someone()), times)
  const ends = await Promise.all([
    setUnconfirmed(redis, id, 'A1', { problem, evidenceMs: 60_000 }),
    recordStatus(redis, id, 'A1', 'sent', { providerId: 'p1' }),
  ])
  expect(ends).toMatchObject([{ state: 'unconfirmed' }, { state: 'sent' }])
  expect(await inDoubtOn(redis, id.lane).count()).toBe(0)
})

test('after its cooldown a recipient gets one message, however many are claimed at once', async () => {
  const lane = newLane()
  const to = someone()
  const first = newId(lane)
  await claim(redis, first, 'A1', messageTo(to), times)
  const cooldown = { of: 'recipient', person: to, leastMs: 1 } as const
  await setNotSent(redis, first, 'A1', { counts: false, maxTries: 3, problem, cooldown })
  // Over, as after the wait.
  await recipientCooldownOf(redis, lane, to).put('1 1 1 0')
  const message = messageTo(to)
  const claims = await claimMessages(
    redis,
    [1, 2, 3].map(() => ({ id: newId(lane), attempt: 'A2', message })),
    times,
  )
  const verdicts = ['done', 'recipient_cooldown', 'recipient_cooldown']
  expect(claims).toMatchObject(verdicts.map((verdict) => ({ verdict })))
})

test('slots of one turn are each a gap apart, and none is given to what may not leave', async () => {
  const lane = newLane()
  const pace = { ...paceOf(100), aheadUs: { transactional: 100_000, campaign: 100_000 } }
  const ids = Array.from({ length: 12 }, () => newId(lane))
  const claims = await claimMessages(
    redis,
    ids.map((id, i) => {
      return { id, attempt: 'A1', message: { ...messageTo(someone()), ...(i === 3 && { validUntil: 1 }) } }
    }),
    { ...times, pace },
  )
  const slots = claims.flatMap((each) => ('slot' in each && each.slot ? [each.slot.atMs] : []))
  expect(claims[3]).toMatchObject({ state: 'expired' })
  // 100 ms ahead at most.
  expect(slots).toHaveLength(10)
  for (let i = 1; i < slots.length; i += 1) {
    expect((slots[i] ?? 0) - (slots[i - 1] ?? 0)).toBeCloseTo(pace.gapUs / 1_000, 1)
  }
  expect(claims.at(-1)).toMatchObject({ verdict: 'too_early' })
})

test('a lane in a cooldown lets no claim of a turn through', async () => {
  const lane = newLane()
  await cooldownOf(redis, lane).put(Date.now() + 60_000)
  const claims = await claimAll([newId(lane), newId(lane)])
  expect(claims).toMatchObject([{ verdict: 'lane_cooldown' }, { verdict: 'lane_cooldown' }])
})
