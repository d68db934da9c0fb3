// The queue of campaign jobs, as those see it who ask for work.
import { CAMPAIGN_QUEUE, type CampaignJob, type CampaignPayload, campaignJobId } from '../../jobs/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { sharedQueuePrefix } from '../../redis/keys.ts'
import { inTime, openQueue } from '../../redis/open-queue.ts'
import type { CampaignId } from '../campaign-id.ts'

export type CampaignQueue = ReturnType<typeof openCampaignQueue>

export function openCampaignQueue(redis: Redis) {
  const queue = openQueue<CampaignPayload>(redis, CAMPAIGN_QUEUE, sharedQueuePrefix(CAMPAIGN_QUEUE))

  return {
    queue,

    /** Resolves once the job is in Redis. Adding the same one again changes nothing. */
    async add(job: CampaignJob, id: CampaignId, epoch: number): Promise<void> {
      await inTime(redis, () => queue.add(job, { v: 1, ...id, epoch }, { jobId: campaignJobId(job, id, epoch) }))
    },

    close: (): Promise<void> => queue.close(),
  }
}
