// Pins: who holds bytes for longest makes room, what is kept does not, and what is released counts no more; large bodies
// are worked on a few at a time.
import { expect, test } from 'vitest'
import { createHeldBytes } from '../../src/producer/held-bytes.ts'
import { createTurns } from '../../src/producer/turns.ts'

test('beyond the ceiling the oldest is let go, and only as many as it takes', () => {
  const held = createHeldBytes(100)
  const gone: string[] = []
  const [a, b, c] = ['a', 'b', 'c'].map((name) => held.hold(() => void gone.push(name)))
  a?.add(40)
  b?.add(40)
  c?.add(20)
  expect(gone).toEqual([])
  c?.add(10)
  expect(gone).toEqual(['a'])
  expect(held.held()).toBe(70)
  // It has been let go already.
  a?.add(1_000)
  expect(held.held()).toBe(70)
})

test('what is kept is passed over; with nothing else left, the one that asks for more is let go', () => {
  const held = createHeldBytes(100)
  const gone: string[] = []
  const kept = held.hold(() => void gone.push('kept'))
  kept.add(80)
  kept.keep()
  const other = held.hold(() => void gone.push('other'))
  other.add(30)
  expect(gone).toEqual(['other'])
  expect(held.held()).toBe(80)
  kept.release()
  kept.release()
  expect(held.held()).toBe(0)
})

test('work begins in the order in which it came, so many at a time; what nobody waits for is left', async () => {
  const turns = createTurns(2)
  const begun: number[] = []
  const ends: (() => void)[] = []
  const work = (n: number) => () => {
    begun.push(n)
    return new Promise<number>((resolve) => ends.push(() => resolve(n)))
  }
  const all = [1, 2, 3, 4].map((n) => turns.run(work(n), () => n !== 3))
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

test('work that fails makes room like any other', async () => {
  const turns = createTurns(1)
  const failing = turns.run(
    () => Promise.reject(new Error('no')),
    () => true,
  )
  await expect(failing).rejects.toThrow('no')
  expect(
    await turns.run(
      async () => 5,
      () => true,
    ),
  ).toBe(5)
})
