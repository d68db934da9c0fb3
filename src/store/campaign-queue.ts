// The queue of campaign jobs, as those see it who ask for work.
import { Queue } from 'bullmq'
import { CAMPAIGN_QUEUE, type CampaignJob, type CampaignPayload, campaignJobId } from '../jobs/campaigns.ts'
import type { CampaignId } from '../messages/campaign-id.ts'
import type { Redis } from './redis.ts'
import { sharedQueuePrefix } from './redis-keys.ts'
import { within } from './within.ts'

/** BullMQ cannot do without its event stream; nobody reads it, so it is kept as short as trimming allows. */
const EVENTS_KEPT = 100

/** How long an add or a look may take before the caller hears that Redis is away. */
const LIMIT_MS = 2_500

export type CampaignQueue = ReturnType<typeof openCampaignQueue>

export function openCampaignQueue(redis: Redis) {
  const queue = new Queue<CampaignPayload>(CAMPAIGN_QUEUE, {
    connection: redis,
    prefix: sharedQueuePrefix(CAMPAIGN_QUEUE),
    streams: { events: { maxLen: EVENTS_KEPT } },
    // Otherwise a connection that breaks while the version is asked for leaves the queue unusable for good.
    skipVersionCheck: true,
  })
  // The connection reports its own errors once; the queue would report them again.
  queue.on('error', () => {})

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
