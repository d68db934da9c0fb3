// Pins: the connections to Redis that `npm run capacity` reckons with are those that there are. Real: Redis, a producer, a
// worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONNECTIONS } from '../../bench/capacity/model.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const LANES = [1, 2, 3, 4, 5]

let lanesRedis: LaneRedis
let redis: Redis
let queues: LaneQueues
beforeAll(async () => {
  lanesRedis = await startLaneRedis()
  ;({ redis, queues } = lanesRedis)
})
afterAll(() => lanesRedis?.close())

const connectionsOf = async (of: Redis): Promise<number> =>
  Number(/connected_clients:(\d+)/.exec(await of.info('clients'))?.[1])

/** Waits until there are so many. */
const has = (of: Redis, count: number): Promise<true> =>
  eventually(async () => (await connectionsOf(of)) === count && true, `${count} connections`, 10_000)

test('a lane has no connection of its own', async () => {
  const before = await connectionsOf(redis)
  const provider = answering(() => ({ kind: 'accepted', providerId: 'p' }))
  const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(80), provider))
  for (const lane of LANES) lanes.wake(lane)
  for (const lane of LANES) lanes.wakeCampaigns(lane)
  expect(lanes.count()).toBe(LANES.length)
  await has(redis, before)
  await lanes.stop(Promise.resolve(1_000))
})

test('a producer and a worker have as many connections to one Redis as the formula gives', async () => {
  const service = await startService({ worker: false })
  const { perNode, besides } = CONNECTIONS
  // One of them is the test's own.
  const withProducer = 1 + perNode.producer
  await has(service.redis, withProducer)
  await service.startWorker()
  await has(service.redis, withProducer + perNode.worker + besides.worker)
  await service.close()
})
