import { Redis as Single } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { cached } from '../../src/redis/cached.ts'
import type { Redis } from '../../src/redis/connect.ts'

// Connections that never connect: what is kept belongs to one of them.
const [here, there] = [new Single({ lazyConnect: true }), new Single({ lazyConnect: true })]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
  // For the cache a clock at 0 is no time.
  vi.advanceTimersByTime(1)
})
afterEach(() => {
  vi.useRealTimers()
})

/** A read that counts its calls and answers what `values` holds by then. */
function counted(values: Record<string, string | undefined>) {
  let reads = 0
  const read = async (_redis: Redis, name: string, suffix: string) => {
    reads += 1
    const value = values[name]
    if (value === 'broken') throw new Error('broken')
    return value === undefined ? undefined : value + suffix
  }
  return { known: cached(1_000, read), reads: () => reads }
}

test('an answer is kept for its time and read anew after it', async () => {
  const values = { a: 'old' }
  const { known, reads } = counted(values)
  expect(await known(here, 'a', '!')).toBe('old!')
  values.a = 'new'
  vi.advanceTimersByTime(999)
  expect(await known(here, 'a', '!')).toBe('old!')
  vi.advanceTimersByTime(2)
  expect(await known(here, 'a', '!')).toBe('new!')
  expect(reads()).toBe(2)
})

test('what is not there is not kept, so that it is found as soon as it is made', async () => {
  const values: Record<string, string | undefined> = {}
  const { known } = counted(values)
  expect(await known(here, 'a', '')).toBeUndefined()
  values.a = 'made'
  expect(await known(here, 'a', '')).toBe('made')
})

test('a failure is not kept', async () => {
  const values = { a: 'broken' }
  const { known } = counted(values)
  await expect(known(here, 'a', '')).rejects.toThrow('broken')
  values.a = 'mended'
  expect(await known(here, 'a', '')).toBe('mended')
})

test('reads of the same at the same time are one read', async () => {
  const { known, reads } = counted({ a: 'x' })
  await Promise.all(Array.from({ length: 50 }, () => known(here, 'a', '')))
  expect(reads()).toBe(1)
})

test('other arguments and other connections have answers of their own', async () => {
  const { known, reads } = counted({ a: 'x', 'a","b': 'y' })
  expect(await known(here, 'a', 'b')).toBe('xb')
  expect(await known(here, 'a","b', '')).toBe('y')
  expect(await known(there, 'a', 'b')).toBe('xb')
  expect(reads()).toBe(3)
})

test('never more than ten thousand answers are kept; the oldest goes first', async () => {
  const { known, reads } = counted(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 'x'])))
  for (let i = 0; i <= 10_000; i += 1) await known(here, `k${i}`, '')
  await known(here, 'k10000', '')
  expect(reads()).toBe(10_001)
  await known(here, 'k0', '')
  expect(reads()).toBe(10_002)
})
