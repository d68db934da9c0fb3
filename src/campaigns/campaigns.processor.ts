// The worker's part in campaigns: processes their queues and watches them. Fan-outs and preflights have Workers of their own, and an
// account gets only a share of each, so that no account's campaigns can delay another's.

import { setMaxListeners } from 'node:events'
import {
  CAMPAIGN_QUEUE,
  type CampaignJob,
  campaignJobId,
  campaignPayloadSchema,
  PREFLIGHT_QUEUE,
} from '../jobs/campaigns.ts'
import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import { SharedMoments } from '../kernel/shared-ticks.ts'
import { closeWorker, endOwn, type Job, type OwnEnd, openWorker, type Worker } from '../lanes/bullmq/worker.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { idOf } from '../recipients/campaigns.ts'
import { findParked, parkCampaign } from '../recipients/parked-campaigns.ts'
import { trustedRedisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { whereAnswered } from '../redis/each-server.ts'
import { rootKeys, sharedQueuePrefix } from '../redis/keys.ts'
import { createShares, type Shares } from './account-shares.ts'
import type { LifecycleDeps } from './commands/moves.ts'
import { PURGE_EVERY_MS, purgeCampaignFiles } from './expiry/file-purge.ts'
import { type FanOutDeps, fanOut } from './fan-out/fan-out.ts'
import { createLocalStates } from './fan-out/local-state.ts'
import { createWatch, WATCH_MS } from './fan-out/watch.ts'
import { type PreflightDeps, preflight } from './preflight/preflight.ts'
import { type CampaignQueue, openCampaignQueue } from './store/queue.ts'

/**
 * How many campaigns are fed at once in one worker, and how many preflights run: those are long, keep the processor
 * busy and never yield. All that are fed share one event loop: with 200 slots another account's campaign took its steps
 * behind 100 others.
 */
const FED = { most: 64 }
const CHECKED = { most: 20, mostEach: 2 }
/** Jobs beyond those in flight, so that one whose account has its share is sent back while all slots are taken. */
const TURNED_AWAY = 20

/**
 * Starts processing fan-outs and preflights, watching campaigns, and deleting the files of expired ones.
 */
export function startCampaignJobs(deps: FanOutDeps & PreflightDeps) {
  const { redis, log, config } = deps
  const queue = openCampaignQueue(redis)
  const stopping = new AbortController()
  // Each campaign that is fed waits on it, and there may be hundreds: Node would warn of a leak at eleven.
  setMaxListeners(0, stopping.signal)
  const localStates = createLocalStates()
  const moments = new SharedMoments()
  const accounts = new Map<number, number>()
  /** Campaigns that this process feeds now, by their ids. */
  const fed = new Set<string>()

  /** A lane never changes its account; that of a sender that was removed counts as one of its own. */
  async function accountOf(lane: number): Promise<number> {
    const known = accounts.get(lane)
    if (known !== undefined) return known
    const account = Number((await redis.hget(rootKeys.lanes, String(lane))) ?? -lane)
    accounts.set(lane, account)
    return account
  }

  async function work(kind: CampaignJob, shares: Shares, job: Job): Promise<OwnEnd> {
    const payload = campaignPayloadSchema.safeParse(job.data)
    if (job.name !== kind || !payload.success) return { kind: 'dead_letter', reason: 'not a campaign job' }
    const { lane, number, epoch } = payload.data
    const id = { lane, number }
    const account = await accountOf(lane)
    if (!shares.enter(account, job.id ?? '')) {
      const ms = shares.patienceMs(account)
      if (kind === 'fan-out') await parkCampaign(redis, id, epoch, { ms, reason: 'turn' })
      return { kind: 'waits', ms }
    }
    try {
      if (kind === 'preflight') {
        const end = await preflight(deps, id, epoch, stopping.signal)
        return end === 'again' ? { kind: 'waits', ms: 1 } : { kind: 'done' }
      }
      fed.add(idOf(id))
      const end = await fanOut(deps, id, epoch, stopping.signal, { localStates, isWanted: shares.isWanted, moments })
      return end === 'over' ? { kind: 'done' } : { kind: 'waits', ms: end.nextMs }
    } finally {
      if (kind === 'fan-out') fed.delete(idOf(id))
      for (const next of shares.leave(account)) {
        queue.wake(kind, next).catch((error: unknown) => log.debug({ job: next, err: error }, 'campaigns.not_woken'))
      }
    }
  }

  function startWorker(kind: CampaignJob, name: string, bounds: { most: number; mostEach?: number }): Worker {
    const shares = createShares(bounds)
    const settings = {
      concurrency: bounds.most + TURNED_AWAY,
      lockDuration: 10_000,
      stalledInterval: 3_000,
      // A fan-out whose worker died is taken over long before; the job that BullMQ finds later has an old epoch.
      maxStalledCount: 100,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    }
    const worker = openWorker(
      redis,
      { name, prefix: sharedQueuePrefix(name) },
      async (job, token) => endOwn(await work(kind, shares, job), job, token),
      settings,
      (error) => log.debug({ err: error }, 'campaigns.error'),
    )
    worker.on('failed', (job, error) => log.error({ job: job?.id, err: error }, 'campaign.job_failed'))
    return worker
  }

  const workers = [startWorker('fan-out', CAMPAIGN_QUEUE, FED), startWorker('preflight', PREFLIGHT_QUEUE, CHECKED)]
  const wake = createCampaignWake({ redis, queue, log, isFed: (id) => fed.has(idOf(id)) })
  const lifecycle: LifecycleDeps = { redis, queue, retentionMs: config.retentionMs }
  const watching = repeatedly(WATCH_MS, createWatch({ ...lifecycle, log }), log)
  const forgetting = repeatedly(
    PURGE_EVERY_MS,
    async () => purgeCampaignFiles(deps, await trustedRedisNowMs(redis)),
    log,
  )

  return {
    /** Messages of a campaign moved: it may be fed again, or be at its end. */
    noteMoved: wake.noteTaken,

    /** Fan-outs and preflights put themselves back at once; waits for those in progress, at most `limitMs`. */
    async stop(limitMs: number): Promise<void> {
      watching.stop()
      forgetting.stop()
      wake.stop()
      stopping.abort()
      await Promise.all(workers.map((worker) => closeWorker(worker, limitMs)))
      await queue.close()
    },
  }
}

/** Campaigns that moved within this time are looked up together: one command per lane, at most this often. */
const TOGETHER_MS = 150

/**
 * Collects the campaigns whose messages moved and wakes those that are parked, every TOGETHER_MS. One that is fed here is not parked now;
 * it may be the next time.
 */
function createCampaignWake({
  redis,
  queue,
  log,
  isFed,
}: {
  redis: Redis
  queue: CampaignQueue
  log: Log
  isFed: (id: CampaignId) => boolean
}) {
  /** Numbers of campaigns, by lane. */
  let moved = new Map<number, Set<number>>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function wakeParked(): Promise<void> {
    timer = undefined
    const lanes = moved
    moved = new Map()
    const unfed: [lane: number, numbers: number[]][] = []
    for (const [lane, set] of lanes) {
      const numbers: number[] = []
      for (const number of set) {
        if (isFed({ lane, number })) noteTaken(lane, number)
        else numbers.push(number)
      }
      if (numbers.length > 0) unfed.push([lane, numbers])
    }
    const nameOf = ([lane]: [lane: number, numbers: number[]]): string => String(lane)
    await whereAnswered(redis, unfed, { what: 'parked', nameOf, ask: wakeParkedOn })
  }

  async function wakeParkedOn([lane, numbers]: [lane: number, numbers: number[]]): Promise<void> {
    for (const [i, parked] of (await findParked(redis, lane, numbers)).entries()) {
      const number = numbers[i]
      // A job that waits for a slot is woken when one is free.
      if (number === undefined || parked?.reason !== 'idle') continue
      await queue.wake('fan-out', campaignJobId('fan-out', { lane, number }, parked.epoch))
    }
  }

  function noteTaken(lane: number, run: number): void {
    if (isStopped) return
    moved.set(lane, (moved.get(lane) ?? new Set()).add(run))
    timer ??= setTimeout(() => {
      wakeParked().catch((error: unknown) => log.debug({ err: error }, 'campaigns.not_woken'))
    }, TOGETHER_MS)
  }

  return {
    /** Messages of a campaign moved. */
    noteTaken,

    stop(): void {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
