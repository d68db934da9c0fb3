// Pins: BullMQ keeps things where src/lanes/bullmq/layout.ts says, and does with them what Laneway relies on when it
// reads or writes them behind BullMQ's back. What fails here after an update of BullMQ must be looked at before it is
// shipped: a script of ours would read what is not there any more.
import { Job, Worker } from 'bullmq'
import { expect, test } from 'vitest'
import {
  delayedUntil,
  INTAKE_PREFIX,
  intakeKeys,
  JOB,
  laneBacklogKeys,
  laneCounterKey,
  laneDeadLettersKey,
  laneJobKey,
  laneMetaKey,
  laneQueue,
  sharedDelayedKey,
  sharedWaitingKey,
} from '../../src/lanes/bullmq/layout.ts'
import { LAST_PRIORITY, openBullQueue, openQueue } from '../../src/lanes/bullmq/open-queue.ts'
import { unrecoverable } from '../../src/lanes/bullmq/worker.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { lanePrefix, sharedQueuePrefix } from '../../src/redis/keys.ts'
import { withOwnRedis } from '../support/own-redis.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

const PRIORITY = 1
let lanes = 0

/** Checks a lane of its own with its BullMQ queue and a Worker that runs nothing by itself. */
async function withLane(
  check: (lane: number, queue: ReturnType<typeof openBullQueue>, worker: Worker) => Promise<void>,
): Promise<void> {
  lanes += 1
  const [name, prefix] = [laneQueue(lanes), lanePrefix(lanes)]
  const queue = openBullQueue(redis, name, prefix)
  const worker = new Worker(name, null, { connection: redis, prefix })
  try {
    await check(lanes, queue, worker)
  } finally {
    await worker.close(true)
    await queue.close()
  }
}

const nextOf = async (worker: Worker): Promise<string | undefined> => (await worker.getNextJob('token'))?.id

test('waiting jobs are in a list, the next one last, and prioritized ones after them in the order they came', () =>
  withLane(async (lane, queue, worker) => {
    const { waiting, prioritized, active } = laneBacklogKeys(lane)
    for (const jobId of ['p1', 'p2']) await queue.add('send', {}, { jobId, priority: PRIORITY })
    for (const jobId of ['w1', 'w2']) await queue.add('send', {}, { jobId })
    expect(await redis.lrange(waiting, 0, '-1')).toEqual(['w2', 'w1'])
    expect(await redis.zrange(prioritized, '0', '-1')).toEqual(['p1', 'p2'])
    // Above the score of every job of this priority there is room for what is moved behind them all.
    const scores = (await redis.zrange(prioritized, '0', '-1', 'WITHSCORES')).filter((_each, i) => i % 2 === 1)
    for (const score of scores) {
      expect(Number(score)).toBeGreaterThanOrEqual(PRIORITY * 2 ** 32)
      expect(Number(score)).toBeLessThan((PRIORITY + 1) * 2 ** 32)
    }
    expect([await nextOf(worker), await nextOf(worker), await nextOf(worker)]).toEqual(['w1', 'w2', 'p1'])
    expect(await redis.lrange(active, 0, '-1')).toEqual(['p1', 'w2', 'w1'])
  }))

test('jobs can have every priority up to the highest number', () =>
  withLane(async (_lane, queue) => {
    await queue.add('send', {}, { jobId: 'last', priority: LAST_PRIORITY })
    await expect(queue.add('send', {}, { priority: LAST_PRIORITY + 1 })).rejects.toThrow('Priority')
  }))

test('jobs that the next check takes from a dead worker are in a set of their own', async () => {
  const name = '{stalled-layout}'
  const queue = openQueue(redis, name, INTAKE_PREFIX)
  const worker = new Worker(name, null, { connection: redis, prefix: INTAKE_PREFIX })
  try {
    await redis.lpush(intakeKeys(name).active, 'left')
    await worker.backend.moveStalledJobsToWait()
    expect(await redis.smembers(intakeKeys(name).stalled)).toEqual(['left'])
  } finally {
    await worker.close(true)
    await queue.close()
  }
})

test('the counter of prioritized jobs is where it is expected', () =>
  withLane(async (lane, queue, worker) => {
    const counter = laneCounterKey(lane)
    await queue.add('send', {}, { jobId: 'p1', priority: PRIORITY })
    expect(await redis.get(counter)).toBe('1')
    await nextOf(worker)
    // Nothing is prioritized any more: the next one counts from the beginning.
    await nextOf(worker)
    expect(await redis.exists(counter)).toBe(0)
  }))

test('a job removed from its list together with its hash is as if it had never been added', () =>
  withLane(async (lane, queue, worker) => {
    const { waiting, prioritized } = laneBacklogKeys(lane)
    for (const jobId of ['p1', 'p2']) await queue.add('send', {}, { jobId, priority: PRIORITY })
    for (const jobId of ['w1', 'w2']) await queue.add('send', {}, { jobId })
    await redis.lrem(waiting, -1, 'w1')
    await redis.zrem(prioritized, 'p1')
    await redis.del(laneJobKey(lane, 'w1'), laneJobKey(lane, 'p1'))
    expect([await nextOf(worker), await nextOf(worker), await nextOf(worker)]).toEqual(['w2', 'p2', undefined])
    await queue.add('send', {}, { jobId: 'w1' })
    expect(await nextOf(worker)).toBe('w1')
  }))

test('a job is a hash with its name and its data as JSON, and adding its id again does not change it', () =>
  withLane(async (lane, queue) => {
    await queue.add('send', { a: 1 }, { jobId: 'one' })
    await queue.add('send', { a: 2 }, { jobId: 'one' })
    const key = laneJobKey(lane, 'one')
    expect(await redis.hmget(key, JOB.name, JOB.data)).toEqual(['send', '{"a":1}'])
    expect(await redis.hmget(key, JOB.failedReason, JOB.finishedOn)).toEqual([null, null])
    expect(await redis.llen(laneBacklogKeys(lane).waiting)).toBe(1)
  }))

test('a delayed job is stored under the time when it is due', () =>
  withLane(async (lane, queue) => {
    const before = Date.now()
    await queue.add('send', {}, { jobId: 'later', delay: 60_000 })
    const score = (await redis.zscore(laneBacklogKeys(lane).delayed, 'later')) ?? ''
    expect(delayedUntil(score)).toBeGreaterThanOrEqual(before + 60_000)
    expect(delayedUntil(score)).toBeLessThan(Date.now() + 60_001)
  }))

test('only a job that failed for good has a reason, and it is in the failed set under the time of its failure', () =>
  withLane(async (lane, queue, worker) => {
    const before = Date.now()
    await queue.add('send', {}, { jobId: 'dead' })
    await queue.add('send', {}, { jobId: 'fine' })
    await (await worker.getNextJob('token'))?.moveToFailed(unrecoverable('it cannot be read'), 'token', false)
    await (await worker.getNextJob('token'))?.moveToCompleted({ ok: true }, 'token', false)
    expect(await redis.hget(laneJobKey(lane, 'dead'), JOB.failedReason)).toBe('it cannot be read')
    expect(await redis.hget(laneJobKey(lane, 'fine'), JOB.failedReason)).toBeNull()
    expect(Number(await redis.hget(laneJobKey(lane, 'fine'), JOB.finishedOn))).toBeGreaterThanOrEqual(before)
    expect(await redis.zrange(laneDeadLettersKey(lane), '0', '-1')).toEqual(['dead'])
    expect(Number(await redis.zscore(laneDeadLettersKey(lane), 'dead'))).toBeGreaterThanOrEqual(before)
    // What is retried waits again and has no reason any more.
    await (await Job.fromId(queue, 'dead'))?.retry('failed')
    expect(await redis.hget(laneJobKey(lane, 'dead'), JOB.failedReason)).toBeNull()
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['dead'])
  }))

test('a paused queue is marked in its hash, and its jobs stay in their list', () =>
  withLane(async (lane, queue, worker) => {
    await queue.add('send', {}, { jobId: 'one' })
    expect(await redis.hexists(laneMetaKey(lane), 'paused')).toBe(0)
    await queue.pause()
    expect(await redis.hexists(laneMetaKey(lane), 'paused')).toBe(1)
    expect(await nextOf(worker)).toBeUndefined()
    expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual(['one'])
    await queue.resume()
    expect(await redis.hexists(laneMetaKey(lane), 'paused')).toBe(0)
    expect(await nextOf(worker)).toBe('one')
  }))

test('a queue that is no lane has its waiting and delayed jobs under the same names as a lane', async () => {
  const queue = openQueue(redis, 'shared', sharedQueuePrefix('shared'))
  await queue.add('job', {}, { jobId: 'w1' })
  await queue.add('job', {}, { jobId: 'd1', delay: 60_000 })
  expect(await redis.lrange(sharedWaitingKey('shared'), 0, '-1')).toEqual(['w1'])
  expect(await redis.zrange(sharedDelayedKey('shared'), '0', '-1')).toEqual(['d1'])
  await queue.close()
})

test('a delay counts from the timestamp given with the job', () =>
  withLane(async (lane, queue) => {
    const timestamp = Date.now() - 3_600_000
    await queue.add('send', {}, { jobId: 'late', timestamp, delay: Date.now() - timestamp + 60_000 })
    const score = await redis.zscore(laneBacklogKeys(lane).delayed, 'late')
    expect(Math.abs(delayedUntil(score ?? '') - Date.now() - 60_000)).toBeLessThan(30_000)
  }))

test('a queue has no lists other than those that Laneway reads', () =>
  withLane(async (lane, queue, worker) => {
    await queue.add('send', {}, { jobId: 'p1', priority: PRIORITY })
    await queue.add('send', {}, { jobId: 'd1', delay: 60_000 })
    await queue.add('send', {}, { jobId: 'w1' })
    await queue.pause()
    await queue.add('send', {}, { jobId: 'w2' })
    await queue.resume()
    await (await worker.getNextJob('token'))?.moveToFailed(unrecoverable('no'), 'token', false)
    await nextOf(worker)
    const own = laneJobKey(lane, '')
    const names = (await redis.keys(`${lanePrefix(lane)}*`)).map((key) => key.replace(own, '')).sort()
    const jobs = ['d1', 'p1', 'w1', 'w2', 'w2:lock']
    expect(names.filter((name) => !jobs.includes(name))).toEqual(
      expect.arrayContaining(['active', 'delayed', 'events', 'failed', 'meta', 'prioritized']),
    )
    const known = ['active', 'delayed', 'events', 'failed', 'id', 'marker', 'meta', 'pc', 'prioritized', 'wait']
    expect(names.filter((name) => !jobs.includes(name) && !known.includes(name))).toEqual([])
  }))
