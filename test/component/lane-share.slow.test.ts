// Pins: a worker has a bounded number of messages in flight however many lanes are full, every full lane has its share
// of them, and a lane that is alone again gets back what it had. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { audioJob, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { eventually } from '../support/wait.ts'

/** What the worker may have in flight over all lanes, and what waits on each. */
const WORKER = 1_000
const EACH = 150
const LANES = 40
/** Of a lane among as many full ones. */
const PART = WORKER / LANES

let redis: Redis
let queues: LaneQueues
let close: () => Promise<void>
beforeAll(async () => {
  ;({ redis, queues, close } = await startLaneRedis())
})
afterAll(() => close?.())

test("full lanes share a worker's messages in flight", async () => {
  /** What ends a message that is in flight, by lane. */
  const inFlight = new Map<number, (() => void)[]>()
  let most = 0
  const counted = (): number => [...inFlight.values()].reduce((sum, { length }) => sum + length, 0)
  const provider = answering(async (_to, id) => {
    const lane = parseMessageId(id)?.lane ?? 0
    const ends = inFlight.get(lane) ?? []
    inFlight.set(lane, ends)
    await new Promise<void>((resolve) => {
      ends.push(resolve)
      most = Math.max(most, counted())
    })
    return { kind: 'accepted', providerId: 'p' }
  })
  const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(1_000), provider), { maxInFlight: WORKER })
  const end = (lane: number, but = 0): void => {
    for (const resolve of inFlight.get(lane)?.splice(but) ?? []) resolve()
  }
  const all = Array.from({ length: LANES }, (_, at) => at + 1)
  const payload = audioJob()
  for (const lane of all) {
    await queues.addMany(Array.from({ length: EACH }, () => ({ id: messageId(lane, newUlid(Date.now())), payload })))
  }

  for (const lane of all) lanes.wake(lane)
  await eventually(async () => counted() === WORKER, 'as many as may be are in flight')
  // Those who came first had more than their part; as that ends, the others get theirs. Their part stays in flight: a lane that is served
  // again and again meanwhile never runs out of messages.
  await eventually(async () => {
    for (const lane of all) end(lane, PART)
    return all.every((lane) => (inFlight.get(lane)?.length ?? 0) > 0)
  }, 'every lane has a part')
  expect(most).toBeLessThanOrEqual(WORKER)

  const [last = 0, ...others] = all
  await eventually(
    async () => {
      for (const lane of others) end(lane)
      const counts = await Promise.all(others.map((lane) => queues.counts(lane)))
      return counts.every(({ wait, active }) => wait === 0 && active === 0)
    },
    'the others are done',
    300_000,
  )
  await eventually(async () => {
    const { wait = 0 } = await queues.counts(last)
    return wait === 0
  }, 'a lane that is alone has all of its own in flight')
  await eventually(async () => {
    end(last)
    const { active = 0 } = await queues.counts(last)
    return active === 0
  }, 'all are done')
  expect(most).toBeLessThanOrEqual(WORKER)
  await lanes.stop(Promise.resolve(5_000))
})
