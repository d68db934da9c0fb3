// Pins: how the slots of a worker are shared among accounts.
import { expect, test } from 'vitest'
import { createShares } from '../../src/campaigns/account-shares.ts'

/** Lets an account ask for so many slots; returns how many it got. */
function ask(shares: ReturnType<typeof createShares>, account: number, count: number): number {
  return Array.from({ length: count }, (_, i) => shares.enter(account, `${account}-${i}`)).filter(Boolean).length
}

test('an account alone gets half of the slots, and each further one half of what is left', () => {
  const shares = createShares({ most: 16 })
  expect([1, 2, 3].map((account) => ask(shares, account, 100))).toEqual([8, 4, 2])
})

test('an account gets no more than its limit, however many are free', () => {
  expect(ask(createShares({ most: 20, mostEach: 2 }), 1, 5)).toBe(2)
})

test('a freed slot is reserved for an account that was refused, the one with the fewest slots first', () => {
  let now = 0
  const shares = createShares({ most: 2 }, () => now)
  expect(shares.enter(1, 'a')).toBe(true)
  expect(shares.enter(2, 'b')).toBe(true)
  expect([shares.enter(1, 'c'), shares.enter(3, 'd'), shares.enter(3, 'e')]).toEqual([false, false, false])
  expect(shares.isWanted()).toBe(true)
  expect(shares.leave(2)).toEqual(['d'])
  // It is not for the account that asks first.
  expect(shares.enter(4, 'f')).toBe(false)
  expect(shares.enter(3, 'd')).toBe(true)
  expect(shares.leave(3)).toEqual(['e'])
  // Nobody came for it in time.
  now = 2_001
  expect(shares.enter(5, 'g')).toBe(true)
})

test('all slots are free again once all are returned', () => {
  const shares = createShares({ most: 4 })
  expect(ask(shares, 1, 2)).toBe(2)
  expect([shares.leave(1), shares.leave(1)]).toEqual([[], []])
  expect(ask(shares, 2, 9)).toBe(2)
  expect(shares.patienceMs(2)).toBeGreaterThan(shares.patienceMs(1))
})
