// Pins: a page that something between us and the provider answers with (a firewall, a proxy) blocks no sender and burns no
// people. The lane waits, visibly, asks again with one message at a time, and goes on by itself.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { laneCooldown } from '../../src/lanes/cooldown.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { slowness } from '../support/machine.ts'
import { isLanePaused } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

/** Messages a second: few enough that six are in flight when the first page comes, and thirty on a machine that is late. */
const RATE = 20
/** Sent before the pages begin. */
const SENT = 20
/** Fewer than the hundred whose share of failures pauses a campaign: a late machine would reach that share. */
const PEOPLE = 80

/** How long an answer takes. */
const ANSWER_MS = 300

const page = (status: number) => ({ status, body: '<html>Request blocked by WAF</html>' })

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: ANSWER_MS, rate: RATE })
  ;({ service, product } = world)
})
afterEach(() => world.reset())
afterAll(() => world?.close())

const started = (people: number) => world.started(people)
const isPaused = () => isLanePaused(service.redis, service.lane)
const cooldown = () => laneCooldown(service.redis, service.lane, Date.now())
const sentOf = async (id: string) => Number((await service.show(id)).progress.sent)

test.each([401, 404])('one page with %i delays the lane a little and costs one message its proof', async (status) => {
  product.state.answer = (call, to) => (call === SENT ? page(status) : accepted(call, to))
  const id = await started(PEOPLE)
  await eventually(async () => (await sentOf(id)) === PEOPLE - 1, 'all others are sent')
  expect((await service.show(id)).progress).toMatchObject({ unconfirmed: 1, failed: 0 })
  expect(await isPaused()).toBe(false)
  await service.move(id, 'cancel')
})

test('while the pages last one message at a time is tried, after growing pauses, and then all go on by themselves', async () => {
  let firstPageAt = Number.POSITIVE_INFINITY
  product.state.answer = (call, to) => {
    if (call <= SENT) return accepted(call, to)
    // The page leaves after the same time, right after this.
    if (call === SENT + 1) setTimeout(() => (firstPageAt = performance.now()), ANSWER_MS)
    return page(403)
  }
  const id = await started(PEOPLE)
  const seen = await eventually(async () => {
    const askedMs = Date.now()
    const found = await cooldown()
    return found && { ...found, askedMs }
  }, 'the lane is in a cooldown')
  expect(seen).toMatchObject({ code: 'http_403', sentence: expect.stringContaining('403') })
  expect(seen.until).toBeGreaterThan(seen.askedMs)
  // What was in flight when the first page came cannot be taken back.
  await eventually(async () => (await service.show(id)).progress.sending === 0, 'nothing is in flight')
  const before = product.state.calls.length
  const late = product.state.calls.slice(0, before).filter(({ atMs }) => atMs > firstPageAt)
  expect(late.length).toBeLessThan(5 * (await slowness()))
  await eventually(async () => product.state.calls.length >= before + 3, 'it asked three times', 300_000)
  const asked = product.state.calls.slice(before - 1).map(({ atMs }) => atMs)
  const gaps = asked.slice(1).map((atMs, i) => atMs - (asked[i] ?? 0))
  expect(Math.min(...gaps)).toBeGreaterThan(500)
  expect(gaps.at(-1)).toBeGreaterThan(3_000)
  expect(await isPaused()).toBe(false)
  product.state.answer = accepted
  const pages = product.state.calls.length - SENT
  await eventually(async () => (await sentOf(id)) === PEOPLE - pages, 'all others are sent', 300_000)
  expect(await cooldown()).toBeUndefined()
  await service.move(id, 'cancel')
})

test("the provider's own envelope with the same status still blocks the sender", async () => {
  product.state.answer = () => graphError(403, 131031)
  const id = await started(50)
  await eventually(isPaused, 'the lane is paused')
  expect((await service.show(id)).progress).toMatchObject({ unconfirmed: 0, failed: 0 })
})
