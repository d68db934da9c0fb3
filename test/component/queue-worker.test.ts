// Pins: what Workers do in another way than BullMQ has them do it (src/lanes/bullmq/backend.ts), which an update of BullMQ could
// undo. Real: Redis, BullMQ. The machine's clock is off as in wrong-clock.test.ts.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openBullQueue } from '../../src/lanes/bullmq/open-queue.ts'
import { endOwn, openWorker, type Worker } from '../../src/lanes/bullmq/worker.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { replyError } from '../../src/redis/errors.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { besideJobsOf } from '../support/state/queues.ts'
import { eventually, gate } from '../support/wait.ts'

const HOUR = 3_600_000
const WAIT_MS = 300
/** No machine stands still for so long. */
const LOCK_MS = 600_000
/** What is due runs within this time, on a machine however busy. */
const SOON_MS = 60_000

let redis: Redis
withOwnRedis((own) => {
  redis = own
})
afterEach(() => {
  vi.restoreAllMocks()
})

const realNow = Date.now
function machineIsOff(ms: number): void {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + ms)
}

test('the tested BullMQ is the intended one', async () => {
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const queue = openBullQueue(redis, 'version', 'test')
  // npm run test:bullmq puts another in the place of the pinned one.
  const meant = process.env.LANEWAY_TEST_BULLMQ_VERSION ?? dependencies.bullmq
  await eventually(async () => (await queue.getVersion()) === `bullmq:${meant}`, `that it says it is ${meant}`, SOON_MS)
  await queue.close()
})

const idle = async (): Promise<void> => {}

let queues = 0
type Queue = ReturnType<typeof openBullQueue>
type Settings = (queue: Queue) => Partial<Parameters<typeof openWorker>[3]>

/** A queue of its own with a worker, which notes in `began` when each job began, by Redis. */
async function withWorker(
  { settings = () => ({}), waitMs }: { settings?: Settings; waitMs?: number },
  work: (name: string, run: number) => Promise<void>,
  check: (queue: Queue, worker: Worker, began: Map<string, number[]>) => Promise<void>,
): Promise<void> {
  queues += 1
  const [name, prefix] = [`{queue-${queues}}`, 'test']
  const queue = openBullQueue(redis, name, prefix)
  const began = new Map<string, number[]>()
  const worker = openWorker(
    redis,
    { name, prefix },
    async (job, token) => {
      const nowMs = await redisNowMs(redis)
      const runs = [...(began.get(job.name) ?? []), nowMs]
      began.set(job.name, runs)
      await work(job.name, runs.length)
      return endOwn(
        waitMs === undefined || runs.length > 1 ? { kind: 'done' } : { kind: 'waits', ms: waitMs },
        job,
        token,
      )
    },
    { concurrency: 1, lockDuration: LOCK_MS, ...settings(queue) },
    () => {},
  )
  try {
    await worker.waitUntilReady()
    await check(queue, worker, began)
  } finally {
    await worker.close()
    await queue.close()
  }
}

describe.each([
  ['an hour ahead', HOUR],
  ['an hour behind', -HOUR],
])('with a machine whose clock is %s', (_how, skew) => {
  test('a job is taken when it is due, by a worker that waits for it and by one that has just finished another', () =>
    withWorker({}, idle, async (queue, _worker, began) => {
      machineIsOff(skew)
      const dueAt = new Map<string, number>()
      for (const name of ['alone', 'after another']) {
        const timestamp = await redisNowMs(redis)
        await queue.add(name, {}, { delay: WAIT_MS, timestamp })
        dueAt.set(name, timestamp + WAIT_MS)
        if (name !== 'alone') await queue.add('another', {})
        const [at = 0] = await eventually(async () => began.get(name), 'its turn', 20_000)
        expect(at).toBeGreaterThanOrEqual(dueAt.get(name) ?? 0)
        expect(at).toBeLessThan((dueAt.get(name) ?? 0) + SOON_MS)
      }
    }))

  test('a job that is delayed again runs after its delay', () =>
    withWorker({ waitMs: WAIT_MS }, idle, async (queue, _worker, began) => {
      machineIsOff(skew)
      await queue.add('one', {})
      const runs = await eventually(
        async () => (began.get('one')?.length === 2 ? began.get('one') : undefined),
        'it',
        20_000,
      )
      const [first = 0, second = 0] = runs
      expect(second - first).toBeGreaterThanOrEqual(WAIT_MS)
      expect(second - first).toBeLessThan(WAIT_MS + SOON_MS)
    }))

  test('the end of a job is dated by Redis', () =>
    withWorker({}, idle, async (queue) => {
      machineIsOff(skew)
      const before = await redisNowMs(redis)
      await queue.add('one', {}, { jobId: 'one' })
      const ended = await eventually(async () => (await queue.getJob('one'))?.finishedOn, 'its end', 20_000)
      // The clock of Redis is asked for once a second, and goes on by another: behind it by the time that the answer took,
      // which a busy machine makes seconds, and never ahead.
      expect(ended).toBeGreaterThanOrEqual(before - SOON_MS)
      expect(ended).toBeLessThanOrEqual((await redisNowMs(redis)) + 50)
    }))
})

test('a clock set back while a job runs does not cost its worker the lock', async () => {
  const { open: end, opened: ended } = gate()
  // A lock lives for long, since the machine may stand still, and is renewed often all the same.
  const setIntervalOf = globalThis.setInterval
  vi.spyOn(globalThis, 'setInterval').mockImplementation(((work: () => void, ms?: number) =>
    setIntervalOf(work, ms === LOCK_MS / 4 ? 25 : ms)) as typeof setInterval)
  await withWorker(
    { settings: () => ({ concurrency: 2, stalledInterval: 250 }) },
    () => ended,
    async (queue, _worker, began) => {
      await queue.add('one', {}, { jobId: 'one' })
      await eventually(async () => began.has('one'), 'that it runs')
      machineIsOff(-HOUR)
      const lock = besideJobsOf(redis, queue).lockOf('one')
      for (const which of ['first', 'second']) {
        expect(await lock.expireIn(LOCK_MS / 2)).toBe(1)
        await eventually(async () => (await lock.livesMs()) > LOCK_MS / 2, `the ${which} renewal`)
      }
      end()
      expect(began.get('one')).toHaveLength(1)
    },
  )
})

test('a worker whose concurrency is lowered below what it runs goes on once that ends, one job at a time', async () => {
  let [running, together] = [0, 0]
  const { open: end, opened: ended } = gate()
  await withWorker(
    // Longer than this waits for anything: who sleeps for that with jobs waiting does not go on at once.
    { settings: () => ({ concurrency: 3, drainDelay: 3_600 }) },
    async () => {
      running += 1
      together = Math.max(together, running)
      await ended
      await redis.ping()
      running -= 1
    },
    async (queue, worker, began) => {
      for (let i = 0; i < 9; i += 1) await queue.add(`job ${i}`, {})
      await eventually(async () => began.size === 3, 'three in hand')
      // Another worker was woken by what would wake this one.
      await besideJobsOf(redis, queue).marker.remove()
      worker.concurrency = 1
      together = 0
      end()
      await eventually(async () => began.size === 9, 'that all were taken', SOON_MS)
      expect(together).toBe(1)
    },
  )
})

test.each([
  ['done', false],
  ['left out when that fails', true],
])('the check for lost jobs runs after its preparation, and is %s', async (_how, fails) => {
  const looksBefore: boolean[] = []
  const looks = (queue: Queue) => besideJobsOf(redis, queue).look.isThere()
  const settings: Settings = (queue) => ({
    stalledInterval: 60_000,
    beforeStalledCheck: async () => {
      looksBefore.push(await looks(queue))
      if (fails) throw new Error('not now')
    },
  })
  await withWorker({ settings }, idle, async (queue, _worker, began) => {
    await eventually(async () => looksBefore.length > 0, 'what comes before')
    if (!fails) await eventually(() => looks(queue), 'the look')
    // Whatever came after it has come by now.
    await queue.add('one', {})
    await eventually(async () => began.has('one'), 'its turn')
    expect({ looksBefore, looks: await looks(queue) }).toEqual({ looksBefore: [false], looks: !fails })
  })
})

describe.concurrent('a job that is disturbed by Redis is run again, and never kept as failed', () => {
  const refusal = replyError('MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.')

  /** Has Redis refuse what `trouble` does to the job of the first run; resolves to how often the job ran. */
  async function runs(
    trouble: (job: object) => Promise<{ kind: 'waits'; ms: number } | { kind: 'done' }>,
  ): Promise<number> {
    const name = `refused-${randomUUID()}`
    const queue = openBullQueue(redis, name, 'test')
    let count = 0
    const failed: unknown[] = []
    const worker = openWorker(
      redis,
      { name, prefix: 'test' },
      async (job, token) => {
        count += 1
        return endOwn(count === 1 ? await trouble(job) : { kind: 'done' }, job, token)
      },
      { concurrency: 1, lockDuration: LOCK_MS, stalledInterval: LOCK_MS },
      () => {},
    )
    worker.on('failed', (_job, error) => failed.push(error))
    await queue.add('x', {})
    await eventually(async () => (await queue.getJobCounts('completed')).completed === 1, 'it is done', SOON_MS)
    expect(await queue.getJobCounts('failed')).toEqual({ failed: 0 })
    expect(failed).toEqual([])
    await worker.close()
    await queue.close()
    return count
  }

  /** Makes the method of a job reject so many times. */
  function refuse(job: object, method: string, times: number): void {
    const real: unknown = Reflect.get(job, method)
    if (typeof real !== 'function') throw new Error(`a job has no ${method}`)
    let left = times
    Reflect.set(job, method, async (...given: unknown[]) => {
      left -= 1
      if (left >= 0) throw refusal
      return Reflect.apply(real, job, given)
    })
  }

  test('when Redis refuses what the job does', async () => {
    expect(
      await runs(async () => {
        throw refusal
      }),
    ).toBe(2)
  })

  test('when Redis refuses to delay the job', async () => {
    expect(
      await runs(async (job) => {
        refuse(job, 'moveToDelayed', 2)
        return { kind: 'waits', ms: 10 }
      }),
    ).toBe(2)
  })

  test('when Redis refuses to record that the job is done', async () => {
    expect(
      await runs(async (job) => {
        refuse(job, 'moveToCompleted', 1)
        return { kind: 'done' }
      }),
    ).toBe(2)
  })
})
