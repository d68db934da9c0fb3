// Pins: what a campaign's circuit breaker makes of a provider's answers, at a real pace, with real answer times and the
// default wait for evidence. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { coolLane, endLaneCooldown } from '../../src/lanes/cooldown.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { slowness } from '../support/machine.ts'
import { ownAct } from '../support/own-acts.ts'
import { eventually } from '../support/wait.ts'

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 300 })
  ;({ service, product } = world)
})
beforeEach(() => world.reset())
afterAll(() => world?.close())

const started = (people: number) => world.started(people)
const calls = () => product.state.calls.length
/** The campaign once it has paused itself, and how slow the machine was meanwhile, or is now. */
async function pausesItself(id: string) {
  const [paused, before] = await Promise.all([service.reaches(id, 'paused'), slowness()])
  return { ...paused, slow: Math.max(before, await slowness()) }
}
const nothingIsInFlight = (id: string) =>
  eventually(async () => {
    const { progress } = await service.show(id)
    return progress.sending === 0 ? progress : undefined
  }, 'nothing is in flight')

test('messages without proof count at once, not only after their wait for evidence', async () => {
  product.state.answer = (call, to) => (call % 5 < 2 ? graphError(500, 131000) : accepted(call, to))
  const id = await started(2_000)
  const { reason, progress, slow } = await pausesItself(id)
  expect(reason).toMatch(
    /^\d+ of the last \d+ messages failed or are unproven, more than 30 %\. Most often: something went wrong at WhatsApp \(code 131000\)\.$/,
  )
  expect(progress.unconfirmed).toBeGreaterThan(30)
  expect(calls()).toBeLessThan(300 * slow)
  await service.move(id, 'cancel')
})

test('a campaign goes on when people cannot be reached for reasons of their own', async () => {
  const codes = [131049, 131026, 130472, 131050]
  product.state.answer = (call, to) =>
    call % 5 < 2 ? graphError(400, codes[call % codes.length] ?? 0) : accepted(call, to)
  const id = await started(300)
  const { progress } = await service.reaches(id, 'done')
  expect(progress).toMatchObject({ failed: 120, sent: 180 })
})

describe('a code about the template pauses the campaign at once, and no recipient is lost', () => {
  test.each([132001, 131063])('%i, from the first message on', async (code) => {
    product.state.answer = () => graphError(400, code)
    const id = await started(300)
    const { reason, slow } = await pausesItself(id)
    expect(reason).toContain(`(code ${code})`)
    const act = await ownAct(service.redis, 'campaign.pause', id)
    expect(act).toMatchObject({ account: expect.any(Number), detail: reason })
    const { failed, queued } = await nothingIsInFlight(id)
    expect([failed, queued]).toEqual([0, 300])
    expect(calls()).toBeLessThan(100 * slow)
    product.state.answer = accepted
    await service.move(id, 'resume')
    const done = await service.reaches(id, 'done')
    expect(done.progress).toMatchObject({ failed: 0, sent: 300 })
  })

  test('in the middle', async () => {
    product.state.answer = (call, to) => (call > 200 ? graphError(404, 132001) : accepted(call, to))
    const id = await started(600)
    await service.reaches(id, 'paused', 20_000)
    const { failed, sent } = await nothingIsInFlight(id)
    expect([failed, sent]).toEqual([0, 200])
    await service.move(id, 'cancel')
  })
})

test('a parameter that is refused several times in a row pauses the campaign, which loses a handful of people', async () => {
  product.state.answer = (call, to) => (call > 100 ? graphError(400, 100, 'bad') : accepted(call, to))
  const id = await started(600)
  const { reason } = await service.reaches(id, 'paused', 20_000)
  expect(reason).toContain('(code 100)')
  const { failed, sent } = await nothingIsInFlight(id)
  // The last that were sent may be written down between the first that were refused.
  expect(Number(failed)).toBeLessThanOrEqual(12)
  expect(sent).toBe(100)
  product.state.answer = accepted
  await service.move(id, 'resume')
  expect((await service.reaches(id, 'done')).progress).toMatchObject({ failed, sent: 600 - Number(failed) })
})

test('a parameter that is refused for one person in ten does not pause the campaign', async () => {
  product.state.answer = (call, to) => (call % 10 === 0 ? graphError(400, 100, 'bad') : accepted(call, to))
  const id = await started(300)
  expect((await service.reaches(id, 'done')).progress).toMatchObject({ failed: 30, sent: 270 })
})

test('a campaign whose provider answers with web pages shows no rate, and says where to look', async () => {
  const queues = openLaneQueues(service.redis)
  const { redis, lane } = service
  product.state.answer = () => ({ status: 403, body: '<html>blocked</html>' })
  const id = await started(400)
  const shown = await eventually(async () => {
    await endLaneCooldown(redis, lane)
    const now = await service.show(id)
    return Number(now.progress.unconfirmed) >= 2 && now.waits ? now : undefined
  }, 'some calls ended so')
  expect(Object(shown.waits).sentence).toMatch(/answered 403 .+: a firewall or proxy on the way, or .+ wrong base URL/)
  expect(shown.progress).toMatchObject({ sent: 0, rate_per_second: 0 })
  product.state.answer = accepted
  await service.move(id, 'cancel')
  // What was refused so late cools the lane once more.
  await nothingIsInFlight(id)
  await endLaneCooldown(redis, lane)
  await queues.close()
})

test('a campaign on a stopped lane shows why and until when, and counts that time', async () => {
  const queues = openLaneQueues(service.redis)
  const { redis, lane } = service
  const id = await started(400)
  await eventually(async () => calls() > 20, 'it is under way')
  expect((await service.show(id)).waits).toBeNull()
  await pauseLane(redis, queues, lane, { reason: 'stocktaking', by: 'Ann' })
  expect(await service.show(id)).toMatchObject({
    waits: { why: 'lane_paused', until: null, sentence: 'Its sender is paused: stocktaking.' },
    progress: { seconds_left: null },
  })
  const snapshots = createSnapshots(redis)
  const inConsole = async () => (await snapshots.take()).campaigns.find((each) => each.id === id)?.eta_s
  expect(await inConsole()).toBeNull()
  await resumeLane(redis, queues, lane)
  await coolLane(redis, lane, 3_600_000, { code: '131048', sentence: 'The number is held back.' })
  const { waits, progress, state } = await service.show(id)
  expect([state, waits]).toMatchObject([
    'running',
    { why: 'lane_cooldown', sentence: expect.stringContaining('held back') },
  ])
  expect(Date.parse(String(Object(waits).until)) - Date.now()).toBeGreaterThan(3_500_000)
  expect(progress.seconds_left).toBeGreaterThan(3_500)
  expect(await inConsole()).toBeGreaterThan(3_500)
  await endLaneCooldown(redis, lane)
  expect((await service.show(id)).waits).toBeNull()
  await service.move(id, 'cancel')
  await queues.close()
})
