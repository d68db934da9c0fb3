// Pins: a lane whose jobs wait although nothing holds it is reopened, and only such a lane. Real: Redis, a worker that
// waits for an answer that never comes.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { readSweepStates } from '../../src/lanes/due-lanes.ts'
import { timesReopened } from '../../src/lanes/wake.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { createWatchdog } from '../../src/worker/recovery/sweep.ts'
import { silentLog } from '../support/app.ts'
import { serviceTest } from '../support/fixtures.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { listenFor } from '../support/state/accounts.ts'
import { hangNextLook } from '../support/state/lanes.ts'
import { cooldownOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const SILENT_MS = 300

const test = serviceTest().extend('newWatchdog', { scope: 'file' }, ({ service }) => () => {
  const asked: number[] = []
  const listener = connectWithRetry(service.server.url)
  listener.on('message', (_channel, lane) => asked.push(Number(lane)))
  const watchdog = createWatchdog({ redis: service.redis, config: { sendTimeoutMs: 0 }, log: silentLog }, SILENT_MS)
  const look = async (lane: number) => {
    const [state] = await readSweepStates(service.redis, [lane])
    if (state) await watchdog.see(state)
  }
  return { asked, look, begin: () => listenFor(listener, 'laneToReopen'), stop: () => listener.disconnect() }
})

/** Looks at lanes, side by side, for longer than they may be silent. Nothing is to happen, so only time can end it. */
async function lookFor(look: (lane: number) => Promise<void>, lanes: readonly number[]): Promise<void> {
  for (const end = performance.now() + 2 * SILENT_MS; performance.now() < end; ) {
    await Promise.all(lanes.map(look))
    await pause(SILENT_MS / 10)
  }
}

test('a lane whose jobs are no longer taken is reopened, counted, and sends', async ({ service, newWatchdog }) => {
  const tenant = await service.addTenant()
  const lane = tenant.partnerLane
  await reaches(service, tenant, await sendTo(service, tenant, '+491700002001'), 'read')
  hangNextLook(lane)
  const ids = [await sendTo(service, tenant, '+491700002002'), await sendTo(service, tenant, '+491700002004')]
  const { asked, begin, look, stop } = newWatchdog()
  await begin()
  await eventually(async () => {
    await look(lane)
    return asked.includes(lane)
  }, 'it is reopened')
  for (const id of ids) await reaches(service, tenant, id, 'read')
  await eventually(async () => (await timesReopened(service.redis, lane)) > 0, 'it is counted')
  stop()
})

test('a lane that is paused, in a cooldown, at its pace, or empty is left alone', async ({ service, newWatchdog }) => {
  const [paused, cooling, slow, empty] = await Promise.all([1, 2, 3, 4].map(() => service.addTenant()))
  if (!paused || !cooling || !slow || !empty) throw new Error('no tenants')
  await (await paused.apiWith('admin')).post(`/admin/lanes/${paused.partnerLane}/pause`)
  await cooldownOf(service.redis, cooling.partnerLane).put(Date.now() + 60_000)
  await (await slow.apiWith('admin')).post(`/admin/lanes/${slow.partnerLane}/rate`, { rate: 1 / 60 })
  for (const tenant of [paused, cooling, slow, slow]) await sendTo(service, tenant, '+491700002003')
  const { asked, begin, look, stop } = newWatchdog()
  await begin()
  await lookFor(
    look,
    [paused, cooling, slow, empty].map(({ partnerLane }) => partnerLane),
  )
  expect(asked).toEqual([])
  stop()
})
