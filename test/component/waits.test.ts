// Pins: why a queued message does not leave is told with its end, the strongest reason first, and nothing is told of one
// that only waits for its worker. Real: Redis, BullMQ.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/store/accounts.ts'
import { addSender } from '../../src/accounts/store/add-sender.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { coolLane, endLaneCooldown, laneCooldown } from '../../src/lanes/cooldown.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { waitsOf } from '../../src/lookup/waits.ts'
import { messageId, newAttemptId, newUlid } from '../../src/messages/message-id.ts'
import { claim, markNotSent } from '../../src/messages/store/steps.ts'
import { connectPatient, type Redis } from '../../src/redis/connect.ts'
import { laneCooldownKey } from '../../src/redis/keys.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const TO = '491700000001'
const HOUR = 3_600_000

let server: TestRedis
let redis: Redis
let queues: LaneQueues
let account: number
beforeAll(async () => {
  server = await startRedis()
  redis = connectPatient(server.url)
  queues = openLaneQueues(redis)
  account = await createAccount(redis, 'one')
})
afterAll(async () => {
  await queues?.close()
  redis?.disconnect()
  await server?.stop()
})

let numbers = 0
async function newLane(): Promise<number> {
  numbers += 1
  const number = `4917000${numbers + 10_000}`
  const sender = { account, number, name: '', provider: 'partner-api', baseUrl: 'http://127.0.0.1:9' } as const
  const more = { sealedToken: 'x', phoneNumberId: '', rate: 80, honoursIdempotency: false, isDefault: false }
  const lane = await addSender(redis, { ...sender, ...more })
  await queues.setPace(lane, 80)
  return lane
}

const newId = (lane: number) => ({ lane, ulid: newUlid(Date.now()) })

/** A message that was claimed and proven unsent, with a rest that this began. */
async function refused(lane: number, rest: Parameters<typeof markNotSent>[3]['rest'], code: string): Promise<void> {
  const [id, attempt] = [newId(lane), newAttemptId()]
  const about = {
    to: TO,
    type: 'audio',
    text: 'x',
    class: 'transactional',
    campaign: undefined,
    run: undefined,
  } as const
  const times = { lostAfterMs: HOUR, evidenceWaitMs: HOUR, retentionMs: HOUR }
  await claim(redis, id, attempt, { ...about, validUntil: Date.now() + HOUR }, times)
  const problem = { code, sentence: 'Too much for +49 170 0000001, token EAAGm0PX4ZCpsBAKZCabcdef1234567890.' }
  await markNotSent(redis, id, attempt, { counts: false, maxTries: 1, problem, ...(rest && { rest }) })
}

async function queued(lane: number) {
  const id = newId(lane)
  const content = { type: 'audio', audio: { link: 'https://example.com/a.ogg' } } as const
  const payload = { v: 1, to: TO, class: 'transactional', until: Date.now() + HOUR, content } as const
  await queues.add(messageId(lane, id.ulid), payload)
  return { id, to: TO }
}

test('a message that only waits for a worker waits for nothing', async () => {
  const lane = await newLane()
  expect(await waitsOf(redis, { id: newId(lane), to: TO })).toBeNull()
})

test('behind others it waits for the pace of its lane', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await queued(lane)
  expect(await waitsOf(redis, message)).toEqual({
    why: 'pace',
    until: null,
    sentence: '2 messages wait for this sender, which sends 80 a second.',
  })
})

test('a cooldown of its lane is told with its end and its reason, without numbers and tokens', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await refused(lane, { of: 'lane', ms: 60_000 }, '130429')
  const until = Number(await redis.get(laneCooldownKey(lane)))
  const sentence = `Its sender waits until ${new Date(until).toISOString()}: Too much for +…, token ….`
  expect(await waitsOf(redis, message)).toEqual({ why: 'lane_cooldown', until, sentence })
})

test('a limit that BullMQ alone holds, as of a lane ahead of its pace, is no cooldown; a resume ends it', async () => {
  const lane = await newLane()
  await queues.queueOf(lane).rateLimit(60_000)
  expect(await laneCooldown(redis, lane, Date.now())).toBeUndefined()
  await endLaneCooldown(redis, lane)
  expect(await laneCooldown(redis, lane, Date.now())).toBeUndefined()
  expect(await queues.queueOf(lane).getRateLimitTtl()).toBeLessThanOrEqual(0)
})

test('a shorter cooldown does not cut a longer one', async () => {
  const lane = await newLane()
  await coolLane(redis, lane, 60_000, { code: 'timeout', sentence: 'No answer.' })
  await coolLane(redis, lane, 1_000, { code: 'reset', sentence: 'No connection.' })
  expect(await laneCooldown(redis, lane, Date.now())).toMatchObject({ code: 'timeout', sentence: 'No answer.' })
})

test('a pause is told before a cooldown, with its reason', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await coolLane(redis, lane, 60_000, { code: '130429', sentence: 'Too much.' })
  await pauseLane(redis, queues, lane, 'number under review')
  const sentence = 'Its sender is paused: number under review.'
  expect(await waitsOf(redis, message)).toEqual({ why: 'lane_paused', until: null, sentence })
  await resumeLane(redis, queues, lane)
  expect(await waitsOf(redis, message)).toMatchObject({ why: 'pace' })
})

test('a cooldown of its recipient is told with the turn of the message itself', async () => {
  const lane = await newLane()
  await refused(lane, { of: 'recipient', to: TO, leastMs: 60_000 }, '131056')
  const before = Date.now()
  const waits = await waitsOf(redis, await queued(lane))
  expect(waits?.why).toBe('recipient_cooldown')
  expect(waits?.until).toBeGreaterThan(before + 50_000)
  expect(waits?.sentence).not.toContain(TO)
})
