// The queue of campaign jobs, as those see it who ask for work.
import { CAMPAIGN_QUEUE, type CampaignJob, type CampaignPayload, campaignJobId } from '../../jobs/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { openQueue } from '../../redis/open-queue.ts'
import { within } from '../../redis/with-timeout.ts'
import type { CampaignId } from '../campaign-id.ts'

/** How long an add or a look may take before the caller hears that Redis is away. */
const LIMIT_MS = 2_500

export type CampaignQueue = ReturnType<typeof openCampaignQueue>

export function openCampaignQueue(redis: Redis) {
  const queue = openQueue<CampaignPayload>(redis, CAMPAIGN_QUEUE, sharedQueuePrefix(CAMPAIGN_QUEUE))

  return {
    queue,

    /** Resolves once the job is in Redis. Adding the same one again changes nothing. */
    async add(job: CampaignJob, id: CampaignId, epoch: number): Promise<void> {
      // While Redis is away BullMQ would wait for ever, and for one that hangs as well.
      if (redis.status !== 'ready') throw new Error('Connection is closed.')
      await within(LIMIT_MS, queue.add(job, { v: 1, ...id, epoch }, { jobId: campaignJobId(job, id, epoch) }))
    },

    close: (): Promise<void> => queue.close(),
  }
}
