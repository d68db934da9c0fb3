// Pins: a rate is what happened in the time that it is told of, also when nobody looked for a while.
import { expect, test } from 'vitest'
import { createRateMeter } from '../../src/telemetry/live/rates.ts'

const EVERY_MS = 10_000
/** A moment at which a period begins. */
const BEGAN = 1_700_000_000_000

/** Takes a sample at `atMs` when so many were sent a second since BEGAN. */
function sampleAt(meter: ReturnType<typeof createRateMeter>, atMs: number, perSecond: number): void {
  const counts = Array.from({ length: 31 }, (_, i) => {
    const periodAt = atMs - (atMs % EVERY_MS) - (30 - i) * EVERY_MS
    const ms = Math.min(EVERY_MS, atMs - periodAt)
    return [periodAt, periodAt < BEGAN ? '' : `s=${Math.round((ms * perSecond) / 1_000)}`] as const
  })
  meter.add(atMs, counts)
}

test('a steady rate is shown correctly while it is read each second', () => {
  const meter = createRateMeter(30)
  for (let second = 0; second <= 40; second += 1) sampleAt(meter, BEGAN + second * 1_000, 80)
  expect(meter.rates(BEGAN + 40_000).sent).toBeCloseTo(80, 0)
})

test('messages sent while nobody read the rate are not shown as sent now', () => {
  const meter = createRateMeter(30)
  for (let second = 0; second <= 12; second += 1) sampleAt(meter, BEGAN + second * 1_000, 80)
  for (const second of [60, 61, 62]) {
    sampleAt(meter, BEGAN + second * 1_000, 80)
    expect(meter.rates(BEGAN + second * 1_000).sent, `after ${second} s`).toBeLessThanOrEqual(81)
  }
})
