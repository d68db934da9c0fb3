// Sweeps one lane: settles attempts whose worker died, unconfirmed messages whose wait is over, and requeued messages
// without a job. Each decision is one fenced step, so that repeating it, or dying between two, changes nothing.

import type { SendPayload } from '../../jobs/send.ts'
import type { Config } from '../../kernel/config.ts'
import { inParallel } from '../../kernel/in-parallel.ts'
import type { Log } from '../../kernel/log.ts'
import { type MessageId, messageId } from '../../kernel/message-id.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import type { SweepState } from '../../lanes/due-lanes.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import { type MessageRecord, readMessage } from '../../lanes/messages/records.ts'
import { giveUp, keepRecord, resolveUnconfirmed, setUnconfirmed } from '../../lanes/messages/steps.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import {
  listForSweep,
  overdueMessages,
  removeFromSweepLists,
  rescheduleSweep,
  type SweepList,
} from '../../lanes/sweep-lists.ts'
import { deadLetter, workerLost } from '../../model/messages/own-problems.ts'
import { createCampaignContent } from '../../recipients/campaign-content.ts'
import { trustedRedisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { campaignKey, inDoubtKey } from '../../redis/keys.ts'
import type { DirectoryEntry, SenderDirectory } from '../sending/sender-directory.ts'

/** Recheck delay for a message that has a job: the job may end without it. */
const RECHECK_MS = 60_000
/** If the job waits, the time of the lane's backlog is added to that, at most this much. */
const RECHECK_AT_MOST_MS = HOUR_MS
/** Retry delay for a message that could not be decided; a person may repair its record or its sender. */
const POSTPONED_MS = 60_000
/** Messages read at a time, and how many of them are decided at once: their commands share round trips. */
const PAGE = 200
const AT_ONCE = 20
/** Time for one list of a lane before the other gets its turn; the rest is due at the next sweep. */
const TURN_MS = 1_000

export interface SweepLaneDeps {
  redis: Redis
  config: Config
  log: Log
  queues: LaneQueues
  directory: SenderDirectory
}

/** The context of a lane's decisions. */
interface Decision {
  nowMs: number
  /** How long the lane needs for its backlog. */
  backlogMs: number
  list: SweepList
}

/**
 * Decides everything due on the lane, attempts in doubt first, within about two seconds; the rest stays due. Resolves also when a message
 * cannot be decided: that one is logged and postponed.
 */
export async function sweepLane(deps: SweepLaneDeps, { lane, backlog }: SweepState): Promise<void> {
  for (const list of ['in_doubt', 'queued_again'] as const) {
    const untilMs = performance.now() + TURN_MS
    for (;;) {
      const [nowMs, entry] = await Promise.all([trustedRedisNowMs(deps.redis, inDoubtKey(lane)), senderOf(deps, lane)])
      const page = await overdueMessages(deps.redis, list, lane, nowMs, PAGE)
      const rate = entry === 'unreadable' ? undefined : entry?.sender.rate
      const decision: Decision = { nowMs, list, backlogMs: rate === undefined ? 0 : (backlog / rate) * 1_000 }
      await inParallel(page, AT_ONCE, (ulid) => decideOrPostpone(deps, entry, { lane, ulid }, decision))
      if (page.length < PAGE || performance.now() > untilMs) break
    }
  }
}

/** With an unreadable sender its messages are postponed one by one, as if each were unreadable itself. */
const senderOf = async (deps: SweepLaneDeps, lane: number): Promise<DirectoryEntry | 'unreadable' | undefined> => {
  try {
    return await deps.directory.of(lane)
  } catch (error) {
    if (isRedisAway(error)) throw error
    deps.log.error({ lane, err: error }, 'sweep.failed')
    return 'unreadable'
  }
}

async function decideOrPostpone(
  deps: SweepLaneDeps,
  entry: DirectoryEntry | 'unreadable' | undefined,
  id: MessageId,
  decision: Decision,
): Promise<void> {
  const later = () => rescheduleSweep(deps.redis, decision.list, id.lane, [id.ulid], decision.nowMs + POSTPONED_MS)
  if (entry === 'unreadable') return later()
  try {
    await decide(deps, entry, id, decision)
  } catch (error) {
    if (isRedisAway(error)) throw error
    deps.log.error({ message: messageId(id.lane, id.ulid), err: error }, 'sweep.failed')
    // Left at the head of the list, enough of them would block all others.
    await later()
  }
}

async function decide(
  deps: SweepLaneDeps,
  entry: DirectoryEntry | undefined,
  id: MessageId,
  decision: Decision,
): Promise<void> {
  if (!entry) return removeFromSweepLists(deps.redis, id)
  const record = await readMessage(deps.redis, id)
  if (record?.state === 'queued' && decision.list === 'queued_again') {
    // It may wait for long, as on a paused lane, and its record must not expire meanwhile.
    await keepRecord(deps.redis, id, deps.config.retentionMs)
    // Its index entry would expire with its validity and the retention.
    if (decision.nowMs > record.validUntil) {
      const keptUntilMs = decision.nowMs + deps.config.retentionMs
      await archiveOf(deps.redis).put({ lane: id.lane, ulids: [id.ulid], keptUntilMs })
    }
    if (await isPaused(deps.redis, id.lane, record.run)) {
      // Every worker would only drop its job. A resume makes it due.
      return rescheduleSweep(deps.redis, 'queued_again', id.lane, [id.ulid], decision.nowMs + RECHECK_AT_MOST_MS)
    }
    return ensureJob(deps, id, record, decision)
  }
  if (record?.state === 'sending' && decision.list === 'in_doubt') {
    const evidenceMs = entry.bringsEvidence ? deps.config.unconfirmedWaitMs : 0
    await setUnconfirmed(deps.redis, id, record.attempt, { problem: workerLost, evidenceMs })
    return
  }
  if (record?.state === 'unconfirmed' && decision.list === 'in_doubt') {
    const repeat = entry.repeat[record.class]
    const result = await resolveUnconfirmed(deps.redis, id, record.attempt, repeat, deps.config.maxTries)
    const state = 'state' in result ? result.state : result.verdict
    deps.log.info({ message: messageId(id.lane, id.ulid), state }, 'unconfirmed.resolved')
    if (state === 'queued') await ensureJob(deps, id, await readMessage(deps.redis, id), decision)
    return
  }
  // Gone or over.
  await listForSweep(deps.redis, id)
}

/** Whether the campaign of a message waits for a person. */
const isPaused = async (redis: Redis, lane: number, campaign: number | undefined): Promise<boolean> =>
  campaign !== undefined && (await redis.hget(campaignKey(lane, campaign), 'state')) === 'paused'

/** The content of the message: stored with it, or rebuilt for a campaign's message. */
async function payloadOf(
  redis: Redis,
  { lane }: MessageId,
  record: MessageRecord | undefined,
): Promise<SendPayload | undefined> {
  const stored = payloadText.safeParse(record?.payload)
  if (stored.success) return stored.data
  if (record?.run === undefined) return undefined
  return createCampaignContent(redis, lane).payloadOf({ ...record, run: record.run })
}

/** Makes sure that a message that is to be sent again has a job, and that this is no dead letter. */
async function ensureJob(
  deps: SweepLaneDeps,
  id: MessageId,
  record: MessageRecord | undefined,
  { nowMs, backlogMs }: Decision,
): Promise<void> {
  const name = messageId(id.lane, id.ulid)
  const { text, isDead } = await readJob(deps.redis, id.lane, name)
  const isThere = text !== null
  const backlogWaitMs = isThere ? Math.min(backlogMs, RECHECK_AT_MOST_MS) : 0
  const againAt = nowMs + RECHECK_MS + backlogWaitMs
  if (isThere) {
    if (!isDead) return rescheduleSweep(deps.redis, 'queued_again', id.lane, [id.ulid], againAt)
    await giveUp(deps.redis, id, 'dead', deadLetter)
    return
  }
  const payload = await payloadOf(deps.redis, id, record)
  if (payload === undefined) {
    const problem = { code: 'content_lost', sentence: 'Its content is no longer stored, so it cannot be sent again.' }
    await giveUp(deps.redis, id, 'content', problem)
    return
  }
  // Dying between these two lines is harmless: the next sweep adds the same job again, which changes nothing.
  const until = record?.validUntil ?? payload.until
  // Should its record be lost meanwhile, its job says that an earlier one may have gone out.
  const isRepeat = (record?.repeats ?? 0) > 0
  const again = { id: name, payload: { ...payload, until, ...(isRepeat && { again: true as const }) } }
  await deps.queues.addMany([again], 'again')
  await rescheduleSweep(deps.redis, 'queued_again', id.lane, [id.ulid], againAt)
}
