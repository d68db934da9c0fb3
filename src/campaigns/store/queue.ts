// Adds jobs to the queues of campaigns.
import {
  CAMPAIGN_QUEUE,
  type CampaignJob,
  type CampaignPayload,
  campaignJobId,
  PREFLIGHT_QUEUE,
} from '../../jobs/campaigns.ts'
import { LAST_PRIORITY, openQueue, promote } from '../../lanes/bullmq/open-queue.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { inTime } from '../../redis/errors.ts'
import { activeCampaignsKey, sharedQueuePrefix } from '../../redis/keys.ts'

export type CampaignQueue = ReturnType<typeof openCampaignQueue>

/**
 * The queues of both kinds of jobs, on a connection of the caller's. Every call rejects when Redis is away. Close it.
 */
export function openCampaignQueue(redis: Redis) {
  const queues = {
    'fan-out': openQueue<CampaignPayload>(redis, CAMPAIGN_QUEUE, sharedQueuePrefix(CAMPAIGN_QUEUE)),
    preflight: openQueue<CampaignPayload>(redis, PREFLIGHT_QUEUE, sharedQueuePrefix(PREFLIGHT_QUEUE)),
  }

  return {
    /**
     * Resolves once the job is in Redis. Adding the same one again changes nothing. Its priority is how many campaigns of
     * the lane are active: Workers take jobs one by one, so thousands on one lane would otherwise precede the only one of another lane.
     */
    async add(job: CampaignJob, { lane, number }: CampaignId, epoch: number): Promise<void> {
      const jobId = campaignJobId(job, { lane, number }, epoch)
      const active = await inTime(redis, () => redis.hlen(activeCampaignsKey(lane)))
      const priority = Math.min(Math.max(1, active), LAST_PRIORITY)
      await inTime(redis, () => queues[job].add(job, { v: 1, lane, number, epoch }, { jobId, priority }))
    },

    /** Where the job waits to be taken up: in line, or for its time; undefined when it is active or gone. */
    async waitsWhere(job: CampaignJob, id: CampaignId, epoch: number): Promise<'in_line' | 'for_its_time' | undefined> {
      const state = await inTime(redis, () => queues[job].getJobState(campaignJobId(job, id, epoch)))
      if (state === 'delayed') return 'for_its_time'
      return state === 'waiting' || state === 'prioritized' ? 'in_line' : undefined
    },

    /** Promotes a delayed job. Does nothing if it is not delayed, or gone. */
    async wake(job: CampaignJob, jobId: string): Promise<void> {
      if (redis.status === 'ready') await inTime(redis, () => promote(queues[job], jobId))
    },

    async close(): Promise<void> {
      await Promise.all([queues['fan-out'].close(), queues.preflight.close()])
    },
  }
}
