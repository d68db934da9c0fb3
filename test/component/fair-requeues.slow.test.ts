// Pins: requeue jobs and dry runs of one account do not hold up those of another, and an account has only so many.
// Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { closeRequeue, MOST_OPEN, openRequeue } from '../../src/messages/requeue/jobs.ts'
import { jobOf, requeueRequest } from '../support/requeue.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { openRequeuesOf, requeueJobRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

/** Several pages, of which a filter for this code finds nothing: the lists stay as they are. */
const HISTORY = 2_200
const NOTHING = { code: 'no such code' }

let service: Service
let queues: LaneQueues
let large: Tenant
let small: Tenant

beforeAll(async () => {
  service = await startService({ worker: false })
  queues = openLaneQueues(service.redis)
  const deps = { redis: service.redis, queues }
  large = await service.addTenant()
  small = await service.addTenant()
  await failMessages(deps, large.partnerLane, { count: HISTORY, first: 491_718_000_000 })
  await failMessages(deps, small.partnerLane, { count: 3, first: 491_719_000_000 })
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const job = z.object({ data: z.object({ state: z.string(), ended_at: z.string().nullable() }) })
const endOf = async (tenant: Tenant, id: string): Promise<number | undefined> => {
  const { ended_at } = job.parse((await jobOf(service, tenant, id)).body).data
  return ended_at === null ? undefined : Date.parse(ended_at)
}
const ask = async (tenant: Tenant, headers = {}) => {
  const { status, jobId = '', body } = await requeueRequest(service, tenant, NOTHING, headers)
  return { status, jobId, code: body.error?.code }
}

describe('requeue jobs', () => {
  test('are bounded per account, take turns, and free their place when they are done', async () => {
    const [kept] = await Promise.all([ask(large, { 'idempotency-key': 'first' })])
    const jobs = [kept, ...(await Promise.all(Array.from({ length: MOST_OPEN - 1 }, () => ask(large))))]
    expect(jobs.map(({ status }) => status)).toEqual(jobs.map(() => 202))
    expect(await ask(large)).toMatchObject({ status: 429, code: 'too_many_requeues' })
    // A repeat of one that is open asks for no other job.
    expect(await ask(large, { 'idempotency-key': 'first' })).toEqual(kept)
    const quick = await ask(small)
    expect(quick.status).toBe(202)

    await service.startWorker()
    const ends = await eventually(
      async () => {
        const found = await Promise.all(jobs.map(({ jobId }) => endOf(large, jobId)))
        return found.every((end) => end !== undefined) ? found : undefined
      },
      'all are done',
      60_000,
    )
    expect(await endOf(small, quick.jobId)).toBeLessThan(Math.min(...ends.map(Number)))
    await eventually(async () => (await openRequeuesOf(service.redis, large.account).count()) === 0, 'none is open')
    expect(await ask(large)).toMatchObject({ status: 202 })
    // Asked for once more, one that is done stays done and takes nobody's place.
    expect(await ask(large, { 'idempotency-key': 'first' })).toEqual(kept)
    await service.stopWorker()
  })

  test('that were counted but never started, or whose end was not recorded, lose their place when it is needed', async () => {
    const { redis } = service
    const account = 7_001
    const nowMs = Date.now()
    for (let i = 0; i < MOST_OPEN; i += 1) expect(await openRequeue(redis, account, `rq_${i}`, nowMs)).toBe(true)
    expect(await openRequeue(redis, account, 'rq_next', nowMs + 1_000)).toBe(false)
    await requeueJobRecord(redis, 'rq_0').change({ account, state: 'done', created_at: nowMs, order: orderOf(nowMs) })
    expect(await openRequeue(redis, account, 'rq_next', nowMs + 1_000)).toBe(true)
    expect(await openRequeue(redis, account, 'rq_later', nowMs + 1_000)).toBe(false)
    expect(await openRequeue(redis, account, 'rq_later', nowMs + 61_000)).toBe(true)
    await closeRequeue(redis, account, 'rq_later')
    expect(await openRequeuesOf(redis, account).timeOf('rq_later')).toBeNull()
  })
})

const orderOf = (nowMs: number): string => JSON.stringify({ lanes: [], filter: {}, sinceMs: 0, untilMs: nowMs })

describe('dry runs', () => {
  const count = async (tenant: Tenant) => {
    const { status, body } = await requeueRequest(service, tenant, { all: true, dry_run: true })
    return { status, code: body.error?.code, matched: body.data?.matched }
  }

  test('of one account run two at a time, and a short one of another does not wait for them', async () => {
    const answered: string[] = []
    const noted = async (tenant: Tenant, name: string) => {
      const answer = await count(tenant)
      answered.push(name)
      return answer
    }
    const long = [noted(large, 'long'), noted(large, 'long')]
    // Once it is refused, both others are under way.
    await eventually(async () => (await count(large)).code === 'too_many_requeues', 'a third one is refused')
    expect(await noted(small, 'short')).toEqual({ status: 200, matched: 3, code: undefined })
    for (const answer of await Promise.all(long)) expect(answer).toMatchObject({ status: 200, matched: HISTORY })
    expect(answered).toEqual(['short', 'long', 'long'])
    expect(await count(large)).toMatchObject({ status: 200 })
  })
})
