// Sending again by hand what ended badly: find the messages by a filter, count them, queue them again. That are messages
// with a record, and jobs that were set aside before anybody could claim them.
import type { Job } from 'bullmq'
import { laneQueue } from '../jobs/lanes.ts'
import { type SendPayload, sendPayloadSchema } from '../jobs/send.ts'
import { campaignId } from '../messages/campaign-id.ts'
import { type MessageId, messageId, parseMessageId } from '../messages/message-id.ts'
import type { LaneQueues } from './lane-queues.ts'
import { type MessageRecord, readMessage } from './message-records.ts'
import { requeue } from './messages.ts'
import type { Redis } from './redis.ts'
import { endedBadlyKey, laneJobKey, laneSetAsideKey } from './redis-keys.ts'
import { listSenders } from './senders.ts'

export const REQUEUE_STATES = ['failed', 'unknown', 'expired', 'cancelled'] as const

/** Which messages; what is left out matches all. */
export interface RequeueFilter {
  account: number | undefined
  state?: (typeof REQUEUE_STATES)[number] | undefined
  campaign?: string | undefined
  /** Ended at or after this, epoch ms. */
  sinceMs?: number | undefined
  /** Code of the problem, as `131026` or `timeout`. */
  code?: string | undefined
}

export interface RequeueReport {
  matched: number
  queued: number
  /** Matched, but their content is not kept any more (they had been sent before they failed). */
  without_content: number
}

/**
 * Queues every matching message again, or with `dryRun` only counts. An unknown message that is sent again is flagged
 * possible_duplicate. Each gets a new validity of its class. The workers' sweep adds the jobs within seconds, so that
 * dying in the middle leaves no message half requeued.
 */
export async function requeueMessages(
  redis: Redis,
  queues: LaneQueues,
  filter: RequeueFilter,
  how: { dryRun: boolean; nowMs: number; validityMs: Readonly<Record<MessageRecord['class'], number>> },
): Promise<RequeueReport> {
  const report: RequeueReport = { matched: 0, queued: 0, without_content: 0 }
  for (const sender of await listSenders(redis, filter.account)) {
    for (const ulid of await redis.zrangebyscore(endedBadlyKey(sender.id), filter.sinceMs ?? '-inf', '+inf')) {
      const id = { lane: sender.id, ulid }
      const record = await readMessage(redis, id)
      if (!record || !matches(record, sender.id, filter)) continue
      report.matched += 1
      if (record.payload === undefined) report.without_content += 1
      else if (!how.dryRun) {
        await forgetDeadJob(redis, queues, id)
        await requeue(redis, id, how.nowMs + how.validityMs[record.class])
        report.queued += 1
      }
    }
    for (const { job, payload } of await deadLetters(redis, queues, sender.id, filter)) {
      report.matched += 1
      if (how.dryRun) continue
      // Dying between the two is harmless: the job is still set aside, with another validity.
      await job.updateData({ ...payload, until: how.nowMs + how.validityMs[payload.class] })
      await job.retry('failed')
      report.queued += 1
    }
    if (!how.dryRun && report.queued > 0) queues.wake(sender.id)
  }
  return report
}

function matches(record: MessageRecord, lane: number, filter: RequeueFilter): boolean {
  const states: readonly string[] = filter.state === undefined ? REQUEUE_STATES : [filter.state]
  return (
    states.includes(record.state) &&
    (filter.campaign === undefined || isOfCampaign(record, lane, filter.campaign)) &&
    (filter.code === undefined || record.problem?.code === filter.code)
  )
}

/**
 * The matching jobs of a lane that were set aside and never claimed: there is no record of them. What cannot be read as
 * a message is passed over, for it could not be sent.
 */
async function deadLetters(
  redis: Redis,
  queues: LaneQueues,
  lane: number,
  filter: RequeueFilter,
): Promise<{ job: Job; payload: SendPayload }[]> {
  const found: { job: Job; payload: SendPayload }[] = []
  if ((filter.state ?? 'failed') !== 'failed' || (filter.code ?? DEAD_LETTER) !== DEAD_LETTER) return found
  const names = await redis.zrangebyscore(laneSetAsideKey(lane, laneQueue(lane)), filter.sinceMs ?? '-inf', '+inf')
  for (const name of names) {
    const id = parseMessageId(name)
    if (!id || (await readMessage(redis, id))) continue
    // BullMQ cannot make a job of data that is not JSON.
    const job: Job | undefined = await queues
      .queueOf(lane)
      .getJob(name)
      .catch(() => undefined)
    const payload = sendPayloadSchema.safeParse(job?.data)
    if (!job || !payload.success) continue
    if (filter.campaign === undefined || isOfCampaign(payload.data, lane, filter.campaign)) {
      found.push({ job, payload: payload.data })
    }
  }
  return found
}

/** By the grouping text of its request, or by the id of the campaign that it belongs to. */
const isOfCampaign = (
  record: { campaign?: string | undefined; run?: number | undefined },
  lane: number,
  campaign: string,
): boolean =>
  record.campaign === campaign || (record.run !== undefined && campaignId({ lane, number: record.run }) === campaign)

/** The code that a lookup tells for a job that was set aside. */
const DEAD_LETTER = 'dead_letter'

/** A job that was set aside still holds the message's id and would keep a new one from being added. */
async function forgetDeadJob(redis: Redis, queues: LaneQueues, id: MessageId): Promise<void> {
  const name = messageId(id.lane, id.ulid)
  if ((await redis.hexists(laneJobKey(id.lane, laneQueue(id.lane), name), 'failedReason')) === 0) return
  await queues.queueOf(id.lane).remove(name)
}
