// Pins: replies on one lane are counted whatever is wrong with another one. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countReplies } from '../../src/campaigns/replies.processor.ts'
import { addReply, waitingReplies } from '../../src/campaigns/store/replies.ts'
import { silentLog } from '../support/app.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { senderRecord } from '../support/state/accounts.ts'

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

test('a lane with an unreadable sender keeps its replies, and those of the lanes after it are counted', async () => {
  const { redis } = world
  const lanes = [await world.addSender(), await world.addSender(), await world.addSender()]
  for (const lane of lanes) await addReply(redis, lane, { message: 'a', receivedAt: Date.now() })
  const [broken = 0] = lanes
  await senderRecord(redis, broken).change({ rate: 'fast' })
  await expect(countReplies(redis, silentLog)).rejects.toThrow(`sender ${broken} in Redis is broken`)
  const left = await Promise.all(lanes.map(async (lane) => (await waitingReplies(redis, lane, 10)).length))
  expect(left).toEqual([1, 0, 0])
})
