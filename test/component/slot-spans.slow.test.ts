// Pins: whatever stalls, the slots of a lane keep every second and every ten within their bounds, and what a stall cost
// is made up for. Half a minute of claims is played in one go, on a clock of the test's. Real: Redis and the script of the
// slots.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type Pace, paceOf } from '../../src/model/messages/pace.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { paceScript } from '../support/state/lanes.ts'

const script = paceScript()

/**
 * Claims at every one of the times, for as long as slots are to be had within the time that they may be ahead. The slots
 * of some are missed: each of them is given back and another one is reserved, a moment later. Returns those that are used.
 */
const PLAY = `
local pace = { gapUs = tonumber(ARGV[1]), closestUs = tonumber(ARGV[2]), window = tonumber(ARGV[3]), aloneUs = 3000000 }
local aheadUs, lateUs, missedOneIn = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
redis.call('DEL', KEYS[1])
local used, missed, count = {}, {}, 0
local function take(slots, nowUs)
  local slot = slots.next()
  if slot - nowUs > aheadUs then return false end
  local name = slots.reserve(slot)
  count = count + 1
  if missedOneIn > 0 and count % missedOneIn == 0 then missed[#missed + 1] = name else used[#used + 1] = name end
  return true
end
for i = 7, #ARGV do
  local nowUs = tonumber(ARGV[i])
  local again = missed
  missed = {}
  for _, name in ipairs(again) do
    if tonumber(name) + lateUs < nowUs then
      redis.call('LREM', KEYS[1], 1, name)
      local slots = openSlots(KEYS[1], nowUs, pace, 1)
      used[#used + 1] = slots.reserve(slots.next())
      slots.write()
    else
      missed[#missed + 1] = name
    end
  end
  -- Some claims go alone, others many in one step.
  local slots = openSlots(KEYS[1], nowUs, pace, 3)
  while take(slots, nowUs) do
    if count % 3 == 0 then
      slots.write()
      slots = openSlots(KEYS[1], nowUs, pace, 3)
    end
  end
  slots.write()
end
return used
`

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

/** Epoch-like, so that numbers are as long as they are in life. */
const BEGIN_MS = 1_795_000_000_000
const PLAYED_MS = 30_000

interface Stall {
  atMs: number
  forMs: number
}

/** The slots (ms since the beginning) of half a minute in which nobody claims during the stalls. */
async function slotsOf(pace: Pace, stalls: readonly Stall[], missedOneIn = 0): Promise<number[]> {
  const times: string[] = []
  for (let ms = 0; ms < PLAYED_MS; ms += 20) {
    if (stalls.some(({ atMs, forMs }) => ms >= atMs && ms < atMs + forMs)) continue
    times.push(String((BEGIN_MS + ms) * 1_000))
  }
  const numbers = [
    pace.gapUs,
    pace.closestUs,
    pace.window,
    pace.aheadUs.transactional,
    pace.lateMs * 1_000,
    missedOneIn,
  ]
  const used = z
    .array(z.coerce.number())
    .parse(await redis.eval(script + PLAY, 1, 'slots', ...numbers.map(String), ...times))
  return used.map((us) => us / 1_000 - BEGIN_MS).sort((a, b) => a - b)
}

/** The most requests that can leave within any span of so many ms: the first as late as it may, the last in its slot. */
function mostWithin(slots: readonly number[], spanMs: number, lateMs: number): number {
  let most = 0
  let from = 0
  for (const [at, slot] of slots.entries()) {
    while ((slots[from] ?? slot) <= slot - spanMs - lateMs) from += 1
    most = Math.max(most, at - from + 1)
  }
  return most
}

const stalls = fc.array(
  fc.record({ atMs: fc.integer({ min: 0, max: PLAYED_MS }), forMs: fc.integer({ min: 1, max: 3_000 }) }),
  { maxLength: 12 },
)
const missing = fc.constantFrom(0, 2, 7, 50)

test.each([
  [4, 4],
  [10, 11],
  [25, 28],
  [80, 88],
])('a lane of %i a second keeps its rate over ten seconds, and sends at most %i in one', async (rate, most) => {
  const pace = paceOf(rate)
  await fc.assert(
    fc.asyncProperty(stalls, missing, async (pauses, missedOneIn) => {
      const slots = await slotsOf(pace, pauses, missedOneIn)
      expect(mostWithin(slots, 10_000, pace.lateMs)).toBeLessThanOrEqual(10 * rate)
      expect(mostWithin(slots, 1_000, pace.lateMs)).toBeLessThanOrEqual(most)
      // In time, as they are on a machine that does not stall, they are closer to even.
      expect(mostWithin(slots, 1_000, 5)).toBeLessThanOrEqual(Math.max(rate + 1, rate * 1.05))
    }),
    { numRuns: 10 },
  )
})

test('a lane of 1,000 a second keeps its rate in the same way', async () => {
  const pace = paceOf(1_000)
  const slots = await slotsOf(
    pace,
    [
      { atMs: 8_000, forMs: 2_000 },
      { atMs: 20_000, forMs: 300 },
    ],
    50,
  )
  expect(mostWithin(slots, 10_000, pace.lateMs)).toBeLessThanOrEqual(10_000)
  expect(mostWithin(slots, 1_000, pace.lateMs)).toBeLessThanOrEqual(1_050)
})

test.each([10, 80, 1_000])(
  'a lane of %i a second loses nothing over stalls of a fifth of a second, two in ten seconds',
  async (rate) => {
    const short = Array.from({ length: 6 }, (_, n) => ({ atMs: 2_500 + n * 5_000, forMs: 200 }))
    const slots = await slotsOf(paceOf(rate), short)
    expect(slots.length / 30).toBeGreaterThan(0.985 * rate)
  },
)

test('a lane without stalls has evenly spaced slots', async () => {
  const gapMs = paceOf(80).gapUs / 1_000
  // Slots are whole microseconds, and a window of them is exact.
  const roundingMs = 0.25
  const slots = await slotsOf(paceOf(80), [])
  const gaps = slots.slice(1).map((slot, n) => slot - (slots[n] ?? 0))
  expect(Math.max(...gaps)).toBeLessThan(gapMs + roundingMs)
  expect(Math.min(...gaps)).toBeGreaterThan(gapMs - roundingMs)
})
