// Requeueing: one message, or a page of them. The step that queues a message again is fenced in
// Redis, and its job is added after it.
//
// Where the process may die: before the step, nothing has changed; between the step and the job, the message stands on
// the list of those queued again, and the sweep adds its job (worker/recovery/sweep-lane.ts); after that, all is done.

import { createCampaignContent } from '../../campaigns/store/recipient-message.ts'
import { type SendPayload, storedPayload } from '../../jobs/send.ts'
import { rescheduleReview } from '../../lanes/review.ts'
import { jobStates, payloadText } from '../../queue/lane/jobs.ts'
import type { LaneMessage, LaneQueues } from '../../queue/lane/queues.ts'
import { markLane } from '../../queue/lane/queues.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { requeueableKey } from '../../redis/keys.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { State } from '../lifecycle.ts'
import { type MessageId, messageId } from '../message-id.ts'
import { keepIndexed } from '../store/message-index.ts'
import type { MessageRecord } from '../store/record-format.ts'
import { readMessage } from '../store/records.ts'
import { matchingDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { REQUEUE_STATES } from './filter.ts'
import { type Again, type Obstacle, type RequeueVerdict, requeueSteps } from './steps.ts'

/** What requeueing needs: `validityMs` is the new validity per class, `retentionMs` how long records live then. */
export interface RequeueDeps {
  redis: Redis
  queues: LaneQueues
  config: { retentionMs: number; validityMs: Readonly<Record<MessageRecord['class'], number>> }
}

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

/**
 * The sweep looks so soon for a job of a message that had one already: mostly that of the attempt that has just failed,
 * which is about to go.
 */
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
  const ulids = found.map(({ ulid }) => ulid)
  const [nowMs, contents, jobs] = await Promise.all([
    redisNowMs(redis, requeueableKey(lane)),
    contentsOf(redis, lane, found),
    jobStates(redis, lane, ulids),
  ])
  // One that was put off to a later time is valid from then on, as it was when it was accepted.
  const untilOf = ({ record: { class: klass, sendAt = 0 } }: Found): number =>
    Math.max(nowMs, sendAt) + config.validityMs[klass]
  // Whatever is queued again lives longer than was known when it was accepted.
  const keptMs = Math.max(nowMs, ...found.map(untilOf)) + config.retentionMs
  // The lane before the steps as well: whoever dies between a step and its job leaves it to the next look of the sweep.
  await Promise.all([keepIndexed(redis, lane, ulids, keptMs), markLane(redis, lane)])
  // What an obstacle keeps from being sent takes no step.
  const blocked = (i: number): boolean => typeof contents[i] === 'string' && isRequeueable(found[i]?.record.state)
  const stepping = found.flatMap((each, i): Again[] => {
    if (blocked(i)) return []
    const content = contents[i]
    const made =
      typeof content === 'object' && each.record.payload === undefined
        ? JSON.stringify(storedPayload(content))
        : undefined
    return [{ ulid: each.ulid, until: untilOf(each), content: made }]
  })
  const replies = await requeueSteps(redis, lane, stepping, { retentionMs: config.retentionMs, job })
  const steps = new Map(stepping.map(({ ulid }, i) => [ulid, replies[i]]))
  const verdicts = contents.map((content, i): RequeueVerdict => {
    if (typeof content === 'string' && blocked(i)) return content
    const reply = steps.get(ulids[i] ?? '') ?? new Error('a step without a reply')
    if (reply instanceof Error) throw reply
    return reply[0]
  })
  const added: LaneMessage[] = []
  const late: string[] = []
  for (const [i, each] of found.entries()) {
    const content = contents[i]
    if (verdicts[i] !== 'done' || typeof content !== 'object') continue
    added.push({ id: messageId(lane, each.ulid), payload: { ...content, until: untilOf(each) } })
    if (jobs[i] === 'waits') late.push(each.ulid)
  }
  // Only of those that are queued again: it still holds the id. Dying before this leaves them to the sweep, which finds
  // the dead letter and fails them once more.
  for (const [i, ulid] of ulids.entries()) {
    if (jobs[i] === 'dead_letter' && verdicts[i] === 'done') await queues.removeJob({ lane, ulid })
  }
  if (added.length > 0) await queues.addMany(added, 'again')
  await rescheduleReview(redis, 'queued_again', lane, late, nowMs + OLD_JOB_GONE_MS)
  return verdicts
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

const isRequeueable = (state: State | undefined): boolean => REQUEUE_STATES.some((each) => each === state)

/** What each says, from its record or its campaign, or why it cannot be sent again. */
async function contentsOf(redis: Redis, lane: number, found: readonly Found[]): Promise<(SendPayload | Obstacle)[]> {
  const campaigns = createCampaignContent(redis, lane)
  return Promise.all(
    found.map(async ({ record }) => {
      const { run } = record
      const obstacle = run === undefined ? undefined : await campaigns.obstacle(run)
      if (obstacle !== undefined) return obstacle
      const kept = payloadText.safeParse(record.payload)
      if (kept.success) return kept.data
      return (run === undefined ? undefined : await campaigns.payloadOf({ ...record, run })) ?? 'without_content'
    }),
  )
}
