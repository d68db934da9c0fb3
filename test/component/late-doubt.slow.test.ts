// Pins: an attempt of a campaign whose answer proves nothing is decided when its wait for evidence is over, and not only when it would
// have been taken for lost. Real: Redis, HTTP, producer, worker, sweep. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { eventually } from '../support/wait.ts'

/** Tests let a request take a minute, so that its attempt is lost no sooner after its claim. */
const LOST_MS = 60_000
/** In this time the sweep has looked at the lane, on which nothing is left but the message in flight. */
const ANSWER_MS = 4_000

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: ANSWER_MS, env: { LANEWAY_UNCONFIRMED_WAIT_SECONDS: '0.1' } })
})
afterAll(() => world?.close())

test('the last message of a lane ends as unknown soon after its answer', async () => {
  world.product.state.answer = () => ({ status: 500, body: '<html>Something went wrong</html>' })
  const id = await world.started(1)
  await eventually(async () => (await world.service.show(id)).progress.unknown === 1 || undefined, 'it is unknown')
  expect(performance.now() - (world.product.state.calls[0]?.atMs ?? 0)).toBeLessThan(LOST_MS)
  expect((await world.service.reaches(id, 'done')).progress).toMatchObject({ total: 1, unconfirmed: 0 })
})
