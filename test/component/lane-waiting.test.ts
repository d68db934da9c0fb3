// Pins: what a lane says waits on it is what is left to send: nobody who was claimed, and nobody of a campaign that does not
// run. Real: Redis, HTTP, producer, worker, command line, the console's snapshot.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pauseLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { runCli } from '../support/cli.ts'
import { losePlaces } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
let queues: LaneQueues
beforeAll(async () => {
  service = await startCampaigns()
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

test('a lane and the console show what is left of a campaign, and nothing of a cancelled one', async () => {
  const { redis, lane } = service
  const snapshots = createSnapshots(redis)
  const shown = async () => {
    const [listed] = (await service.request('GET', '/admin/lanes', undefined, await service.tenant.key('admin')))
      .json()
      .data.filter((each: { lane: number }) => each.lane === lane)
    const inConsole = (await snapshots.take()).lanes.find(({ sender }) => sender === lane)
    return [listed.waiting, inConsole?.waiting.campaign]
  }
  await pauseLane(redis, queues, lane, { reason: '', by: '' })
  const { tag } = await service.addPeople(60)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await shown()).every((count) => count === 60), 'all are on the lane')
  // Or its campaign would feed again what the lane loses now.
  await service.stopWorker()
  const { number = 0 } = (await service.record(id)) ?? {}
  // As after thirteen claims.
  await losePlaces(redis, lane, ...Array.from({ length: 13 }, (_, place) => `${number}/${place}`))
  expect(await shown()).toEqual([47, 47])
  await service.move(id, 'cancel')
  expect(await shown()).toEqual([0, 0])
  const env = service.settings
  expect((await runCli(['lanes', 'resume', String(lane)], env)).stdout).toContain('is resumed; 0 messages wait.')
})
