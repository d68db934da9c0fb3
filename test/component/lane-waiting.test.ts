// Pins: what a lane says waits on it is what is left to send: nobody of a chunk who was claimed, and nobody of a campaign
// that does not run. Real: Redis, HTTP, producer, worker, command line, the console's snapshot.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pauseLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { waitingInChunks } from '../../src/lanes/stats.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { runCli } from '../support/cli.ts'
import { putChunks } from '../support/state/lanes.ts'
import { activeCampaignsOn, markPlace, marksOf } from '../support/state/messages.ts'
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

test('a lane counts those of its chunks whom nobody has claimed, each once, and nobody of what does not run', async () => {
  const { redis } = service
  const lane = 99
  await activeCampaignsOn(redis, lane).change({ 7: 'running', 8: 'paused', 12: 'running' })
  const span = fc.record({
    run: fc.constantFrom(7, 8, 9, 12),
    from: fc.nat(40),
    count: fc.integer({ min: 1, max: 30 }),
    stands: fc.constantFrom('waiting', 'delayed', 'inHand'),
  })
  const states = fc.array(
    fc.nat(15).map((state) => (state < 8 ? 0 : state)),
    { maxLength: 60 },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(span, { maxLength: 8 }), states, async (spans, marks) => {
      const named = spans.map(({ run, from, count, stands }, i) => ({
        stands,
        name: `chunk_${run}_${from}_${count}_${i}`,
      }))
      const standing = (where: string) => named.flatMap(({ stands, name }) => (stands === where ? [name] : []))
      const [waiting, delayed, inHand] = ['waiting', 'delayed', 'inHand'].map(standing)
      await putChunks(redis, lane, { waiting: waiting ?? [], delayed: delayed ?? [], inHand: inHand ?? [] })
      for (const number of [7, 8, 9, 12]) {
        await marksOf(redis, { lane, number }).remove()
        await Promise.all(marks.map((state, place) => state > 0 && markPlace(redis, { lane, number }, place, state)))
      }
      const places = spans.flatMap(({ run, from, count }) =>
        run === 7 || run === 12 ? Array.from({ length: count }, (_, i) => `${run} ${from + i}`) : [],
      )
      const waits = [...new Set(places)].filter((each) => !marks[Number(each.split(' ')[1])])
      expect(await waitingInChunks(redis, lane)).toBe(waits.length)
    }),
    { numRuns: 150 },
  )
})

test('a lane and the console say what is left of a campaign, and nothing of a cancelled one', async () => {
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
  const { number = 0 } = (await service.record(id)) ?? {}
  // As after thirteen calls that nobody knows the end of.
  for (let place = 0; place < 13; place += 1) await markPlace(redis, { lane, number }, place, 10)
  expect(await shown()).toEqual([47, 47])
  await service.move(id, 'cancel')
  expect(await shown()).toEqual([0, 0])
  const env = { REDIS_URL: service.server.url, LANEWAY_DATA_DIR: service.config.dataDir }
  expect((await runCli(['lanes', 'resume', String(lane)], env)).stdout).toContain('is resumed; 0 messages wait.')
})
