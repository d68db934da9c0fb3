// Pins: whatever stalls, what a worker lets go keeps every second and every ten within the limits of its pace, and nothing is
// held back that might go.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { paceOf } from '../../src/model/messages/pace.ts'
import { PaceGate } from '../../src/worker/sending/pace-gate.ts'

const gateOf = (rate: number, isStrict = false): PaceGate => {
  const gate = new PaceGate()
  gate.keep(paceOf(rate, isStrict))
  return gate
}

function leaves(gate: PaceGate, at: number): void {
  gate.letGo()
  gate.left(at)
}

/** The most that fall into any span of so many ms. */
function busiest(times: readonly number[], spanMs: number): number {
  let most = 0
  let from = 0
  for (const [at, time] of times.entries()) {
    while ((times[from] ?? time) <= time - spanMs) from += 1
    most = Math.max(most, at - from + 1)
  }
  return most
}

const PLAYED_MS = 40_000
const stalls = fc.array(fc.record({ atMs: fc.nat(PLAYED_MS), forMs: fc.integer({ min: 1, max: 3_000 }) }), {
  maxLength: 12,
})

/** Lets go all that is due by slots at an even pace and that the gate allows, every 5 ms but during stalls. */
function play(rate: number, pauses: readonly { atMs: number; forMs: number }[], isStrict = false): number[] {
  const gate = gateOf(rate, isStrict)
  const gapMs = paceOf(rate, isStrict).gapUs / 1_000
  const left: number[] = []
  for (let now = 0; now < PLAYED_MS; now += 5) {
    if (pauses.some(({ atMs, forMs }) => now >= atMs && now < atMs + forMs)) continue
    while (left.length * gapMs <= now && gate.freeAt(now, false) <= now) {
      gate.letGo()
      gate.left(now)
      left.push(now)
    }
  }
  return left
}

test.each([1, 3, 5, 9, 10, 80, 250, 1_000])('a lane keeps its limits at %i a second', (rate) => {
  const inASecond = rate < 5 ? rate : Math.max(rate + 1, Math.floor(1.1 * rate))
  fc.assert(
    fc.property(stalls, (pauses) => {
      const left = play(rate, pauses)
      expect(busiest(left, 1_000)).toBeLessThanOrEqual(inASecond)
      expect(busiest(left, 10_000)).toBeLessThanOrEqual(10 * rate)
    }),
    { numRuns: 20 },
  )
})

/**
 * The same by several workers, each of which may stall by itself. Slots, as Redis gives them out, go to one after the other. What
 * is late by more than so much is lost.
 */
function playShared(
  rate: number,
  pausesOf: readonly (readonly { atMs: number; forMs: number }[])[],
  lostMs: number,
  isStrict = false,
) {
  const { gapUs } = paceOf(rate, isStrict)
  const workers = pausesOf.map((pauses) => ({ pauses, gate: gateOf(rate, isStrict), slots: [] as number[] }))
  const left: number[] = []
  let given = 0
  for (let now = 0; now < PLAYED_MS; now += 5) {
    for (; (given * gapUs) / 1_000 <= now + 250; given += 1) {
      const worker = workers[given % workers.length]
      worker?.slots.push((given * gapUs) / 1_000)
      worker?.gate.reserved((given * gapUs) / 1_000)
    }
    for (const { pauses, gate, slots } of workers) {
      if (pauses.some(({ atMs, forMs }) => now >= atMs && now < atMs + forMs)) continue
      while ((slots[0] ?? now) < now - lostMs) slots.shift()
      while ((slots[0] ?? now + 1) <= now && gate.freeAt(now, true) <= now) {
        slots.shift()
        leaves(gate, now)
        left.push(now)
      }
    }
  }
  return left
}

describe('a lane shared by three workers', () => {
  test.each([1, 3, 5, 10, 80, 250, 1_000])('keeps its limits at %i a second, whatever stalls any of them', (rate) => {
    // Below five a second a worker may have no slot in the next second, in which it could be held back for one that was late.
    const inASecond = Math.max(rate + 1, Math.floor(1.1 * rate))
    fc.assert(
      fc.property(fc.tuple(stalls, stalls, stalls), fc.constantFrom(100, 640, 5_000), (pausesOf, lostMs) => {
        const left = playShared(rate, pausesOf, lostMs)
        expect(busiest(left, 1_000)).toBeLessThanOrEqual(inASecond)
        expect(busiest(left, 10_000)).toBeLessThanOrEqual(10 * rate)
      }),
      { numRuns: 20 },
    )
  })

  test('is not held back when nothing stalls', () => {
    const left = playShared(80, [[], [], []], 5_000)
    const gapMs = paceOf(80).gapUs / 1_000
    for (const [n, at] of left.entries()) expect(at - n * gapMs).toBeLessThanOrEqual(5)
  })

  test('uses the slots that passed in a stall of one of them', () => {
    const pauses = Array.from({ length: 4 }, (_, n) => ({ atMs: 2_000 + n * 9_700, forMs: 250 }))
    expect(playShared(80, [pauses, [], []], 5_000).length / 40).toBeGreaterThan(0.985 * 80)
  })
})

test.each([5, 10, 80, 250, 1_000])('a strict lane keeps its limits at %i a second, with 1 worker or 3', (rate) => {
  fc.assert(
    fc.property(fc.tuple(stalls, stalls, stalls), (pausesOf) => {
      for (const left of [play(rate, pausesOf[0], true), playShared(rate, pausesOf, 640, true)]) {
        expect(busiest(left, 1_000)).toBeLessThanOrEqual(rate)
        expect(left.length).toBeGreaterThan(0)
      }
      expect(play(rate, [], true).length / (PLAYED_MS / 1_000)).toBeGreaterThan(0.98 * rate)
    }),
    { numRuns: 20 },
  )
})

describe('a lane of 80 a second', () => {
  test('makes up at once for a stall of a quarter of a second, ten times in forty seconds', () => {
    const pauses = Array.from({ length: 10 }, (_, n) => ({ atMs: 2_000 + n * 3_700, forMs: 250 }))
    expect(play(80, pauses).length / 40).toBeGreaterThan(0.99 * 80)
  })

  test('is not held back when nothing stalls', () => {
    const left = play(80, [])
    const gapMs = paceOf(80).gapUs / 1_000
    for (const [n, at] of left.entries()) expect(at - n * gapMs).toBeLessThanOrEqual(5)
  })
})

test('a change of the rate takes effect at once, also for requests let go before', () => {
  const gate = gateOf(80)
  for (let n = 0; n < 40; n += 1) leaves(gate, n)
  gate.keep(paceOf(10))
  // Eleven of the latest fill the second.
  expect(gate.freeAt(0, false)).toBeGreaterThan(1_000)
  gate.keep(paceOf(80))
  expect(gate.freeAt(0, false)).toBeLessThanOrEqual(39)
})

test('requests that leave long after they were let go keep the limits as well', () => {
  const gate = gateOf(80)
  const left: number[] = []
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 2_000, maxLength: 2_000 }), (steps) => {
      let now = left.at(-1) ?? 0
      let pending = 0
      for (const step of steps) {
        now += step % 4
        if (step < 25 && gate.freeAt(now, false) <= now) {
          gate.letGo()
          pending += 1
        } else if (step > 38) {
          // The connections for which all of these wait are open.
          for (; pending > 0; pending -= 1) {
            gate.left(now)
            left.push(now)
          }
        }
      }
      for (; pending > 0; pending -= 1) gate.stayed()
      expect(busiest(left, 1_000)).toBeLessThanOrEqual(88)
    }),
    { numRuns: 20 },
  )
  expect(left.length).toBeGreaterThan(1_000)
})

test.each([500, 900, 1_000, 1_100, 1_500, 5_000])(
  'on a shared lane the only message of a worker in %i ms leaves in its slot',
  (apartMs) => {
    const gate = gateOf(80)
    gate.reserved(1_000)
    leaves(gate, 1_000)
    gate.reserved(1_000 + apartMs)
    expect(gate.freeAt(1_000 + apartMs, true)).toBeLessThanOrEqual(1_000 + apartMs)
    // Nor once it is late by what may be late, and no second one goes with it.
    expect(gate.freeAt(1_020 + apartMs, true)).toBeLessThanOrEqual(1_020 + apartMs)
    leaves(gate, 1_020 + apartMs)
    expect(gate.freeAt(1_021 + apartMs, true)).toBeGreaterThan(1_021 + apartMs)
  },
)

test('a message that did not leave does not use up the turn of a slow lane', () => {
  const gate = gateOf(1 / 30)
  gate.letGo()
  expect(gate.freeAt(0, false)).toBe(Number.POSITIVE_INFINITY)
  gate.stayed()
  expect(gate.freeAt(0, false)).toBe(Number.NEGATIVE_INFINITY)
  leaves(gate, 100)
  expect(gate.freeAt(0, false)).toBeGreaterThan(30_000)
})

test('a lane too fast for a limit is never held back', () => {
  const gate = gateOf(10_000)
  for (let n = 0; n < 100_000; n += 1) leaves(gate, 0)
  expect(gate.freeAt(0, false)).toBe(Number.NEGATIVE_INFINITY)
})
