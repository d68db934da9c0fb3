import { Cluster, Redis as Single } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { cached } from '../../src/redis/cached.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { RedisUnavailableError } from '../../src/redis/errors.ts'

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

test('an answer is kept for its time and read again afterwards', async () => {
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

test('a missing value is not kept, so that it is found as soon as it is made', async () => {
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

describe('while Redis is away, a value read before', () => {
  const away = () => new RedisUnavailableError('away')
  /** Reads once, and fails with `error` when that has become too old. */
  async function readThenFail(redis: Redis, error: Error): Promise<string | undefined> {
    let fails = false
    const known = cached(1_000, async () => {
      if (fails) throw error
      return 'known'
    })
    await known(redis)
    fails = true
    vi.advanceTimersByTime(1_001)
    return known(redis)
  }

  test('is still valid on a cluster, where only one server may be away', async () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
    expect(await readThenFail(cluster, away())).toBe('known')
    await expect(readThenFail(cluster, new Error('broken'))).rejects.toThrow('broken')
    const known = cached(1_000, () => Promise.reject(away()))
    await expect(known(cluster)).rejects.toThrow('away')
  })

  test('is no longer valid on a single server', async () => {
    await expect(readThenFail(here, away())).rejects.toThrow('away')
  })
})

test('simultaneous reads of the same value are one read', async () => {
  const { known, reads } = counted({ a: 'x' })
  await Promise.all(Array.from({ length: 50 }, () => known(here, 'a', '')))
  expect(reads()).toBe(1)
})

test('other arguments and other connections have their own answers', async () => {
  const { known, reads } = counted({ a: 'x', 'a","b': 'y' })
  expect(await known(here, 'a', 'b')).toBe('xb')
  expect(await known(here, 'a","b', '')).toBe('y')
  expect(await known(there, 'a', 'b')).toBe('xb')
  expect(reads()).toBe(3)
})

test('at most ten thousand answers are kept; the oldest is dropped first', async () => {
  const { known, reads } = counted(Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 'x'])))
  for (let i = 0; i <= 10_000; i += 1) await known(here, `k${i}`, '')
  await known(here, 'k10000', '')
  expect(reads()).toBe(10_001)
  await known(here, 'k0', '')
  expect(reads()).toBe(10_002)
})
