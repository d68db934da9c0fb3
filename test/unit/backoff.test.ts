// Pins: how long anything waits before it is tried again.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { laneBackoffMs, messageBackoffMs } from '../../src/kernel/backoff.ts'

test('a lane waits twice as long for each failure in a row, up to 30 s, and never less than it was asked to', () => {
  expect([0, 1, 2, 4, 5, 50].map((failures) => laneBackoffMs(1_000, failures))).toEqual([
    1_000, 2_000, 4_000, 16_000, 30_000, 30_000,
  ])
  expect(laneBackoffMs(60_000, 0)).toBe(60_000)
  expect(laneBackoffMs(60_000, 9)).toBe(60_000)
})

test('a message waits longer for each try, up to 5 minutes and a quarter more', () => {
  expect([1, 2, 3, 8, 50].map((tries) => messageBackoffMs(tries, 0))).toEqual([2_000, 4_000, 8_000, 256_000, 300_000])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 100 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, spread) => {
      const [least, wait] = [messageBackoffMs(tries, 0), messageBackoffMs(tries, spread)]
      expect(wait).toBeGreaterThanOrEqual(least)
      expect(wait).toBeLessThanOrEqual(Math.ceil(least * 1.25))
      expect(Number.isInteger(wait)).toBe(true)
    }),
  )
})
<<<<<<< HEAD
=======

/** The ages at which a message is polled when each poll comes `lateMs` late. */
function pollAges(lateMs: number, deliveredAtMs = Number.POSITIVE_INFINITY): number[] {
  const ages: number[] = []
  for (let age = FIRST_POLL_MS + lateMs; age <= POLL_FOR_MS; ) {
    ages.push(age)
    age += nextPollMs(age, age >= deliveredAtMs ? age - deliveredAtMs : undefined) + lateMs
  }
  return ages
}

test('following a message costs at most 12 polls in its first hour and 36 in its day, the first after a second', () => {
  expect(FIRST_POLL_MS).toBe(1_000)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 60_000 }), (lateMs) => {
      const ages = pollAges(lateMs)
      expect(ages.filter((age) => age < 3_600_000).length).toBeLessThanOrEqual(12)
      expect(ages.length).toBeLessThanOrEqual(36)
    }),
  )
  expect(pollAges(0).length).toBeGreaterThan(30)
})

test('a delivered message costs at most 2 polls in any hour from then on', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000 }),
      fc.integer({ min: FIRST_POLL_MS, max: POLL_FOR_MS }),
      (lateMs, foundFrom) => {
        // It is known from the poll that finds it.
        const found = pollAges(lateMs).find((age) => age >= foundFrom)
        if (found === undefined) return
        const after = pollAges(lateMs, found).filter((age) => age > found)
        for (const [i, age] of after.entries()) {
          expect((after[i + 2] ?? Number.POSITIVE_INFINITY) - age).toBeGreaterThanOrEqual(3_600_000)
        }
      },
    ),
  )
  expect(pollAges(0, 1_000)[1]).toBe(61_000)
})

test('the polls of a lane are at most a quarter of its rate, in steps of 20 ms at most', () => {
  fc.assert(
    fc.property(fc.double({ min: 1 / 60, max: 100_000, noNaN: true }), (rate) => {
      const { spacingMs, inOneGo } = pollPace(rate)
      // In any second: as many steps as begin in it.
      const inASecond = Math.ceil(1_000 / (inOneGo * spacingMs)) * inOneGo
      expect(1_000 / spacingMs).toBeLessThanOrEqual(rate / 4)
      expect(inASecond).toBeLessThanOrEqual(Math.ceil(rate / 4))
      expect(inOneGo === 1 || inOneGo * spacingMs <= 20).toBe(true)
    }),
  )
})
>>>>>>> 2a91d59d (Say in plain verbs what the unit tests and the tests of servers hold)
