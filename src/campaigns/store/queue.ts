// The queues of campaign jobs, as those see them who ask for work.
import {
  CAMPAIGN_QUEUE,
  type CampaignJob,
  type CampaignPayload,
  campaignJobId,
  PREFLIGHT_QUEUE,
} from '../../jobs/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { openQueue } from '../../redis/open-queue.ts'
import { within } from '../../redis/with-timeout.ts'
import type { CampaignId } from '../campaign-id.ts'

/** How long an add or a look may take before the caller hears that Redis is away. */
const LIMIT_MS = 2_500

/** States of BullMQ in which a job is still to be taken up. */
const WAITING: ReadonlySet<string> = new Set(['waiting', 'prioritized', 'delayed'])

export type CampaignQueue = ReturnType<typeof openCampaignQueue>

export function openCampaignQueue(redis: Redis) {
  const queues = {
    'fan-out': openQueue<CampaignPayload>(redis, CAMPAIGN_QUEUE, sharedQueuePrefix(CAMPAIGN_QUEUE)),
    preflight: openQueue<CampaignPayload>(redis, PREFLIGHT_QUEUE, sharedQueuePrefix(PREFLIGHT_QUEUE)),
  }

  return {
    /** Resolves once the job is in Redis. Adding the same one again changes nothing. */
    async add(job: CampaignJob, { lane, number }: CampaignId, epoch: number): Promise<void> {
      // While Redis is away BullMQ would wait for ever, and for one that hangs as well.
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      const jobId = campaignJobId(job, { lane, number }, epoch)
      await within(LIMIT_MS, queues[job].add(job, { v: 1, lane, number, epoch }, { jobId }))
    },

    /** Whether the job is there and nobody has taken it up. */
    async isWaiting(job: CampaignJob, id: CampaignId, epoch: number): Promise<boolean> {
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      return WAITING.has(await within(LIMIT_MS, queues[job].getJobState(campaignJobId(job, id, epoch))))
    },

    /** Has a job that waits for its time taken up now. Does nothing to one that does not wait, or is gone. */
    async wake(job: CampaignJob, jobId: string): Promise<void> {
      if (redis.status !== 'ready') return
      const found = await within(LIMIT_MS, queues[job].getJob(jobId))
      await found?.promote().catch((error: unknown) => {
        if (isRedisAway(error)) throw error
      })
    },

    async close(): Promise<void> {
      await Promise.all([queues['fan-out'].close(), queues.preflight.close()])
    },
  }
}
