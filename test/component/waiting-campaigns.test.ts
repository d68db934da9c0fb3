// Pins: a campaign whose messages wait on their lane is looked at ever more rarely, and what its lane has lost is fed
// again all the same. Real: Redis, HTTP, producer, the fan-out. The clock of its measurements is advanced by hand.

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { fanOut } from '../../src/campaigns/fan-out/fan-out.ts'
import { createLocalStates } from '../../src/campaigns/fan-out/local-state.ts'
import { openFolder } from '../../src/files/folder.ts'
import { SharedMoments } from '../../src/kernel/shared-ticks.ts'
import { parsePlace } from '../../src/lanes/places.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { startManyOnPausedLane } from '../support/many-campaigns.ts'
import { losePlaces, placesOn } from '../support/state/lanes.ts'
import { activeCampaignsOn } from '../support/state/messages.ts'

const MOST_PARK_MS = 60_000
const CAMPAIGNS = 3

let service: CampaignService
const localStates = createLocalStates()

beforeAll(async () => {
  service = await startCampaigns()
  await startManyOnPausedLane(service, CAMPAIGNS)
  await service.stopWorker()
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterAll(async () => {
  vi.useRealTimers()
  await service?.close()
})

/** So many turns of every campaign, each when it is due; after how many milliseconds each was due again, by campaign. */
async function turns(count: number): Promise<number[][]> {
  const { redis, config, lane } = service
  const stop = new AbortController().signal
  const waits: number[][] = Array.from({ length: CAMPAIGNS }, () => [])
  for (let turn = 0; turn < count; turn += 1) {
    for (const [i, own] of waits.entries()) {
      const id = { lane, number: 1_000_000 + i }
      // Another campaign waits for its place: a turn does not pause then, which takes the real clock.
      const end = await fanOut({ redis, files: openFolder(config.dataDir), config, log: silentLog }, id, 1, stop, {
        localStates,
        isWanted: () => true,
        moments: new SharedMoments(),
      })
      own.push(end === 'over' ? 0 : end.nextMs)
    }
    vi.advanceTimersByTime(Math.max(...waits.map((own) => own.at(-1) ?? 0)))
  }
  return waits
}

const places = () => placesOn(service.redis, service.lane)

test('campaigns waiting on a paused lane are parked longer each time, up to a minute', async () => {
  for (const waits of await turns(14)) {
    expect(waits).toEqual([...waits].sort((a, b) => a - b))
    expect(waits.at(-1)).toBe(MOST_PARK_MS)
  }
  expect(await places()).toHaveLength(CAMPAIGNS)
})

test('one of 300 on a lane is parked for 15 s the first time, so that in total 20 a second are checked', async () => {
  const { redis, config, lane } = service
  const others = Object.fromEntries(Array.from({ length: 300 - CAMPAIGNS }, (_, i) => [2_000_000 + i, 'running']))
  await activeCampaignsOn(redis, lane).change(others)
  const slice = { localStates: createLocalStates(), isWanted: () => true, moments: new SharedMoments() }
  const stop = new AbortController().signal
  const waits = []
  for (let n = 0; n < 3; n += 1) {
    const end = await fanOut(
      { redis, files: openFolder(config.dataDir), config, log: silentLog },
      { lane, number: 1_000_000 },
      1,
      stop,
      slice,
    )
    waits.push(end === 'over' ? 0 : end.nextMs)
  }
  await activeCampaignsOn(redis, lane).drop(...Object.keys(others))
  // The first turn feeds its places, the second one finds nothing to do.
  expect(waits.slice(-2)).toEqual([15_000, 30_000])
})

test('checking a waiting campaign costs Redis fewer than 60 commands', async () => {
  await turns(1)
  const before = await commands()
  await turns(1)
  expect((await commands()) - before).toBeLessThan(60 * CAMPAIGNS)
})

test('a place that is lost from the lane is fed again while the others wait', async () => {
  const [lost] = await places()
  await losePlaces(service.redis, service.lane, lost ?? '')
  expect(await places()).toHaveLength(CAMPAIGNS - 1)
  await turns(3)
  const runs = (await places()).map((name) => parsePlace(name)?.run)
  expect(runs.sort()).toEqual(Array.from({ length: CAMPAIGNS }, (_, i) => 1_000_000 + i))
})

async function commands(): Promise<number> {
  return Number(/^total_commands_processed:(\d+)/m.exec(await service.redis.info('stats'))?.[1])
}
