// Pins: erasures of one account do not hold up those of another. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findErasure, newErasureId, openErasureQueue } from '../../src/erase/erasures.ts'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let queue: ReturnType<typeof openErasureQueue>
beforeAll(async () => {
  service = await startService({ worker: false })
  queue = openErasureQueue(service.redis)
})
afterAll(async () => {
  await queue?.close()
  await service?.close()
})

async function ask(account: number, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newErasureId(Date.now()))
  for (const [i, id] of ids.entries()) {
    await queue.start(id, { account, person: String(491_520_550_000 + i), nowMs: Date.now() })
  }
  return ids
}

/** The accounts of the erasures in the order in which they ended. */
async function ended(ids: readonly string[]): Promise<number[]> {
  const found = await eventually(async () => {
    const all = await Promise.all(ids.map((id) => findErasure(service.redis, id)))
    return all.every((each) => each?.state === 'done') ? all : undefined
  }, 'all are done')
  const places = new Map(ids.map((id, i) => [id, found[i]?.account ?? 0]))
  // BullMQ hears of the last one a moment later.
  const jobs = await eventually(async () => {
    const completed = (await queue.queue.getJobs(['completed'])).filter(({ id = '' }) => places.has(id))
    return completed.length === ids.length ? completed : undefined
  }, 'all of their jobs have ended')
  // Each is ended before the next begins.
  return jobs.sort((a, b) => (a.processedOn ?? 0) - (b.processedOn ?? 0)).flatMap(({ id = '' }) => places.get(id) ?? [])
}

test('an account that asks for many erasures does not delay another that asks for one later', async () => {
  const [busy, other] = await Promise.all([service.addTenant(), service.addTenant()])
  const many = await ask(busy.account, 30)
  const few = await ask(other.account, 2)
  await service.startWorker()
  const order = await ended([...many, ...few])
  expect(order).toHaveLength(32)
  expect(order.slice(0, 4).sort()).toEqual([busy, busy, other, other].map(({ account }) => account).sort())

  // In the middle of a long line too, and an account that had many before is not behind for ever.
  await service.stopWorker()
  const [late, again] = [await ask(other.account, 20), await ask(busy.account, 1)]
  await service.startWorker()
  const later = await ended([...late, ...again])
  expect(later.indexOf(busy.account)).toBeLessThan(3)
  expect(later.indexOf(busy.account)).toBeGreaterThanOrEqual(0)
})
