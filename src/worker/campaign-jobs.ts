// The worker's part in campaigns: works on their queue and watches over them.
import type { Job } from 'bullmq'
import type { SteerDeps } from '../campaigns/commands/lifecycle.ts'
import { type FanOutDeps, fanOut } from '../campaigns/fan-out/fan-out.ts'
import { FORGET_EVERY_MS, forgetCampaigns } from '../campaigns/fan-out/purge-files.ts'
import { createWatch, WATCH_MS } from '../campaigns/fan-out/watch.ts'
import { preflight } from '../campaigns/preflight/preflight.ts'
import { openCampaignQueue } from '../campaigns/store/queue.ts'
import { CAMPAIGN_QUEUE, campaignJobSchema, campaignPayloadSchema } from '../jobs/campaigns.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { repeatedly } from '../repeatedly.ts'
import { closeWorker, endJob, type JobEnd, openWorker } from './bullmq.ts'

/** A fan-out mostly waits: so many campaigns run at once in one worker. */
const CONCURRENCY = 200

export function startCampaignJobs(deps: FanOutDeps) {
  const { redis, log, config } = deps
  const queue = openCampaignQueue(redis)
  const stopping = new AbortController()
  const worker = openWorker(
    redis,
    { name: CAMPAIGN_QUEUE, prefix: sharedQueuePrefix(CAMPAIGN_QUEUE) },
    async (job, token) => endJob(await work(deps, job, stopping.signal), job, token, queue.queue),
    {
      concurrency: CONCURRENCY,
      lockDuration: 10_000,
      stalledInterval: 3_000,
      // A fan-out that lost its worker is taken over long before; what BullMQ finds later is of an old epoch.
      maxStalledCount: 100,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    },
    (error) => log.debug({ err: error }, 'campaigns.error'),
  )
  worker.on('failed', (job, error) => log.error({ job: job?.id, err: error }, 'campaign.job_failed'))
  const steer: SteerDeps = { redis, queue, retentionMs: config.retentionMs }
  const watching = repeatedly(WATCH_MS, createWatch({ ...steer, log }), log)

  const forgetting = repeatedly(FORGET_EVERY_MS, () => forgetCampaigns(deps, Date.now()), log)

  return {
    /** Fan-outs and preflights put themselves back at once; what is under way is waited for, at most `limitMs`. */
    async stop(limitMs: number): Promise<void> {
      watching.stop()
      forgetting.stop()
      stopping.abort()
      await closeWorker(worker, limitMs)
      await queue.close()
    },
  }
}

async function work(deps: FanOutDeps, job: Job, stopping: AbortSignal): Promise<JobEnd> {
  const name = campaignJobSchema.safeParse(job.name)
  const payload = campaignPayloadSchema.safeParse(job.data)
  if (!name.success || !payload.success) return { kind: 'unusable', reason: 'not a campaign job' }
  const { lane, number, epoch } = payload.data
  const id = { lane, number }
  const run = name.data === 'preflight' ? preflight : fanOut
  return (await run(deps, id, epoch, stopping)) === 'again' ? { kind: 'waits', ms: 1 } : { kind: 'done' }
}
