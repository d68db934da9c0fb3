// Requeueing: one message, or a page of them. The step that queues a message again is fenced in
// Redis, and its job is added after it.
//
// Where the process may die: before the step, nothing has changed; between the step and the job, the message stands on
// the list of those queued again, and the sweep adds its job (worker/sweep-lane.ts); after that, all is done.

import { z } from 'zod'
import { createCampaignContent } from '../campaigns/store/content.ts'
import { type SendPayload, sendPayloadSchema } from '../jobs/send.ts'
import { markLane } from '../lanes/due-lanes.ts'
import { forgetDeadLetters, jobStates } from '../lanes/jobs.ts'
import type { LaneMessage, LaneQueues } from '../lanes/queues.ts'
import { rescheduleReview } from '../lanes/survey.ts'
import type { State } from '../messages/lifecycle.ts'
import { acceptedAtMs, type MessageId, messageId } from '../messages/message-id.ts'
import { keepIndexed } from '../messages/store/message-index.ts'
import { defineMessageScript } from '../messages/store/message-script.ts'
import { type MessageRecord, stateSchema } from '../messages/store/record-format.ts'
import { readMessage } from '../messages/store/records.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { CorruptRecordError, jsonText } from '../redis/corrupt-record.ts'
import { campaignPrefix, messageKey, queuedAgainKey, requeueableKey, requeueProgressKey } from '../redis/keys.ts'
import { matchingDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { REQUEUE_STATES } from './filter.ts'

/** What requeueing needs: `validityMs` is the new validity per class, `retentionMs` how long records live then. */
export interface RequeueDeps {
  redis: Redis
  queues: LaneQueues
  config: { retentionMs: number; validityMs: Readonly<Record<MessageRecord['class'], number>> }
}

/**
 * Why a message cannot be sent again. `campaign_over`: its campaign is cancelled or not kept any more.
 * `without_content`: what it said is not stored. `unreadable`: the record of its campaign is not what Laneway wrote.
 */
export type Obstacle = 'campaign_over' | 'without_content' | 'unreadable'
export type RequeueVerdict = 'done' | 'ignored' | 'missing' | Obstacle

/** A message and its record as it was read a moment ago. */
export interface Found {
  ulid: string
  record: MessageRecord
}

/** Why a matching message cannot be sent again; undefined when it can. For counting only: the step looks again. */
export async function obstacles(
  redis: Redis,
  lane: number,
  found: readonly Found[],
): Promise<(Obstacle | undefined)[]> {
  const campaigns = createCampaignContent(redis, lane)
  return Promise.all(
    found.map(async ({ record }) => {
      const { run } = record
      const obstacle = run === undefined ? undefined : await campaigns.obstacle(run)
      if (obstacle !== undefined) return obstacle
      if (record.payload !== undefined) return undefined
      const made = run === undefined ? undefined : await campaigns.payloadOf({ ...record, run })
      return made === undefined ? 'without_content' : undefined
    }),
  )
}

/** The sweep looks so soon after whether a message has got its job. */
const JOB_WITHIN_MS = 10_000
/** The same where a job was there already: mostly that of the attempt that has just failed, which is about to go. */
const OLD_JOB_GONE_MS = 2_000

/**
 * Queues messages of one lane again and adds their jobs. Each gets a new validity of its class and lives as long as a
 * new one; an unknown one is flagged possible_duplicate. With `job`, only what ended at `untilMs` or before is, which
 * keeps a job that runs twice from sending anything twice, and each is counted for the job in the same step.
 */
export async function putBack(
  deps: RequeueDeps,
  lane: number,
  found: readonly Found[],
  job?: { id: string; untilMs: number },
): Promise<RequeueVerdict[]> {
  const { redis, queues, config } = deps
  const nowMs = await redisNowMs(redis, requeueableKey(lane))
  const ulids = found.map(({ ulid }) => ulid)
  const [contents, jobs] = await Promise.all([contentsOf(redis, lane, found), jobStates(redis, lane, ulids)])
  // One that was put off to a later time is valid from then on, as it was when it was accepted.
  const untilOf = ({ class: klass, sendAt = 0 }: MessageRecord): number =>
    Math.max(nowMs, sendAt) + config.validityMs[klass]
  // Whatever is queued again lives longer than was known when it was accepted.
  const keptMs = Math.max(nowMs, ...found.map(({ record }) => untilOf(record))) + config.retentionMs
  await keepIndexed(redis, lane, ulids, keptMs)
  // Before the steps as well: whoever dies between a step and its job leaves the lane to the next look of the sweep.
  await markLane(redis, lane)
  const steps = await Promise.all(
    found.map(async ({ ulid, record }, i): Promise<[RequeueVerdict, State | undefined]> => {
      const content = contents[i]
      if (typeof content === 'string' && isRequeueable(record.state)) return [content, record.state]
      const until = untilOf(record)
      const made = typeof content === 'object' && record.payload === undefined ? JSON.stringify(content) : undefined
      return requeueStep(redis, { lane, ulid }, { until, retentionMs: config.retentionMs, content: made, job })
    }),
  )
  const added: LaneMessage[] = []
  const late: string[] = []
  for (const [i, { ulid, record }] of found.entries()) {
    const content = contents[i]
    if (steps[i]?.[0] !== 'done' || typeof content !== 'object') continue
    added.push({ id: messageId(lane, ulid), payload: { ...content, until: untilOf(record) } })
    if (jobs[i] === 'waits') late.push(ulid)
  }
  // Only of those that are queued again: it still holds the id. Dying before this leaves them to the sweep, which finds
  // the dead letter and fails them once more.
  await forgetDeadLetters(
    queues,
    lane,
    ulids.filter((_ulid, i) => jobs[i] === 'dead_letter' && steps[i]?.[0] === 'done'),
  )
  if (added.length > 0) await queues.addMany(added, 'again')
  await rescheduleReview(redis, lane, late, nowMs + OLD_JOB_GONE_MS)
  return steps.map(([verdict]) => verdict)
}

/**
 * Queues one message again, whenever it ended. `state` is what forbids it, when the verdict is `ignored`. Throws a
 * CorruptRecordError when its record or that of its campaign cannot be read.
 */
export async function requeueMessage(
  deps: RequeueDeps,
  id: MessageId,
): Promise<{ verdict: Exclude<RequeueVerdict, 'unreadable'>; state: State | undefined }> {
  const record = await readMessage(deps.redis, id)
  if (record === undefined) {
    const [letter] = await matchingDeadLetters(deps, id.lane, [messageId(id.lane, id.ulid)], {})
    const isBack = letter && (await retryDeadLetter(deps, id.lane, letter))
    if (isBack) deps.queues.wake(id.lane)
    return { verdict: isBack ? 'done' : 'missing', state: undefined }
  }
  const [verdict = 'missing'] = await putBack(deps, id.lane, [{ ulid: id.ulid, record }])
  if (verdict === 'unreadable') {
    throw new CorruptRecordError(`the campaign of message ${messageId(id.lane, id.ulid)} in Redis is broken`)
  }
  return { verdict, state: record.state }
}

const isRequeueable = (state: State): boolean => REQUEUE_STATES.some((each) => each === state)

const storedPayload = jsonText.pipe(sendPayloadSchema)

/** What each says, from its record or its campaign, or why it cannot be sent again. */
async function contentsOf(redis: Redis, lane: number, found: readonly Found[]): Promise<(SendPayload | Obstacle)[]> {
  const campaigns = createCampaignContent(redis, lane)
  return Promise.all(
    found.map(async ({ record }) => {
      const { run } = record
      const obstacle = run === undefined ? undefined : await campaigns.obstacle(run)
      if (obstacle !== undefined) return obstacle
      const kept = storedPayload.safeParse(record.payload)
      if (kept.success) return kept.data
      return (run === undefined ? undefined : await campaigns.payloadOf({ ...record, run })) ?? 'without_content'
    }),
  )
}

const requeueScript = defineMessageScript(import.meta.url, 'message-requeue')
const requeueReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'campaign_over', 'without_content']), stateSchema]),
])

/** The step alone. `content` is written where the record has none. */
export async function requeueStep(
  redis: Redis,
  { lane, ulid }: MessageId,
  how: {
    until: number
    retentionMs: number
    content?: string | undefined
    job?: { id: string; untilMs: number } | undefined
  },
): Promise<[RequeueVerdict, State | undefined]> {
  const { job } = how
  const [verdict, state] = requeueReply.parse(
    await requeueScript(
      redis,
      {
        record: messageKey(lane, ulid),
        queuedAgain: queuedAgainKey(lane),
        requeueable: requeueableKey(lane),
        progress: requeueProgressKey(lane, job?.id ?? '-'),
      },
      {
        ...{ ulid, acceptedAt: acceptedAtMs(ulid), validUntil: how.until, retentionMs: how.retentionMs },
        campaigns: campaignPrefix(lane),
        endedBy: job?.untilMs,
        content: how.content,
        forJob: job !== undefined,
        jobWithinMs: JOB_WITHIN_MS,
      },
    ),
  )
  return [verdict, state]
}
