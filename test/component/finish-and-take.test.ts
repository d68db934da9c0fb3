// Jobs of a lane that are finished together leave behind what BullMQ itself leaves, and the next ones are taken as BullMQ
// takes them: in its order, under its locks, within its limits. What is not plain is left to BullMQ.
import { Worker } from 'bullmq'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finishAndTake } from '../../src/lanes/finish-and-take.ts'
import {
  laneBacklogKeys,
  laneJobKey,
  laneJobLockKey,
  laneLimiterKey,
  laneQueue,
  laneTakeKeys,
} from '../../src/redis/bullmq-layout.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { lanePrefix } from '../../src/redis/keys.ts'
import { openQueue } from '../../src/redis/open-queue.ts'
import { openWorker } from '../../src/worker/bullmq.ts'
import { finishTogether } from '../../src/worker/finish-together.ts'
import { withLaneByHand } from '../support/lane-by-hand.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { eventually } from '../support/wait.ts'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

const LOCK_MS = 10_000
let lanes = 0

/** A lane of its own. */
function withLane(check: Parameters<typeof withLaneByHand>[3]): Promise<void> {
  lanes += 1
  return withLaneByHand(redis, lanes, { lockDuration: LOCK_MS, removeOnComplete: { count: 0 } }, check)
}

const finish = (lane: number, id: string, token = 'token', takes = true) =>
  finishAndTake(redis, { lane, id, token, takes, lockMs: LOCK_MS })

/** Everything that Redis has of a lane but its events and what tells when it last checked. */
async function kept(lane: number): Promise<Record<string, unknown>> {
  const own = laneJobKey(lane, '')
  const all: Record<string, unknown> = {}
  for (const key of (await redis.keys(`${own}*`)).sort()) {
    const name = key.slice(own.length)
    if (name === 'events' || name === 'stalled-check') continue
    const type = await redis.type(key)
    if (type === 'string') all[name] = name === 'limiter' ? await redis.get(key) : type
    else if (type === 'list') all[name] = await redis.lrange(key, 0, '-1')
    else if (type === 'zset') all[name] = await redis.zrange(key, '0', '-1')
    else if (type === 'set') all[name] = await redis.smembers(key)
    else all[name] = (await redis.hkeys(key)).filter((field) => field !== 'ats').sort()
  }
  return all
}

test('a lane is left as BullMQ leaves it: what was finished is gone, the next one is active and locked', () =>
  withLane(async (lane, queue, worker) => {
    await withLane(async (twin, twinQueue, twinWorker) => {
      for (const each of [queue, twinQueue]) {
        await each.setGlobalRateLimit(100, 60_000)
        for (const jobId of ['w1', 'w2', 'w3']) await each.add('send', { to: jobId }, { jobId, timestamp: 1_000 })
        await each.add('send', {}, { jobId: 'p1', priority: 1 })
      }
      await worker.getNextJob('token')
      const first = await twinWorker.getNextJob('token')
      const { isLost, next } = await finish(lane, 'w1')
      await first?.moveToCompleted('', 'token', true)
      expect(isLost).toBe(false)
      expect(next).toEqual({
        kind: 'job',
        job: { id: 'w2', name: 'send', data: '{"to":"w2"}', addedAt: 1_000, crashes: 0 },
      })
      expect(await kept(lane)).toEqual(await kept(twin))
      expect(await redis.get(laneJobLockKey(lane, 'w2'))).toBe('token')
      expect(await redis.pttl(laneJobLockKey(lane, 'w2'))).toBeGreaterThan(LOCK_MS - 5_000)
      expect(await redis.pttl(laneLimiterKey(lane))).toBeGreaterThan(50_000)
    })
  }))

test('what ends in one turn takes the next ones in their order: those that wait, then the prioritized ones', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['a', 'b', 'c']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2', 't3']) await worker.getNextJob(token)
    for (const jobId of ['p1', 'p2']) await queue.add('send', {}, { jobId, priority: 1 })
    await queue.add('send', {}, { jobId: 'w1' })
    const ends = await Promise.all([finish(lane, 'a', 't1'), finish(lane, 'b', 't2'), finish(lane, 'c', 't3')])
    expect(ends.map(({ next }) => (next.kind === 'job' ? next.job.id : next.kind))).toEqual(['w1', 'p1', 'p2'])
    expect(await redis.lrange(laneBacklogKeys(lane).active, 0, '-1')).toEqual(['p2', 'p1', 'w1'])
    expect(await redis.get(laneJobLockKey(lane, 'p1'))).toBe('t2')
    // Each has a lock of its own, and the other two of this turn are not held up by one that takes nothing.
    expect((await finish(lane, 'p1', 't2', false)).next).toEqual({ kind: 'none', dueInMs: 0 })
    expect(await kept(lane)).not.toHaveProperty('prioritized')
  }))

test('a job whose lock is gone or of another is lost, and stays as it is', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
    await worker.getNextJob('token')
    await worker.getNextJob('other')
    await redis.del(laneJobLockKey(lane, 'one'))
    const ends = await Promise.all([finish(lane, 'one'), finish(lane, 'two', 'token')])
    expect(ends.map(({ isLost }) => isLost)).toEqual([true, true])
    expect(await redis.exists(laneJobKey(lane, 'one'), laneJobKey(lane, 'two'))).toBe(2)
    expect(await redis.lrange(laneBacklogKeys(lane).active, 0, '-1')).toEqual(['two', 'one'])
    expect(await redis.get(laneJobLockKey(lane, 'two'))).toBe('other')
  }))

test('for a job that is lost no other one is taken: nobody would work on it until its lock runs out', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['lost', 'held']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2']) await worker.getNextJob(token)
    for (const jobId of ['next', 'last']) await queue.add('send', {}, { jobId })
    await redis.del(laneJobLockKey(lane, 'lost'))
    const ends = await Promise.all([finish(lane, 'lost', 't1'), finish(lane, 'held', 't2')])
    expect(ends.map(({ isLost }) => isLost)).toEqual([true, false])
    expect(ends[1]?.next).toMatchObject({ kind: 'job', job: { id: 'next' } })
    expect(await redis.get(laneJobLockKey(lane, 'next'))).toBe('t2')
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['last'])
  }))

test('a job that is finished twice is lost the second time', () =>
  withLane(async (lane, queue, worker) => {
    await queue.add('send', {}, { jobId: 'one' })
    await worker.getNextJob('token')
    const ends = await Promise.all([finish(lane, 'one'), finish(lane, 'one')])
    expect(ends.map(({ isLost }) => isLost)).toEqual([false, true])
    expect((await finish(lane, 'one')).isLost).toBe(true)
  }))

test('a paused lane hands nothing out, but what was sent is finished', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
    await worker.getNextJob('token')
    await queue.pause()
    expect(await finish(lane, 'one')).toEqual({ isLost: false, next: { kind: 'none', dueInMs: 0 } })
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['two'])
    expect(await redis.exists(laneJobKey(lane, 'one'))).toBe(0)
  }))

test('no more are taken than the limit of the lane allows, and the others hear for how long', () =>
  withLane(async (lane, queue, worker) => {
    await queue.setGlobalRateLimit(4, 60_000)
    for (const jobId of ['a', 'b', 'c', 'd', 'e']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2', 't3']) await worker.getNextJob(token)
    const ends = await Promise.all([finish(lane, 'a', 't1'), finish(lane, 'b', 't2')])
    expect(ends[0]?.next).toMatchObject({ kind: 'job', job: { id: 'd' } })
    for (const next of [ends[1]?.next, (await finish(lane, 'c', 't3')).next]) {
      expect(next?.kind).toBe('limited')
      expect(next?.kind === 'limited' ? next.ms : 0).toBeGreaterThan(50_000)
    }
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['e'])
  }))

test('the first of a window begins it, and what is taken wakes those that wait', () =>
  withLane(async (lane, queue, worker) => {
    await queue.setGlobalRateLimit(4, 60_000)
    for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
    await worker.getNextJob('token')
    const { marker } = laneTakeKeys(lane)
    await redis.del(laneLimiterKey(lane), marker)
    expect((await finish(lane, 'one')).next.kind).toBe('job')
    expect(await redis.get(laneLimiterKey(lane))).toBe('1')
    expect(await redis.pttl(laneLimiterKey(lane))).toBeGreaterThan(50_000)
    expect(await redis.exists(marker)).toBe(1)
  }))

test('what is finished is not looked for as lost, and an empty lane counts its prioritized jobs from the beginning', () =>
  withLane(async (lane, queue, worker) => {
    const { stalled, counter } = laneTakeKeys(lane)
    await queue.add('send', {}, { jobId: 'one', priority: 1 })
    await worker.getNextJob('token')
    await worker.backend.moveStalledJobsToWait()
    expect(await redis.smembers(stalled)).toEqual(['one'])
    expect((await finish(lane, 'one')).next).toEqual({ kind: 'none', dueInMs: 0 })
    expect(await redis.exists(stalled, counter)).toBe(0)
  }))

test('a lane that is held by hand takes nothing more', () =>
  withLane(async (lane, queue, worker) => {
    await queue.setGlobalRateLimit(100, 60_000)
    for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
    await worker.getNextJob('token')
    await queue.rateLimit(30_000)
    expect((await finish(lane, 'one')).next.kind).toBe('limited')
  }))

test('an empty lane says in how long its next delayed job is due; one that is due is for BullMQ to put in its place', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2']) await worker.getNextJob(token)
    await queue.add('send', {}, { jobId: 'later', delay: 60_000 })
    const { next } = await finish(lane, 'one', 't1')
    expect(next.kind).toBe('none')
    const dueInMs = next.kind === 'none' ? next.dueInMs : 0
    expect(dueInMs).toBeGreaterThan(50_000)
    expect(dueInMs).toBeLessThanOrEqual(60_000)
    await redis.zadd(laneBacklogKeys(lane).delayed, (Date.now() - 1) * 4_096, 'later')
    expect((await finish(lane, 'two', 't2')).next).toEqual({ kind: 'other' })
    expect(await redis.zrange(laneBacklogKeys(lane).delayed, '0', '-1')).toEqual(['later'])
  }))

test('a job that is more than a payload stays in its place and is left to BullMQ; those before it are taken', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['a', 'b']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2']) await worker.getNextJob(token)
    await queue.add('send', {}, { jobId: 'plain' })
    await queue.add('send', {}, { jobId: 'single', deduplication: { id: 'once' } })
    const ends = await Promise.all([finish(lane, 'a', 't1'), finish(lane, 'b', 't2')])
    expect(ends[0]?.next).toMatchObject({ kind: 'job', job: { id: 'plain' } })
    expect(ends[1]?.next).toEqual({ kind: 'other' })
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['single'])
    expect((await worker.getNextJob('t2'))?.id).toBe('single')
  }))

test('a job that was left by a worker that died says how often that happened', () =>
  withLane(async (lane, queue, worker) => {
    for (const jobId of ['left', 'held']) await queue.add('send', {}, { jobId })
    for (const token of ['t1', 't2']) await worker.getNextJob(token)
    await redis.del(laneJobLockKey(lane, 'left'))
    // The first check marks what it looks at, and the second takes what has no lock by then.
    for (let check = 0; check < 2; check++) {
      await redis.del(laneJobKey(lane, 'stalled-check'))
      await worker.backend.moveStalledJobsToWait()
    }
    expect((await finish(lane, 'held', 't2')).next).toMatchObject({ kind: 'job', job: { id: 'left', crashes: 1 } })
  }))

test('the lock of a job that was taken so is kept for as long as it runs', async () => {
  lanes += 1
  const lane = lanes
  const lockMs = 1_000
  const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
  for (const jobId of ['one', 'two']) await queue.add('send', {}, { jobId })
  let end = (): void => {}
  const running = new Promise<void>((resolve) => {
    end = resolve
  })
  const began: (string | undefined)[] = []
  const settings = { concurrency: 1, lockDuration: lockMs, removeOnComplete: { count: 0 } }
  const worker = openWorker(
    redis,
    { name: laneQueue(lane), prefix: lanePrefix(lane) },
    async ({ id }) => {
      began.push(id)
      if (id === 'two') await running
    },
    settings,
    () => {},
  )
  finishTogether(worker, redis, { lane, lockMs })
  try {
    await eventually(async () => began.length === 2, 'both have begun')
    const until = performance.now() + 3 * lockMs
    await eventually(async () => {
      expect(await redis.exists(laneJobLockKey(lane, 'two'))).toBe(1)
      return performance.now() > until
    }, 'three lives of a lock')
    expect(began).toEqual(['one', 'two'])
  } finally {
    end()
    await worker.close()
    await queue.close()
  }
})

test('a Worker that finishes its jobs together runs each of them once, the odd one as well', async () => {
  lanes += 1
  const lane = lanes
  const prefix = lanePrefix(lane)
  const queue = openQueue(redis, laneQueue(lane), prefix)
  const names = Array.from({ length: 200 }, (_, i) => `job-${i}`)
  await queue.addBulk(names.map((jobId) => ({ name: 'send', data: { jobId }, opts: { jobId } })))
  await queue.add('send', { jobId: 'odd' }, { jobId: 'odd', deduplication: { id: 'once' } })
  await queue.add('send', { jobId: 'soon' }, { jobId: 'soon', delay: 300 })
  const run: string[] = []
  const all = [...names, 'odd', 'soon']
  const worker = new Worker<{ jobId: string }>(laneQueue(lane), async ({ data }) => void run.push(data.jobId), {
    connection: redis,
    prefix,
    concurrency: 20,
    lockDuration: LOCK_MS,
    removeOnComplete: { count: 0 },
    autorun: false,
  })
  finishTogether(worker, redis, { lane, lockMs: LOCK_MS })
  const ran = new Promise<void>((done) => worker.on('completed', () => run.length === all.length && done()))
  void worker.run()
  await ran
  await worker.close()
  expect(run.toSorted()).toEqual(all.toSorted())
  expect(await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'completed', 'failed')).toEqual({
    ...{ wait: 0, active: 0, delayed: 0, prioritized: 0, completed: 0, failed: 0 },
  })
  await queue.close()
})

test('a job that was taken from a worker that still worked on it is run again, and is no dead letter', async () => {
  lanes += 1
  const lane = lanes
  const prefix = lanePrefix(lane)
  const queue = openQueue(redis, laneQueue(lane), prefix)
  await queue.add('send', {}, { jobId: 'one' })
  let runs = 0
  const worker = new Worker(
    laneQueue(lane),
    async () => {
      runs += 1
      if (runs > 1) return
      // As after a pause that was longer than its lock: it is the next one that waits when this run of it ends.
      await redis.del(laneJobLockKey(lane, 'one'))
      for (let check = 0; check < 2; check++) {
        await redis.del(laneJobKey(lane, 'stalled-check'))
        await worker.backend.moveStalledJobsToWait()
      }
      expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['one'])
    },
    {
      ...{ connection: redis, prefix, lockDuration: LOCK_MS, maxStalledCount: 10 },
      ...{ removeOnComplete: { count: 0 }, autorun: false },
    },
  )
  worker.on('error', () => {})
  finishTogether(worker, redis, { lane, lockMs: LOCK_MS })
  const ended = new Promise<string>((done) => {
    worker.on('completed', () => done('completed'))
    worker.on('failed', (_job, error) => done(error.message))
  })
  void worker.run()
  expect(await ended).toBe('completed')
  await worker.close()
  expect(runs).toBe(2)
  expect(await queue.getJobCounts('wait', 'active', 'failed')).toEqual({ wait: 0, active: 0, failed: 0 })
  await queue.close()
})
