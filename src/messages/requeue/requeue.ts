// Requeues one message, or a page of them. The step is fenced in Redis, and the job is added after it.
//
// Where the process may die: before the step, nothing has changed; between the step and the job, the message is on the list of those
// queued again, and the sweep adds its job (worker/recovery/sweep-lane.ts); after that, all is done.

import { cachedSender } from '../../accounts/senders.ts'
import { type SendPayload, storedPayload } from '../../jobs/send.ts'
import { type MessageId, messageId } from '../../kernel/message-id.ts'
import type { LaneMessage } from '../../lanes/add-messages.ts'
import { archiveOf, type KeptMessage } from '../../lanes/archive/archive.ts'
import { jobStates, payloadText } from '../../lanes/jobs.ts'
import { type RequeueStep, requeueSteps, type StepVerdict } from '../../lanes/messages/requeue-step.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { rescheduleSweep } from '../../lanes/sweep-lists.ts'
import { markLane } from '../../lanes/wake.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import { namesOfPeople } from '../../people/names/names.ts'
import { cappedUntil } from '../../portfolios/caps.ts'
import { rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { createCampaignContent } from '../../recipients/campaign-content.ts'
import { isMarketingNow } from '../../recipients/message-marketing.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { requeueableKey } from '../../redis/keys.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { expireWherever } from '../lookup/cancel.ts'
import { matchingDeadLetters, retryDeadLetter } from './dead-letters.ts'
import { REQUEUE_STATES } from './filter.ts'

/** Dependencies of requeueing: `validityMs` is the new validity per class, `retentionMs` how long records live then. */
export interface RequeueDeps {
  redis: Redis
  queues: LaneQueues
  config: { retentionMs: number; validityMs: Readonly<Record<KeptMessage['class'], number>> }
}

/** A message and its record as just read. */
export interface Found {
  ulid: string
  record: KeptMessage
}

/** Why a matching message cannot be sent again; undefined when it can. For counting only: the step checks again. */
export async function obstacles(
  redis: Redis,
  lane: number,
  found: readonly Found[],
): Promise<(Obstacle | undefined)[]> {
  const campaigns = createCampaignContent(redis, lane)
  const capped = await cappedAmong(redis, lane, found)
  return Promise.all(
    found.map(async ({ record }, i) => {
      if (capped.has(i)) return 'capped'
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
 * How soon the sweep checks the job of a message that had one already: mostly that of the attempt that has just failed, which is about
 * to be removed.
 */
const OLD_JOB_GONE_MS = 2_000

/**
 * Queues messages of one lane again and adds their jobs. Each gets a new validity of its class and lives as long as a
 * new one; an unknown one is flagged possible_duplicate. With `job`, only what ended at `untilMs` or before is, which
 * keeps a job that runs twice from sending anything twice, and each is counted for the job in the same step. Marketing to
 * people who have had enough of it is left as it is.
 */
export async function putBack(
  deps: RequeueDeps,
  lane: number,
  found: readonly Found[],
  { job }: { job?: { id: string; untilMs: number } } = {},
): Promise<RequeueVerdict[]> {
  const { redis, queues, config } = deps
  const ulids = found.map(({ ulid }) => ulid)
  const [nowMs, contents, jobs] = await Promise.all([
    redisNowMs(redis, requeueableKey(lane)),
    contentsOrCapped(redis, lane, found),
    jobStates(redis, lane, ulids),
  ])
  // A scheduled message is valid from its time on, as when it was accepted.
  const untilOf = ({ record: { class: klass, sendAt = 0 } }: Found): number =>
    Math.max(nowMs, sendAt) + config.validityMs[klass]
  // Requeued messages live longer than was known when they were accepted.
  const keptMs = Math.max(nowMs, ...found.map(untilOf)) + config.retentionMs
  // Marks the lane before the steps as well: a process that dies between a step and its job leaves it to the next sweep.
  await Promise.all([archiveOf(redis).put({ lane, ulids, keptUntilMs: keptMs }), markLane(redis, lane)])
  // Messages with an obstacle take no step.
  const blocked = (i: number): boolean => typeof contents[i] === 'string' && isRequeueable(found[i]?.record.state)
  const stepping = found.flatMap((each, i): RequeueStep[] => {
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
  await rescheduleSweep(redis, 'queued_again', lane, late, nowMs + OLD_JOB_GONE_MS)
  return verdicts
}

/**
 * Queues one message again, whenever it ended. `state` is what forbids it, when the verdict is `ignored`. Throws a
 * CorruptRecordError when its record or that of its campaign cannot be read.
 */
export async function requeueMessage(
  deps: RequeueDeps & { config: ListSettings },
  id: MessageId,
): Promise<{ verdict: Exclude<RequeueVerdict, 'unreadable'>; state: State | undefined }> {
  let record = await recordOf(deps.redis, id)
  // Lookups show it as expired from that moment on; a paused lane does not record it.
  if ((record === undefined || record.state === 'queued') && (await expireWherever(deps, id))) {
    record = await recordOf(deps.redis, id)
  }
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

async function recordOf(redis: Redis, { lane, ulid }: MessageId): Promise<KeptMessage | undefined> {
  const [record] = await archiveOf(redis).find({ lane, ulids: [ulid] })
  if (record instanceof Error) throw record
  return record
}

const isRequeueable = (state: State | undefined): boolean => REQUEUE_STATES.some((each) => each === state)

/** The content of each, from its record or its campaign, or why it cannot be sent again. */
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

async function contentsOrCapped(redis: Redis, lane: number, found: readonly Found[]) {
  const [contents, capped] = await Promise.all([contentsOf(redis, lane, found), cappedAmong(redis, lane, found)])
  return contents.map((content, i) => (capped.has(i) ? 'capped' : content))
}

/** The indexes of those that are marketing to capped people. */
async function cappedAmong(redis: Redis, lane: number, found: readonly Found[]): Promise<ReadonlySet<number>> {
  const templates = found.flatMap(({ record }, i) => (mayBeMarketing(record) && record.to !== '' ? [i] : []))
  const sender = templates.length === 0 ? undefined : await cachedSender(redis, lane)
  if (sender === undefined) return new Set()
  const { account } = sender
  const to = templates.map((i) => found[i]?.record.to ?? '')
  const people = await namesOfPeople(redis, account, to)
  const until = await cappedUntil(redis, await rulesOwnerOf(redis, sender), people)
  const capped = new Set<number>()
  /** Those of a campaign are all the same. */
  const ofRuns = new Map<number, boolean>()
  for (const [at, i] of templates.entries()) {
    const record = found[i]?.record
    if (until[at] === undefined || record === undefined) continue
    const { run } = record
    const content = payloadText.safeParse(record.payload).data?.content
    const known = run === undefined ? undefined : ofRuns.get(run)
    const isMarketing = known ?? (await isMarketingNow(redis, { account, lane }, { ...record, content }))
    if (run !== undefined) ofRuns.set(run, isMarketing)
    if (isMarketing) capped.add(i)
  }
  return capped
}

const mayBeMarketing = (record: Found['record']): boolean => record.class === 'campaign' || record.type === 'template'

/**
 * Why a message cannot be sent again. `capped`: it is marketing, and its person is capped. `campaign_over`: its campaign is cancelled or
 * has expired. `sender_removed`: its lane is closed. `without_content`: its content is not stored any more. `unreadable`: the record of
 * its campaign is corrupt.
 */
export type Obstacle = 'campaign_over' | 'without_content' | 'sender_removed' | 'unreadable' | 'capped'

/** Why one message that ended cannot be sent again. */
export const OBSTACLES: Readonly<Record<Exclude<Obstacle, 'unreadable'>, string>> = {
  campaign_over: 'Its campaign is cancelled or no longer stored, so nothing of it is sent.',
  capped: 'WhatsApp lets nobody send marketing to this person for now; see `capped_until` of the message.',
  sender_removed: 'Its sender was removed, so it cannot be sent again.',
  without_content: 'Its content is no longer stored, so it cannot be sent again.',
}
export type RequeueVerdict = StepVerdict | Obstacle
