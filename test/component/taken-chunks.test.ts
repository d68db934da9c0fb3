// Pins: how many chunks of a lane one process has in hand. Real: Redis, BullMQ's queues and Workers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openChunksWorker } from '../../src/worker/sending/chunk-worker.ts'
import { createTakenChunks } from '../../src/worker/sending/send-chunk.ts'
import { silentLog } from '../support/app.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { eventually } from '../support/wait.ts'

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

test.each([
  ['a slow lane', 80, 2],
  ['a lane of a thousand a second', 1_000, 3],
])('of %s it has as many as the rate asks for', async (_which, rate, most) => {
  const { redis, queues } = world
  const lane = await world.addSender(rate)
  const chunks = Array.from({ length: 5 }, (_, i) => ({ v: 1, run: 1, from: 10 * i, count: 10 }) as const)
  await queues.addChunks(lane, chunks, 'test')
  let inHand = 0
  let mostSeen = 0
  let done = 0
  const goOn: (() => void)[] = []
  const worker = openChunksWorker(
    {
      ...{ redis, log: silentLog, queues },
      async processChunk() {
        inHand += 1
        mostSeen = Math.max(mostSeen, inHand)
        await new Promise<void>((resolve) => goOn.push(resolve))
        inHand -= 1
        done += 1
        return { kind: 'done' }
      },
    },
    lane,
    { chunks: createTakenChunks(() => {}), works: () => {} },
  )
  try {
    while (done < chunks.length) {
      // BullMQ looks again at how many it may take up when one has ended.
      const left = Math.min(done === 0 ? 2 : most, chunks.length - done)
      await eventually(async () => goOn.length >= left, `${left} in hand`, 10_000)
      const before = done
      goOn.shift()?.()
      await eventually(async () => done === before + 1, 'the end of one')
    }
    expect(mostSeen).toBe(most)
  } finally {
    for (const each of goOn) each()
    await worker.close()
  }
})
