// Pins: when steps that may be late are taken: those of some lanes at the same moment, those of many lanes at several, and less
// often when there are many. Stood in for: Redis.
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBatcher } from '../../src/redis/batcher.ts'

const WAIT_MS = 80

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Asks for one step of each lane at once; resolves to when each was taken, and how many steps there were of it. */
async function takenAt(lanes: number, each = 1): Promise<{ at: Map<number, number>; steps: number }> {
  const redis = new Redis({ lazyConnect: true })
  const at = new Map<number, number>()
  let steps = 0
  const take = createBatcher<number>(async (_redis, items) => {
    steps += 1
    for (const lane of items) at.set(lane, performance.now())
    return items.map(() => true)
  }, WAIT_MS)
  const ask = (lane: number) => take(redis, lane, lane)
  // On a full round, so that no lane is due at once.
  await vi.advanceTimersByTimeAsync(WAIT_MS - (performance.now() % WAIT_MS))
  const askedAt = performance.now()
  const asked = Array.from({ length: lanes * each }, (_, n) => ask(n % lanes))
  await vi.advanceTimersByTimeAsync(10 * WAIT_MS)
  await Promise.all(asked)
  return { at: new Map([...at].map(([lane, ms]) => [lane, ms - askedAt])), steps }
}

test('requests for one lane within the wait are one step', async () => {
  expect((await takenAt(3, 5)).steps).toBe(3)
})

test('some forty lanes run at the same moment', async () => {
  const { at } = await takenAt(40)
  expect(new Set(at.values()).size).toBe(1)
})

test('of hundreds of lanes no more than a quarter run at the same moment', async () => {
  const { at } = await takenAt(320)
  const moments = new Map<number, number>()
  for (const ms of at.values()) moments.set(Math.round(ms), (moments.get(Math.round(ms)) ?? 0) + 1)
  expect(Math.max(...moments.values())).toBeLessThanOrEqual(80)
})

test.each([
  [64, 1],
  [136, 2],
  [200, 2],
  [1_000, 2],
])('with %i lanes the last of them runs within %i waits', async (lanes, waits) => {
  const last = Math.max(...(await takenAt(lanes)).at.values())
  expect(last).toBeGreaterThan((waits - 1) * WAIT_MS)
  expect(last).toBeLessThanOrEqual(waits * WAIT_MS)
})

test('a full step runs at once', async () => {
  const { at, steps } = await takenAt(1, 100)
  expect([at.get(0), steps]).toEqual([0, 1])
})

test('the error of one step rejects that one alone, and an error of all of them each', async () => {
  const redis = new Redis({ lazyConnect: true })
  const ask = createBatcher<number>(async (_redis, items) => {
    if (items.includes(0)) throw new Error('Redis is away')
    return items.map((item) => (item === 1 ? new Error('refused') : item))
  }, WAIT_MS)
  const ended = Promise.allSettled([ask(redis, 1, 1), ask(redis, 1, 2), ask(redis, 2, 0), ask(redis, 2, 3)])
  await vi.advanceTimersByTimeAsync(2 * WAIT_MS)
  const text = (await ended).map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason)))
  expect(text).toEqual(['Error: refused', 2, 'Error: Redis is away', 'Error: Redis is away'])
})
