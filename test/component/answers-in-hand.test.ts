// Pins: an answer that a worker has in hand while Redis refuses to write it down is written down once Redis takes it, by
// whatever word it refused: nobody is written to again. Real: Redis. Stood in for: WhatsApp; a relay before Redis says the words.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { messageId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import type { CallEnd } from '../../src/model/messages/outcome.ts'
import { personErased } from '../../src/model/messages/own-problems.ts'
import { heldPlacesOf } from '../../src/portfolios/held-places.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { untilWritten } from '../../src/worker/sending/until-written.ts'
import { audioJob, type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { type RedisRelay, startRedisRelay } from '../support/redis-relay.ts'
import { answering, anySender, laneOf, sendingTo } from '../support/sending.ts'
import { eventually, gate } from '../support/wait.ts'

let world: LaneRedis
let relay: RedisRelay
let redis: Redis
beforeAll(async () => {
  world = await startLaneRedis()
  relay = await startRedisRelay(world.server.port)
  redis = connectWithRetry(relay.url)
  redis.on('error', () => {})
})
beforeEach(() => relay.refuse(undefined))
afterAll(async () => {
  redis?.disconnect()
  await relay?.close()
  await world?.close()
})

/** As the servers say them. */
const WORDS = [
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  "NOPERM this user has no permissions to run the 'evalsha' command",
  "ERR ACL failure in script: User guest has no permissions to run the 'set' command script: 0, on @user_script:1.",
  "READONLY You can't write against a read only replica.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  'NOREPLICAS Not enough good replicas to write.',
  'LOADING Redis is loading the dataset in memory',
]

/** Messages that are with the provider when Redis begins to refuse; `ends` is how it answers each of them. */
async function refusedWhileAnswering(word: string, ends: (n: number) => CallEnd) {
  const lane = world.newLane()
  const asked = gate()
  const answer = gate()
  const COUNT = 5
  let sends = 0
  const provider = answering(async () => {
    const n = sends
    sends += 1
    if (sends === COUNT) asked.open()
    await answer.opened
    return ends(n)
  })
  const deps = sendingTo({ redis, lanes: world.queues }, anySender(1_000), provider)
  const served = laneOf(deps, lane, 100)
  const ids = Array.from({ length: COUNT }, () => newId(lane))
  for (const { ulid } of ids) await world.queues.add(messageId(lane, ulid), audioJob())
  served.signals.wake()
  await asked.opened
  relay.refuse(word)
  answer.open()
  // As long as it takes until the step was refused at least once.
  await eventually(async () => relay.refused() > 0, 'a step is refused')
  const before = relay.refused()
  await eventually(async () => relay.refused() > before, 'it is tried again')
  served.signals.stop()
  relay.refuse(undefined)
  await served.idle()
  return { ids, sends: () => sends, records: await Promise.all(ids.map((id) => readMessage(world.redis, id))) }
}

test.each(WORDS)('a sent message is sent once, whatever error Redis returns when it is recorded: %s', async (word) => {
  const { sends, records } = await refusedWhileAnswering(word, (n) => ({ kind: 'accepted', providerId: `p${n}` }))
  expect(records.map((record) => record?.state)).toEqual(['sent', 'sent', 'sent', 'sent', 'sent'])
  expect(sends()).toBe(5)
})

test.each(WORDS)('a held message has its held place, whatever error Redis returns meanwhile: %s', async (word) => {
  const { ids, records } = await refusedWhileAnswering(word, (n) => ({
    ...{ kind: 'accepted', providerId: `p${n}`, isHeld: true },
  }))
  expect(records.filter((record) => record?.heldSince !== undefined)).toHaveLength(5)
  const places = await heldPlacesOf(world.redis, { lane: anySender(1_000).id }, 1_000)
  expect(places.map(({ name }) => name)).toEqual(
    expect.arrayContaining(ids.map(({ lane, ulid }) => messageId(lane, ulid))),
  )
})

test('refused messages fail, and those to be tried again wait on their lane', async () => {
  const undeliverable = {
    ...({ kind: 'answered', status: 400, readable: true, code: 131026, subcode: undefined } as const),
    ...{ text: 'Undeliverable.', retryAfterMs: undefined },
  }
  const { records } = await refusedWhileAnswering(WORDS[0] ?? '', (n) =>
    n % 2 === 0 ? undeliverable : { kind: 'never_left', cause: 'refused' },
  )
  expect(records.map((record) => record?.state)).toEqual(['failed', 'queued', 'failed', 'queued', 'failed'])
})

test('an error that does not come from Redis is not retried', async () => {
  let tries = 0
  const broken = untilWritten(redis, async () => {
    tries += 1
    throw new Error(personErased.code)
  })
  await expect(broken).rejects.toThrow(personErased.code)
  expect(tries).toBe(1)
})
