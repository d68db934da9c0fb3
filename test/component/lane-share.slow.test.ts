// Pins: a worker has a bounded number of messages in flight however many lanes are full, every full lane has its share
// of them, and a lane that is alone again gets back what it had. Real: Redis, BullMQ.
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import { messageId, newUlid, parseMessageId } from '../../src/messages/message-id.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { createLanes } from '../../src/worker/lanes.ts'
import { silentLog } from '../support/app.ts'
import { audioJob, startLaneRedis } from '../support/lane-redis.ts'
import { eventually } from '../support/wait.ts'

/** What a lane may have in flight by itself, and what the worker may have over all lanes. */
const LANE = 100
const WORKER = 1_000

let redis: Redis
let queues: LaneQueues
let close: () => Promise<void>
beforeAll(async () => {
  ;({ redis, queues, close } = await startLaneRedis())
})
afterAll(() => close?.())

test('full lanes share what a worker has in flight', async () => {
  /** What ends a message that is in flight, by lane. */
  const inFlight = new Map<number, (() => void)[]>()
  let most = 0
  const counted = (): number => [...inFlight.values()].reduce((sum, { length }) => sum + length, 0)
  const lanes = createLanes({
    redis,
    config: { laneIdleMs: 60_000, laneConcurrency: LANE, retentionMs: 86_400_000 },
    log: silentLog,
    queues,
    async process(job) {
      const lane = parseMessageId(job.id ?? '')?.lane ?? 0
      const ends = inFlight.get(lane) ?? []
      inFlight.set(lane, ends)
      await new Promise<void>((resolve) => {
        ends.push(resolve)
        most = Math.max(most, counted())
      })
      return { kind: 'done' }
    },
    processChunk: async () => ({ kind: 'done' }),
    isMine: () => true,
    opened: () => {},
  })
  const end = (lane: number): void => {
    for (const resolve of inFlight.get(lane)?.splice(0) ?? []) resolve()
  }
  const all = Array.from({ length: 40 }, (_, at) => at + 1)
  const payload = audioJob()
  for (const lane of all) {
    const messages = Array.from({ length: 1.5 * LANE }, () => ({ id: messageId(lane, newUlid(Date.now())), payload }))
    await queues.addMany(messages)
  }

  for (const lane of all) lanes.wake(lane)
  // BullMQ fetches a few more before a lane that has begun hears of the others.
  const share = WORKER / all.length
  await eventually(
    async () => all.every((lane) => (inFlight.get(lane)?.length ?? 0) >= share),
    'every lane has its share',
  )
  expect(most).toBeLessThan(1.2 * WORKER)

  const [last = 0, ...others] = all
  await eventually(async () => {
    for (const lane of others) end(lane)
    const counts = await Promise.all(others.map((lane) => queues.counts(lane)))
    return counts.every(({ wait, active }) => wait === 0 && active === 0)
  }, 'the others are done')
  // It fetches more when one of its own ends.
  inFlight.get(last)?.pop()?.()
  await eventually(async () => inFlight.get(last)?.length === LANE, 'a lane that is alone has all of its own')
  expect(most).toBeLessThan(1.2 * WORKER)

  await eventually(async () => {
    end(last)
    const { wait = 0, active = 0 } = await queues.counts(last)
    return wait + active === 0
  }, 'all are done')
  await lanes.stop(Promise.resolve(5_000))
})
