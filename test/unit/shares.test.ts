// Pins: what a process has only so much of is shared: strangers give way to accounts down to a quarter, then the account
// that holds most gives up its oldest piece; what is kept stays, and what is released counts no more. Large bodies are
// worked on a few at a time.
import { expect, test } from 'vitest'
import { accountHolder, addressHolder, createFairShares } from '../../src/producer/overload/fair-shares.ts'
import { createSemaphore } from '../../src/producer/overload/semaphore.ts'

const ONE = accountHolder(1)
const TWO = accountHolder(2)

/** Pieces by name, and the names of those that were taken back. */
function pieces(most: number, mostOfOne?: number) {
  const shares = createFairShares(most, mostOfOne)
  const gone: string[] = []
  const take = (holder: Parameters<typeof shares.hold>[0], size: number, name = 'x', isBusy?: () => boolean) => {
    const share = shares.hold(holder, () => void gone.push(name), isBusy)
    share.add(size)
    return share
  }
  return { shares, gone, take }
}

test('when all is in use the account with most gives back its oldest piece, and only as much as needed', () => {
  const { shares, gone, take } = pieces(100)
  take(TWO, 10, 'old, but of an account that has little')
  const a = take(ONE, 30, 'a')
  take(ONE, 35, 'b')
  take(TWO, 25, 'c')
  expect(gone).toEqual([])
  take(TWO, 10, 'd')
  expect(gone).toEqual(['a'])
  expect(shares.held()).toBe(80)
  // It has been taken back already.
  a.add(1_000)
  expect(shares.held()).toBe(80)
})

test('holders without a key give way first, the address with most before others, down to a quarter', () => {
  const { gone, take } = pieces(100)
  take(addressHolder('192.0.2.1'), 10, 'few')
  for (let n = 0; n < 5; n += 1) take(addressHolder('192.0.2.2'), 5, `many ${n}`)
  for (let n = 0; n < 15; n += 1) take(ONE, 5, `one ${n}`)
  // 110 would be 10 too many; 25 are left to those without a key.
  expect(gone).toEqual(['many 0', 'many 1'])
  take(addressHolder('192.0.2.3'), 5, 'newcomer')
  expect(gone.slice(2)).toEqual(['many 2'])
  const { gone: later, take: more } = pieces(100)
  for (let n = 0; n < 15; n += 1) more(ONE, 5, `one ${n}`)
  for (let n = 0; n < 6; n += 1) more(addressHolder(`192.0.2.${n}`), 5, `stranger ${n}`)
  expect(later).toEqual(['stranger 0'])
  more(TWO, 5, 'two')
  expect(later.slice(1)).toEqual(['one 0'])
})

test('no account exceeds the maximum of one holder, nor do all strangers together', () => {
  const { gone, take } = pieces(100, 75)
  for (let n = 0; n < 4; n += 1) take(ONE, 25, `${n}`)
  expect(gone).toEqual(['0'])
  const { gone: strangers, take: more } = pieces(100, 75)
  for (let n = 0; n < 80; n += 1) more(addressHolder(`192.0.2.${n}`), 1, `${n}`)
  expect(strangers).toEqual(['0', '1', '2', '3', '4'])
})

test('an account that has as much as the largest one gets no room when all is in use', () => {
  const { shares, take } = pieces(4)
  for (const holder of [ONE, ONE, TWO, TWO]) take(holder, 1)
  expect([ONE, TWO].map(shares.hasRoomFor)).toEqual([false, false])
  expect(shares.hasRoomFor(accountHolder(3))).toBe(true)
})

test('a busy piece is taken back last, and a piece that changes hands is the youngest of its new holder', () => {
  const { gone, take } = pieces(4)
  take(ONE, 1, 'busy', () => true)
  const moved = take(addressHolder('192.0.2.1'), 1, 'moved')
  take(ONE, 1, 'idle')
  moved.moveTo(ONE)
  take(TWO, 1, 'two')
  take(TWO, 1, 'two')
  expect(gone).toEqual(['idle'])
  take(accountHolder(3), 1, 'three')
  expect(gone).toEqual(['idle', 'moved'])
})

test('a kept piece is skipped; with nothing else left, the holder that asks for more loses the new piece', () => {
  const { shares, gone, take } = pieces(100, 75)
  const kept = take(ONE, 70, 'kept')
  kept.keep()
  const other = take(TWO, 40, 'other')
  expect(gone).toEqual(['other'])
  other.release()
  expect(shares.held()).toBe(70)
  take(ONE, 10, 'more of the same')
  expect(gone).toEqual(['other', 'more of the same'])
  kept.release()
  kept.release()
  expect(shares.held()).toBe(0)
})

test('work starts in the order in which it came, a limited number at a time; work nobody waits for is dropped', async () => {
  const semaphore = createSemaphore(2)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const work = (n: number) => () => {
    begun.push(n)
    return new Promise<number>((resolve) => ends.push(() => resolve(n)))
  }
  const all = [1, 2, 3, 4].map((n) => semaphore.run(work(n), () => n !== 3))
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  expect(begun).toEqual([1, 2])
  ends[0]?.()
  expect(await all[0]).toBe(1)
  expect(await all[2]).toBeUndefined()
  while (ends.length < 3) await new Promise((resolve) => setImmediate(resolve))
  expect(begun).toEqual([1, 2, 4])
  for (const end of ends) end()
  expect(await Promise.all(all)).toEqual([1, 2, undefined, 4])
})

test('work that fails frees its room like any other', async () => {
  const semaphore = createSemaphore(1)
  const failing = semaphore.run(
    () => Promise.reject(new Error('no')),
    () => true,
  )
  await expect(failing).rejects.toThrow('no')
  expect(
    await semaphore.run(
      async () => 5,
      () => true,
    ),
  ).toBe(5)
})
