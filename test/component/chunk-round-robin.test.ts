// Pins: the campaigns of a lane take turns, chunk by chunk, however many chunks one had there before another came. Real:
// Redis, BullMQ.
import { afterAll, expect, test } from 'vitest'
import { parseChunkJobId } from '../../src/jobs/chunk.ts'
import { type LaneQueues, openLaneQueues, placeRoundRobin } from '../../src/lanes/queues.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { addAmongChunks, chunksWaitingOn, takeChunksByHand } from '../support/state/lanes.ts'

let redis: Redis
let queues: LaneQueues
withOwnRedis((own) => {
  redis = own
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
})

const feed = (lane: number, run: number, places: readonly number[]) =>
  queues.addChunks(
    lane,
    places.map((from) => ({ v: 1, run, from, count: 1 })),
    '1_0',
  )

/** Ids of what waits, the next one first. */
const waiting = (lane: number) => chunksWaitingOn(redis, lane)

/** As `<campaign>.<place>`. */
const order = async (lane: number) =>
  (await waiting(lane)).map((id) => {
    const chunk = parseChunkJobId(id)
    return chunk ? `${chunk.run}.${chunk.from}` : id
  })

test('what one campaign has put there before does not go before what another one brings, but in turn with it', async () => {
  await feed(1, 1, [0, 1, 2, 3])
  await feed(1, 2, [0, 1])
  expect(await order(1)).toEqual(['1.0', '2.0', '1.1', '2.1', '1.2', '1.3'])
  await feed(1, 3, [0])
  expect(await order(1)).toEqual(['1.0', '2.0', '3.0', '1.1', '2.1', '1.2', '1.3'])
})

test('a campaign that feeds a chunk for each that was taken gets half the turns, also when it feeds late', async () => {
  const lane = 2
  await feed(lane, 1, [0, 1, 2, 3, 4, 5, 6, 7])
  await feed(lane, 2, [0, 1, 2, 3, 4])
  const taker = takeChunksByHand(redis, lane)
  const taken: number[] = []
  let [first, second, owed] = [8, 5, 0]
  for (let i = 0; i < 40; i += 1) {
    const chunk = await taker.next()
    const { run } = parseChunkJobId(chunk?.name ?? '') ?? {}
    taken.push(run ?? 0)
    await chunk?.finish()
    // The one feeds at once, the other three at a time.
    if (run === 1) await feed(lane, 1, [first++])
    else if (++owed === 3) {
      await feed(lane, 2, [second, second + 1, second + 2])
      second += 3
      owed = 0
    }
  }
  expect(taken).toEqual(taken.map((_each, i) => 1 + (i % 2)))
  await taker.close()
})

test('turns are of recipients: of chunks half as long, two go for one', async () => {
  const lane = 3
  const chunks = (run: number, count: number, places: readonly number[]) =>
    queues.addChunks(
      lane,
      places.map((from) => ({ v: 1, run, from, count })),
      '1_0',
    )
  await chunks(1, 10, [0, 10, 20, 30])
  await chunks(2, 5, [0, 5, 10, 15, 20])
  expect(await order(lane)).toEqual(['1.0', '2.0', '2.5', '1.10', '2.10', '2.15', '1.20', '2.20', '1.30'])
})

test('none is lost or doubled, what is no chunk included, and those of one campaign stay in their order', async () => {
  const lane = 4
  await addAmongChunks(redis, lane, 'by-hand')
  for (const [i, run] of [4, 4, 5, 4, 6, 5].entries()) await feed(lane, run, [i])
  const before = await order(lane)
  expect(before).toEqual(['by-hand', '4.0', '5.2', '6.4', '4.1', '5.5', '4.3'])
  await placeRoundRobin(redis, lane, ['chunk_9_0_1_1_0', 'by-hand'])
  expect(await order(lane)).toEqual(before)
})
