// Pins: when a sent message is polled, and how many polls a lane makes.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FIRST_POLL_MS, nextPollMs, POLL_FOR_MS, pollPace } from '../../src/model/messages/poll-schedule.ts'

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
