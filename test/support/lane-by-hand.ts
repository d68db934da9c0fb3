// A lane whose jobs a test takes by hand: its BullMQ queue, and a Worker that runs nothing by itself.
import { Worker, type WorkerOptions } from 'bullmq'
import { laneQueue } from '../../src/queue/layout.ts'
import { openBullQueue } from '../../src/queue/open-queue.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { lanePrefix } from '../../src/redis/keys.ts'

type Check = (lane: number, queue: ReturnType<typeof openBullQueue>, worker: Worker) => Promise<void>

type Settings = Pick<WorkerOptions, 'lockDuration' | 'removeOnComplete'>

/** Runs a check on the lane, and closes its queue and its Worker whatever comes of it. */
export async function withLaneByHand(redis: Redis, lane: number, settings: Settings, check: Check): Promise<void> {
  const prefix = lanePrefix(lane)
  const queue = openBullQueue(redis, laneQueue(lane), prefix)
  const worker = new Worker(laneQueue(lane), null, { ...settings, connection: redis, prefix })
  try {
    await check(lane, queue, worker)
  } finally {
    await worker.close(true)
    await queue.close()
  }
}
