// The jobs of an endpoint's queue: failed deliveries, tests, replays. The queue has a worker only while one of them is
// due.

import { type EventJob, eventJobSchema } from '../jobs/background.ts'
import type { Config } from '../kernel/config.ts'
import { iso } from '../kernel/instant.ts'
import { endpointQueue } from '../lanes/bullmq/layout.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker, type Worker } from '../lanes/bullmq/worker.ts'
import { TEST_TYPE } from '../model/events/event-schema.ts'
import type { PlacedEvent } from '../model/events/outbox-entry.ts'
import { retryWaitMs } from '../model/events/retry-times.ts'
import { isRedisAway } from '../redis/errors.ts'
import { endpointQueuePrefix } from '../redis/keys.ts'
import { type DeliveryDeps, deliver, refOf, send, type Target } from './deliver.ts'
import { takeReplayTurn } from './replay-turn.ts'
import {
  addEventJob,
  dueInMs,
  GIVEN_UP_KEPT,
  noteDue,
  openEndpointQueue,
  postponeCheck,
  RECHECK_MS,
} from './store/endpoint-queue.ts'
import { readRange } from './store/outbox-entries.ts'

/** Retries of one endpoint at a time. */
const CONCURRENCY = 4
/** A disabled endpoint gets nothing; it is checked again after this. */
const DISABLED_WAIT_MS = 600_000
const REDIS_AWAY_MS = 1_000
/** Lease of a worker on a queue. */
const HELD_MS = 30_000
/** Jobs that are tried at once when an endpoint succeeds again. */
const PROMOTED = 1_000

/** Whether a queue is worth working on: its next job is due within a second. */
const isSoon = (inMs: number | undefined): boolean => inMs !== undefined && inMs <= 1_000

export type Retries = ReturnType<typeof createRetries>

/** The retries of one endpoint. `stopped` aborts those in flight. */
export function createRetries(
  deps: DeliveryDeps & { config: Pick<Config, 'events'> },
  target: Target,
  stopped: AbortSignal,
) {
  const { redis, config, log } = deps
  const owner = { account: target.endpoint.account, id: target.endpoint.id }
  const queue = openEndpointQueue(redis, owner)
  let worker: Worker | undefined
  let renewing: NodeJS.Timeout | undefined

  const waitOf = (failures: number, retryAfterMs: number | undefined): number | undefined =>
    retryWaitMs(config.events.retryMs, failures, retryAfterMs, Math.random())

  async function run(job: Job): Promise<OwnEnd> {
    const parsed = eventJobSchema.safeParse(job.data)
    if (!parsed.success) return { kind: 'dead_letter', reason: 'not a job of an endpoint' }
    try {
      if (parsed.data.kind === 'test') return await test(job.id ?? '', parsed.data.at)
      if (!target.endpoint.enabled) return { kind: 'waits', ms: DISABLED_WAIT_MS }
      if (parsed.data.kind === 'replay') {
        const wait = await takeReplayTurn(deps, target, queue, parsed.data.replay, stopped)
        return wait === undefined ? { kind: 'done' } : { kind: 'waits', ms: wait }
      }
      return await redeliver(job, parsed.data)
    } catch (error) {
      if (isRedisAway(error)) return { kind: 'waits', ms: REDIS_AWAY_MS }
      throw error
    }
  }

  async function test(id: string, at: number): Promise<OwnEnd> {
    const data = { event_id: id, id: owner.id, reason: null }
    const documents = [{ type: TEST_TYPE, timestamp: iso(at), data }]
    await send(deps, target, { id, documents }, { attempt: 1, retryIn: () => undefined, stopped })
    return { kind: 'done' }
  }

  async function redeliver(
    job: Job,
    { refs, failures, ...rest }: Extract<EventJob, { kind: 'deliver' }>,
  ): Promise<OwnEnd> {
    const events = await eventsOf(refs)
    const waits = new Map<number | undefined, number | undefined>()
    const wait = (retryAfterMs: number | undefined): number | undefined => {
      if (!waits.has(retryAfterMs)) waits.set(retryAfterMs, waitOf(failures + 1, retryAfterMs))
      return waits.get(retryAfterMs)
    }
    const end = await deliver(deps, target, events, { attempt: failures + 1, retryIn: wait, stopped })
    if (end.kind === 'taken') return { kind: 'done' }
    // Its result is unknown: it is tried again, and this try does not count.
    if (end.kind === 'stopped') return { kind: 'waits', ms: 1 }
    if (end.kind === 'gone') return { kind: 'waits', ms: DISABLED_WAIT_MS }
    await job.updateData({ ...rest, refs, failures: failures + 1 })
    const ms = wait(end.retryAfterMs)
    return ms === undefined ? { kind: 'dead_letter', reason: 'all its tries are used up' } : { kind: 'waits', ms }
  }

  /** The events of a job, without expired ones. */
  async function eventsOf(refs: readonly string[]): Promise<PlacedEvent[]> {
    const entries = new Map(refs.map((ref) => [ref.slice(0, ref.lastIndexOf(':')), ref.split(':')]))
    const wanted = new Set(refs)
    const found = await Promise.all(
      [...entries.values()].map(([source = '', entry = '']) =>
        readRange(redis, owner.account, Number(source), { from: entry, to: entry, most: 1 }),
      ),
    )
    return found.flat().flatMap(({ events }) => events.filter((event) => wanted.has(refOf(event))))
  }

  function open(): void {
    if (worker !== undefined || stopped.aborted) return
    const settings = {
      concurrency: CONCURRENCY,
      lockDuration: 30_000,
      stalledInterval: 15_000,
      maxStalledCount: 100,
      removeOnComplete: { age: 86_400, count: 100, limit: 100 },
      removeOnFail: GIVEN_UP_KEPT,
    }
    const opened = openWorker(
      redis,
      { name: endpointQueue(owner.id), prefix: endpointQueuePrefix(owner.id) },
      async (job, token) => endOwn(await run(job), job, token),
      settings,
      (error) => log.debug({ endpoint: owner.id, err: error }, 'events.error'),
    )
    opened.on('failed', (job, error) => log.warn({ endpoint: owner.id, job: job?.id, err: error }, 'events.given_up'))
    worker = opened
    renewing = setInterval(() => void renew(opened), HELD_MS / 30)
  }

  /** Renews the lease on the queue until nothing of it is due. */
  async function renew(opened: Worker): Promise<void> {
    try {
      if (isSoon(await dueInMs(redis, queue, owner))) return await postponeCheck(redis, owner, HELD_MS)
      if (worker !== opened) return
      clearInterval(renewing)
      await closeWorker(opened, 1_000).finally(() => {
        worker = undefined
      })
      await check()
    } catch (error) {
      log.debug({ endpoint: owner.id, err: error }, 'events.error')
    }
  }

  /** Works on the queue if something of it is due. Dying in between leaves a queue that is checked again later. */
  async function check(): Promise<void> {
    if (worker !== undefined) return
    await postponeCheck(redis, owner, RECHECK_MS)
    const next = await dueInMs(redis, queue, owner)
    if (isSoon(next)) open()
    else if (next !== undefined) await noteDue(redis, owner, next)
  }

  return {
    check,
    /** Queues events whose delivery failed, or was not tried after another failed; resolves once their job exists. */
    async park(events: readonly PlacedEvent[], failures: number, waitMs: number): Promise<void> {
      const refs = events.map(refOf)
      const jobId = `dlv_${refs[0]?.replaceAll(':', '_')}_${refs.length}_${refs.at(-1)?.replaceAll(':', '_')}`
      await addEventJob(redis, queue, owner, { v: 1, kind: 'deliver', refs, failures }, { waitMs, jobId })
    },
    /** The wait (ms) after a first failure. */
    firstWaitMs: (retryAfterMs: number | undefined): number => waitOf(1, retryAfterMs) ?? 0,
    async waiting(): Promise<number> {
      const { wait = 0, delayed = 0 } = await queue.getJobCounts('wait', 'delayed')
      return wait + delayed
    },
    /** The endpoint succeeds again: tries what waits now. */
    async promote(): Promise<void> {
      await queue.promoteJobs({ count: PROMOTED })
      open()
    },
    async stop(limitMs: number): Promise<void> {
      clearInterval(renewing)
      if (worker) await closeWorker(worker, limitMs)
      await queue.close()
    },
  }
}
