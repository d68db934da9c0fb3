// Pins: what waits in its worker for a slot is claimed as soon as there is one, in order, and does not wait for ever. Real:
// timers, in milliseconds; Redis is a function that counts.
import { expect, test } from 'vitest'
import { type Pace, paceOf } from '../../src/messages/pace.ts'
import type { ClaimResult } from '../../src/messages/store/claim.ts'
import { createClaimGates } from '../../src/worker/claim-gate.ts'

const FAST = paceOf(1_000)
const SLOW = paceOf(80)
const LANE = 7

const claimed: ClaimResult = { verdict: 'done', state: 'sending' }
/** As a claim says it: the slot is so much too far ahead, and half of what claims may be ahead is to be let pass. */
const tooEarly = (pace: Pace, earlyMs: number): ClaimResult => ({
  verdict: 'too_early',
  state: 'queued',
  waitMs: Math.ceil(earlyMs + pace.aheadUs.transactional / 2_000),
})

/** A lane whose next slot is too far ahead until so many ms from now. */
function laneThatOpensIn(ms: number) {
  const opensAt = performance.now() + ms
  let asked = 0
  return {
    opensAt,
    asked: () => asked,
    ask: async (pace: Pace): Promise<ClaimResult> => {
      asked += 1
      const earlyMs = opensAt - performance.now()
      return earlyMs > 0 ? tooEarly(pace, earlyMs) : claimed
    },
  }
}

test('a message of a fast lane that is too early is claimed once its slot is near, without going back', async () => {
  const gates = createClaimGates()
  const lane = laneThatOpensIn(40)
  const { claimed: answer, askedAt } = await gates.claim(LANE, 'transactional', FAST, lane.ask)
  expect(answer).toEqual(claimed)
  expect(askedAt).toBeGreaterThanOrEqual(lane.opensAt)
})

test('while one has been refused the others of its class wait for it, and do not ask', async () => {
  const gates = createClaimGates()
  const lane = laneThatOpensIn(60)
  const first = gates.claim(LANE, 'transactional', FAST, lane.ask)
  // The refusal is here after the turn.
  await new Promise(setImmediate)
  const begun: number[] = []
  const others = Array.from({ length: 20 }, (_, n) =>
    gates.claim(LANE, 'transactional', FAST, (pace) => {
      begun.push(n)
      return lane.ask(pace)
    }),
  )
  await Promise.all([first, ...others])
  // Each once, and the first twice; the order is kept.
  expect(begun).toEqual(Array.from({ length: 20 }, (_, n) => n))
  expect(lane.asked()).toBe(22)
})

test('another class and another lane do not wait', async () => {
  const gates = createClaimGates()
  const closed = laneThatOpensIn(60)
  const waiting = gates.claim(LANE, 'campaign', FAST, closed.ask)
  await new Promise(setImmediate)
  const askedAt = performance.now()
  for (const [lane, of] of [
    [LANE, 'transactional'],
    [LANE + 1, 'campaign'],
  ] as const) {
    expect((await gates.claim(lane, of, FAST, async () => claimed)).claimed).toEqual(claimed)
  }
  expect(performance.now() - askedAt).toBeLessThan(30)
  await waiting
})

test('one that would wait for longer than the pace allows goes back, and so do those behind it', async () => {
  const gates = createClaimGates()
  const short: Pace = { ...FAST, heldMs: 30 }
  // Opens often enough for the first to ask again, and never has a slot.
  const never = async (pace: Pace): Promise<ClaimResult> => tooEarly(pace, 1)
  const all = await Promise.all(Array.from({ length: 100 }, () => gates.claim(LANE, 'transactional', short, never)))
  expect(new Set(all.map(({ claimed: { verdict } }) => verdict))).toEqual(new Set(['too_early']))
  for (const { claimed: answer } of all) {
    // BullMQ takes whole milliseconds.
    expect('waitMs' in answer && Number.isInteger(answer.waitMs)).toBe(true)
  }
})

test('a message of a slow lane goes back at once', async () => {
  const lane = laneThatOpensIn(20)
  const { claimed: answer } = await createClaimGates().claim(LANE, 'transactional', SLOW, lane.ask)
  expect(answer.verdict).toBe('too_early')
  expect(lane.asked()).toBe(1)
})

test('claims are further ahead the longer Redis takes to answer', async () => {
  const gates = createClaimGates()
  const asked: number[] = []
  for (let n = 0; n < 3; n += 1) {
    await gates.claim(LANE, 'campaign', FAST, async (pace) => {
      asked.push(pace.aheadUs.campaign)
      // As Redis while a disk is slow.
      const until = performance.now() + 20
      while (performance.now() < until);
      return claimed
    })
  }
  expect(asked[0]).toBe(FAST.aheadUs.campaign)
  expect(asked[1]).toBeGreaterThan(FAST.aheadUs.campaign)
  expect(asked[2]).toBeGreaterThan(asked[1] ?? 0)
})

test('rejects when the claim does, and lets the next one pass', async () => {
  const gates = createClaimGates()
  const away = new Error('Redis is away')
  await expect(gates.claim(LANE, 'transactional', FAST, () => Promise.reject(away))).rejects.toBe(away)
  expect((await gates.claim(LANE, 'transactional', FAST, async () => claimed)).claimed).toEqual(claimed)
})
