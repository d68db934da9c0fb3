// Pins: what a worker does once for all lanes goes on for those of the other servers of a cluster while one stays away: nobody takes over
// for it here, and a command for it never ends. Real: a cluster of three primaries.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import { newUlid } from '../../src/kernel/message-id.ts'
import { readSweepStates } from '../../src/lanes/due-lanes.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { markLane } from '../../src/lanes/wake.ts'
import { activeCampaigns, addCampaignLane } from '../../src/recipients/active-campaigns.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { whereAnswered } from '../../src/redis/each-server.ts'
import { createSweep } from '../../src/worker/recovery/sweep.ts'
import { silentLog } from '../support/app.ts'
import { dueLanes } from '../support/state/accounts.ts'
import { campaignLanes, inDoubtOn, messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'
import { type RedisCluster, startRedisCluster } from '../testbed/redis-cluster.ts'
import type { RedisServer } from '../testbed/redis-server.ts'

const LANES = Array.from({ length: 12 }, (_, i) => i + 1)

let cluster: RedisCluster
let redis: Redis
beforeAll(async () => {
  cluster = await startRedisCluster(mkdtempSync(join(tmpdir(), 'laneway-away-')))
  redis = connectWithRetry(cluster.url)
  for (const lane of LANES) await addCampaignLane(redis, lane)
})
afterAll(async () => {
  redis?.disconnect()
  await cluster?.stop()
})

test('lanes of the other servers are swept, and their campaigns watched', async () => {
  const ulid = newUlid(Date.now())
  const servers = new Map<number, RedisServer>()
  for (const lane of LANES) servers.set(lane, await messageRecord(redis, { lane, ulid: ulid }).at(cluster.primaryOf))
  // Without the list of lanes with campaigns nothing is known about any of them.
  const home = await campaignLanes(redis).at(cluster.primaryOf)
  const victim = [...servers.values()].find((server) => server !== home)
  const own = LANES.filter((lane) => servers.get(lane) === victim)
  const others = LANES.filter((lane) => !own.includes(lane))
  expect(await readSweepStates(redis, LANES)).toHaveLength(LANES.length)
  victim?.freeze()
  try {
    const same = (lanes: readonly number[], wanted: readonly number[]) => lanes.join() === wanted.join()
    const swept = async () => (await readSweepStates(redis, LANES)).map(({ lane }) => lane)
    await eventually(async () => same(await swept(), others), 'the others are swept')
    await eventually(async () => {
      expect(await activeCampaigns(redis)).toEqual([])
      const listed = await Promise.all(LANES.map((lane) => campaignLanes(redis).has(lane)))
      return same(
        LANES.filter((_, i) => listed[i]),
        own,
      )
    }, 'the others are known to have no campaigns')
    // However often they are asked for, each waits for one answer.
    const asked: number[] = []
    const ask = (lane: number) => {
      asked.push(lane)
      return messageRecord(redis, { lane, ulid }).isThere()
    }
    const countOf = (lane: number) => asked.filter((each) => each === lane).length
    await eventually(async () => {
      await whereAnswered(redis, LANES, { what: 'test', ask })
      return others.every((lane) => countOf(lane) >= 5)
    }, 'the others are asked again and again')
    expect(own.map(countOf)).toEqual(own.map(() => 1))
  } finally {
    victim?.wake()
  }
})

test('lanes of the other servers are swept when one goes away while its lanes are', async () => {
  const lanes = Array.from({ length: 60 }, (_, i) => i + 101)
  const servers = new Map<number, RedisServer>()
  for (const lane of lanes) servers.set(lane, await inDoubtOn(redis, lane).at(cluster.primaryOf))
  const home = await dueLanes(redis).at(cluster.primaryOf)
  const victim = [...servers.values()].find((server) => server !== home)
  const own = lanes.filter((lane) => servers.get(lane) === victim)
  const others = lanes.filter((lane) => !own.includes(lane))
  // More than are swept at once.
  expect(own.length).toBeGreaterThan(8)
  for (const lane of lanes) {
    await inDoubtOn(redis, lane).put(Date.now() - 60_000, newUlid(Date.now()))
    await markLane(redis, lane)
  }
  let isAway = false
  const sweep = createSweep({
    ...{ redis, config: loadConfig({}), log: silentLog, followByPolling: () => {} },
    queues: openLaneQueues(redis),
    // The states of all lanes have been read; nobody has any of these lanes, so that what is left of them goes.
    directory: {
      of: async () => {
        if (!isAway) victim?.freeze()
        isAway = true
        return undefined
      },
    },
  })
  const isSwept = async (lane: number) => (await inDoubtOn(redis, lane).all()).length === 0
  try {
    void sweep.sweep().catch(() => {})
    await eventually(async () => (await Promise.all(others.map(isSwept))).every(Boolean), 'the others are swept')
  } finally {
    victim?.wake()
  }
  await eventually(
    async () => (await Promise.all(own.map(isSwept))).every(Boolean),
    'its own are swept when it is back',
  )
})
