// Pins: a worker whose Redis is slow sends all the same, although each check of opt-outs takes longer than it is valid as a rule;
// meanwhile an opt-out is confirmed only after every check that missed it has expired. Real: Redis. Stood in for: WhatsApp; a relay
// makes Redis slow.
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { type MessageId, messageId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { CHECK_GOOD_FOR_MS, CheckValidity, SLOW_CHECK_GOOD_FOR_MS } from '../../src/people/opt-outs/check-validity.ts'
import { optOutsHold } from '../../src/people/opt-outs/opt-out-hold.ts'
import { addOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import type { SendDeps } from '../../src/worker/sending/attempt.ts'
import { audioJob, type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { type RedisRelay, startRedisRelay } from '../support/redis-relay.ts'
import { answering, anySender, laneOf, sendingTo } from '../support/sending.ts'
import { slowChecksOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let world: LaneRedis
let relay: RedisRelay
/** The worker's, which is slow when a test says so. */
let redis: Redis
beforeAll(async () => {
  world = await startLaneRedis()
  relay = await startRedisRelay(world.server.port)
  redis = connectWithRetry(relay.url)
  await readyOrLate(redis, 60_000)
})
beforeEach(async () => {
  relay.delay(0)
  await slowChecksOf(world.redis).forget()
})
afterAll(async () => {
  redis?.disconnect()
  await relay?.close()
  await world?.close()
})

/** Serves a lane whose messages are all checked for opt-outs, as marketing is; `sent` are the recipients, and when they were written to. */
async function servedLane(rate = 1_000) {
  const lane = world.newLane()
  const sent = new Map<string, number>()
  const provider = answering((to, id) => {
    sent.set(to, performance.now())
    return { kind: 'accepted', providerId: `wamid.${id}` }
  })
  const plain = sendingTo({ redis, lanes: world.queues }, anySender(rate), provider)
  const entry = await plain.directory.of(lane)
  if (entry === undefined) throw new Error('the lane has no sender')
  const deps: SendDeps = { ...plain, directory: { of: async () => ({ ...entry, stopsTransactional: true }) } }
  const served = laneOf(deps, lane, 100)
  onTestFinished(() => served.signals.stop())
  const ids: MessageId[] = []
  const add = async (to: string) => {
    const id = newId(lane)
    ids.push(id)
    await world.queues.add(messageId(lane, id.ulid), { ...audioJob(), to })
  }
  /** How many have ended. */
  const ended = async () => {
    const records = await Promise.all(ids.map((id) => readMessage(world.redis, id)))
    return records.filter((record) => record && !['queued', 'sending'].includes(record.state)).length
  }
  return { ...served, sent, add, ended, deps }
}

test('messages leave although Redis answers later than a check is usually valid', async () => {
  const lane = await servedLane()
  for (let i = 0; i < 20; i += 1) await lane.add(`4915700000${10 + i}`)
  relay.delay(CHECK_GOOD_FOR_MS + 100)
  lane.signals.wake()
  await eventually(async () => lane.sent.size === 20, 'all were sent')
  expect(lane.deps.checks.goodForMs()).toBe(SLOW_CHECK_GOOD_FOR_MS)
})

test('a check is valid for longer only once that is announced, and not forever', async () => {
  const checks = new CheckValidity(redis)
  checks.took(CHECK_GOOD_FOR_MS / 5)
  expect(await slowChecksOf(world.redis).isAnnounced()).toBe(false)
  checks.took(CHECK_GOOD_FOR_MS)
  expect(checks.goodForMs()).toBe(CHECK_GOOD_FOR_MS)
  await eventually(async () => {
    // Its connection may just have broken, as on a slow machine: each slow check tries again.
    checks.took(CHECK_GOOD_FOR_MS)
    return checks.goodForMs() === SLOW_CHECK_GOOD_FOR_MS
  }, 'it is announced')
  // Whoever reads it finds it for as long as a check may rely on it.
  const leftMs = await slowChecksOf(world.redis).leftMs()
  expect(leftMs).toBeGreaterThan(SLOW_CHECK_GOOD_FOR_MS)
  expect(leftMs).toBeLessThanOrEqual(60_000)
})

test('a check stays valid for half a second when the announcement fails', async () => {
  const checks = new CheckValidity(redis)
  relay.refuse("OOM command not allowed when used memory > 'maxmemory'.")
  checks.took(CHECK_GOOD_FOR_MS)
  await eventually(async () => relay.refused() > 0, 'it was refused')
  expect(checks.goodForMs()).toBe(CHECK_GOOD_FOR_MS)
  relay.refuse(undefined)
  await eventually(async () => {
    checks.took(CHECK_GOOD_FOR_MS)
    return checks.goodForMs() === SLOW_CHECK_GOOD_FOR_MS
  }, 'it is announced at the next slow check')
})

test('an opt-out is confirmed after half a second, and later while checks are slow or Redis does not answer', async () => {
  const heldMs = async (by: Redis) => {
    const begun = performance.now()
    await optOutsHold(by)
    return performance.now() - begun
  }
  expect(await heldMs(world.redis)).toBeGreaterThanOrEqual(CHECK_GOOD_FOR_MS)
  relay.refuse('LOADING Redis is loading the dataset in memory')
  expect(await heldMs(redis)).toBeGreaterThanOrEqual(SLOW_CHECK_GOOD_FOR_MS)
  relay.refuse(undefined)
  const checks = new CheckValidity(redis)
  await eventually(async () => {
    // As above: each slow check tries again.
    checks.took(CHECK_GOOD_FOR_MS)
    return slowChecksOf(world.redis).isAnnounced()
  }, 'it is announced')
  expect(await heldMs(world.redis)).toBeGreaterThanOrEqual(SLOW_CHECK_GOOD_FOR_MS)
})

test('nothing leaves to a person after their opt-out was confirmed, however slow the worker is', async () => {
  const lane = await servedLane(50)
  relay.delay(CHECK_GOOD_FOR_MS / 2 + 50)
  const people = Array.from({ length: 150 }, (_, i) => `49157100${1000 + i}`)
  for (const to of people) await lane.add(to)
  lane.signals.wake()
  await eventually(async () => lane.sent.size > 5, 'it sends')
  await addOptOuts(world.redis, 1, people, { source: 'http' })
  await optOutsHold(world.redis)
  const confirmedAt = performance.now()
  const sentBefore = lane.sent.size
  relay.delay(0)
  await eventually(async () => (await lane.ended()) === people.length, 'all have ended')
  expect([...lane.sent.values()].filter((at) => at > confirmedAt)).toEqual([])
  expect([sentBefore, lane.sent.size]).toEqual([lane.sent.size, sentBefore])
  expect(sentBefore).toBeLessThan(people.length)
})
