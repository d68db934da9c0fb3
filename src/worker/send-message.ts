// The life of one attempt, top to bottom: load -> claim -> wait for its slot -> send -> judge -> settle -> report.
//
// Where the process may die, and what happens then:
// - before the claim: nothing was written; the job is taken up again.
// - after the claim: the record says `sending` under this attempt. Whoever takes the job up again finds that and does
//   not send: the message is unconfirmed. The sweep finds it as well, should the job be gone.
// - after the request left: the same; evidence settles it, or its policy decides.
// - after settling: only the log line is lost; a job that runs again is refused by the claim.
import type { Job } from 'bullmq'
import { SealError } from '../accounts/seal.ts'
import { setSentAfterBlock } from '../accounts/store/senders.ts'
import { notifyCampaign } from '../campaigns/fan-out/notify-campaign.ts'
import type { Config } from '../config.ts'
import { type SendPayload, sendPayloadSchema } from '../jobs/send.ts'
import { coolLane } from '../lanes/cooldown.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { FIRST_POLL_MS, messageBackoffMs } from '../messages/backoff.ts'
import { type MessageId, newAttemptId, parseMessageId } from '../messages/message-id.ts'
import { type Outcome, outcomeOf } from '../messages/outcome.ts'
import { paceOf } from '../messages/pace.ts'
import { claim, putOff } from '../messages/store/claim.ts'
import { conclude } from '../messages/store/conclude.ts'
import { newMessageOf } from '../messages/store/record-format.ts'
import { readMessage } from '../messages/store/records.ts'
import { markNotSent, markUnconfirmed, recordStatus } from '../messages/store/steps.ts'
import type { Redis } from '../redis/connect.ts'
import { CorruptRecordError } from '../redis/corrupt-record.ts'
import { blockSender, isOneMessageAlone } from './block-sender.ts'
import type { JobEnd } from './bullmq.ts'
import type { ClaimGates } from './claim-gate.ts'
import { departure } from './departure.ts'
import type { LaneBackoff } from './lane-backoff.ts'
import type { RedisClock } from './redis-clock.ts'
import type { DirectoryEntry, SenderDirectory } from './sender-directory.ts'

/**
 * The request must leave within this time of its claim. A process that was frozen in between and wakes up later
 * proves its own attempt unsent instead of sending what somebody else may have settled by now.
 */
const CLAIM_GOOD_FOR_MS = 5_000

/** After this long the sweep takes a claimed message for lost: guard, call and settling (5 s, as in message-claim.lua). */
export const lostAfterMs = (config: Pick<Config, 'sendTimeoutMs'>): number =>
  CLAIM_GOOD_FOR_MS + config.sendTimeoutMs + 5_000

/** What an attempt needs; one for the whole process. */
export interface SendDeps {
  redis: Redis
  config: Config
  log: Log
  lanes: LaneQueues
  directory: SenderDirectory
  backoff: LaneBackoff
  clock: RedisClock
  gates: ClaimGates
  /** Called when a message was sent on a wire that must be polled. */
  followByPolling: (lane: number) => void
  /** Called when a message must not leave: there may be many more of its class on the lane. */
  clearLane: (lane: number, of: SendPayload['class']) => void
}

/**
 * Makes one attempt for the message of a job and says what becomes of the job. Rejects only when Redis is away or full,
 * or a record is not what Laneway wrote; then nothing was sent, or the sweep settles what was.
 */
export async function sendMessage(deps: SendDeps, job: Job): Promise<JobEnd> {
  // Load.
  const id = parseMessageId(job.id ?? '')
  const payload = sendPayloadSchema.safeParse(job.data)
  if (!id) return { kind: 'dead_letter', reason: 'the job id is not a message id' }
  if (!payload.success) {
    // The place and the rule, not the sentence: that quotes what a person was to read, and this reason is logged.
    const [issue] = payload.error.issues
    return { kind: 'dead_letter', reason: `payload does not parse: ${issue?.path.join('.')} (${issue?.code})` }
  }
  const entry = await senderOf(deps, id.lane)
  if (entry === 'unreadable') {
    const ms = deps.backoff.waitMs(id.lane, unreadableSender)
    await coolLane(deps.redis, id.lane, ms, unreadableSender.problem)
    return { kind: 'lane_waits', ms }
  }
  if (!entry) return { kind: 'dead_letter', reason: `lane ${id.lane} has no sender` }

  // Claim.
  const attempt = newAttemptId()
  const { content, to, campaign, run } = payload.data
  const message = newMessageOf(payload.data)
  const evidenceWaitMs = entry.bringsEvidence ? deps.config.unconfirmedWaitMs : 0
  const times = { lostAfterMs: lostAfterMs(deps.config), evidenceWaitMs, retentionMs: deps.config.retentionMs }
  const pace = paceOf(entry.sender.rate)
  const { claimed, askedAt: claimAskedAt } = await deps.gates.claim(id.lane, message.class, pace, (asked) =>
    claim(deps.redis, id, attempt, message, times, asked),
  )
  if (claimed.verdict === 'lane_cooldown' || claimed.verdict === 'too_early') {
    return { kind: 'lane_waits', ms: claimed.waitMs }
  }
  if (claimed.verdict === 'message_waits') return { kind: 'waits', ms: claimed.waitMs }
  if (claimed.verdict === 'recipient_cooldown') return waits(deps, id, claimed.waitMs)
  if (claimed.verdict === 'gone') await conclude(deps.redis, id, 'gone', payload.data, deps.config.retentionMs)
  if (claimed.verdict !== 'done' || claimed.state !== 'sending') {
    deps.log.info({ message: job.id, verdict: claimed.verdict, state: claimed.state }, 'attempt.refused')
    // Where one must not leave there may be thousands.
    const mustNotLeave = claimed.state === 'expired' || claimed.state === 'cancelled'
    if (claimed.verdict === 'stopped' || mustNotLeave) deps.clearLane(id.lane, payload.data.class)
    return { kind: 'done' }
  }
  const { slot } = claimed
  if (slot) deps.clock.heard(claimAskedAt, slot.nowMs, performance.now())

  // Send, in its slot.
  const request = { id: job.id ?? '', attempt, to, content, campaign }
  let startedAt = performance.now()
  const until = claimAskedAt + CLAIM_GOOD_FOR_MS
  const called = await departure(deps, id.lane, { slot, pace, until }, (leaveBy) => {
    startedAt = performance.now()
    return entry.provider.send(entry.providerSender, request, deps.config.sendTimeoutMs, leaveBy)
  })
  const outcome: Outcome = called ? outcomeOf(called) : tooLate

  // Settle, then say what becomes of the job.
  const end = await settle(deps, id, { attempt, to }, entry, outcome)
  if ('problem' in outcome) await notifyCampaign(deps, id.lane, run, outcome)

  // Report.
  const code = 'problem' in outcome ? outcome.problem.code : undefined
  const ms = Math.round(performance.now() - startedAt)
  deps.log.debug({ message: job.id, attempt, outcome: outcome.kind, code, ms }, 'attempt.finished')
  return end
}

/**
 * The lane's sender. `unreadable`: its token was sealed under another key, or its record is broken. That is a person's
 * to mend and no fault of the messages, so they wait; failing their jobs would make dead letters of the whole lane.
 */
async function senderOf(deps: SendDeps, lane: number): Promise<DirectoryEntry | 'unreadable' | undefined> {
  try {
    return await deps.directory.of(lane)
  } catch (error) {
    if (!(error instanceof SealError || error instanceof CorruptRecordError)) throw error
    deps.log.debug({ lane, err: error }, 'sender.unreadable')
    return 'unreadable'
  }
}

const unreadableSender = {
  laneMs: 1_000,
  backoff: true,
  problem: {
    code: 'sender_unreadable',
    sentence: 'The token of the sender cannot be opened, or its record is broken.',
  },
}

const tooLate: Outcome = {
  kind: 'lane_waits',
  laneMs: 1,
  backoff: false,
  problem: { code: 'woken_late', sentence: 'The worker was stopped before it could send; it is tried again.' },
}

async function settle(
  deps: SendDeps,
  id: MessageId,
  { attempt, to }: { attempt: string; to: string },
  entry: DirectoryEntry,
  outcome: Outcome,
): Promise<JobEnd> {
  const { redis, config } = deps
  if (outcome.kind !== 'lane_waits' && outcome.kind !== 'unconfirmed') deps.backoff.over(id.lane)
  switch (outcome.kind) {
    case 'sent': {
      const firstPollMs = entry.provider.poll ? FIRST_POLL_MS : undefined
      await recordStatus(redis, id, attempt, 'sent', { providerId: outcome.providerId, firstPollMs })
      if (entry.provider.poll) deps.followByPolling(id.lane)
      // The entry was read before the claim, so this message left after the sender was blocked.
      const { blocked_at, sent_after_block } = entry.sender
      if (sent_after_block < blocked_at) await setSentAfterBlock(redis, id.lane, blocked_at)
      return { kind: 'done' }
    }
    case 'failed':
      await recordStatus(redis, id, attempt, 'failed', { problem: outcome.problem })
      return { kind: 'done' }

    case 'lane_waits': {
      const ms = deps.backoff.waitMs(id.lane, outcome)
      const cooldown = { of: 'lane', ms } as const
      await markNotSent(redis, id, attempt, {
        counts: false,
        maxTries: config.maxTries,
        problem: outcome.problem,
        cooldown,
      })
      return { kind: 'lane_waits', ms }
    }
    case 'message_waits': {
      const how = { counts: true, maxTries: config.maxTries, problem: outcome.problem }
      const result = await markNotSent(redis, id, attempt, how)
      if (result.verdict !== 'done' || result.state !== 'queued') return { kind: 'done' }
      const tries = (await readMessage(redis, id))?.tries ?? 1
      return waits(deps, id, outcome.retryAfterMs ?? messageBackoffMs(tries, Math.random()))
    }
    case 'recipient_waits': {
      const cooldown = { of: 'recipient', to, leastMs: outcome.leastMs } as const
      const how = { counts: false, maxTries: config.maxTries, problem: outcome.problem, cooldown }
      const result = await markNotSent(redis, id, attempt, how)
      // Without an answer to that it was settled before, and the next claim finds the cooldown.
      return waits(deps, id, ('waitMs' in result ? result.waitMs : undefined) ?? 1_000)
    }
    case 'sender_blocked':
      if (await isOneMessageAlone(redis, id, outcome.problem.code)) {
        await recordStatus(redis, id, attempt, 'failed', { problem: outcome.problem })
        return { kind: 'done' }
      }
      await markNotSent(redis, id, attempt, { counts: false, maxTries: config.maxTries, problem: outcome.problem })
      await blockSender(deps, id.lane, outcome.problem)
      // Behind the others: should it be this message that the chat product refuses, they are sent when the lane resumes.
      return { kind: 'waits', ms: 1_000 }

    case 'unconfirmed': {
      const waitMs = entry.bringsEvidence ? config.unconfirmedWaitMs : 0
      await markUnconfirmed(redis, id, attempt, { problem: outcome.problem, waitMs })
      if (outcome.blocksSender) await blockSender(deps, id.lane, outcome.problem)
      const ms = deps.backoff.unprovenMs(id.lane, outcome.problem)
      if (ms === 0) return { kind: 'done' }
      await coolLane(redis, id.lane, ms, outcome.problem)
      return { kind: 'done_lane_waits', ms }
    }
  }
}

/** Only this message waits. Dying before the job is put off too is harmless: the next claim is refused for so long. */
async function waits(deps: SendDeps, id: MessageId, ms: number): Promise<JobEnd> {
  await putOff(deps.redis, id, ms)
  return { kind: 'waits', ms }
}
