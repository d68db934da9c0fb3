// One attempt for a message, top to bottom: claim -> wait for its slot -> send -> judge -> settle. Where the message came
// from, a job of its own or a chunk of a campaign, makes no difference here.
//
// Where the process may die, and what happens then:
// - before the claim: nothing was written; whoever takes the job or the chunk up again finds the message as it was.
// - after the claim: the record says `sending` under this attempt. Whoever comes to it again finds that and does not
//   send: the message is unconfirmed. The sweep finds it as well, job or no job.
// - after the request left: the same; evidence settles it, or its policy decides.
// - after settling: only the log line is lost; another claim is refused.
import { setSentAfterBlock } from '../accounts/store/senders.ts'
import { notifyCampaign } from '../campaigns/fan-out/notify-campaign.ts'
import type { Config } from '../config.ts'
import { coolLane } from '../lanes/cooldown.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Log } from '../log.ts'
import { FIRST_POLL_MS, messageBackoffMs } from '../messages/backoff.ts'
import type { Content } from '../messages/content.ts'
import type { MessageClass } from '../messages/message-class.ts'
import { acceptedAtMs, type MessageId, newAttemptId } from '../messages/message-id.ts'
import { type Outcome, outcomeOf } from '../messages/outcome.ts'
import { type Pace, paceOf } from '../messages/pace.ts'
import { type ClaimResult, claim, putOff, type Slot } from '../messages/store/claim.ts'
import type { NewMessage } from '../messages/store/record-format.ts'
import { readMessage } from '../messages/store/records.ts'
import { recordSent } from '../messages/store/settle-sent.ts'
import { markNotSent, markUnconfirmed, recordStatus } from '../messages/store/steps.ts'
import { observerOf } from '../observe.ts'
import { heedRefusal } from '../opt-outs/commands/heed.ts'
import type { Redis } from '../redis/connect.ts'
import { type SpanEnd, traceSend, traceSettle } from '../tracing.ts'
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
export const CLAIM_GOOD_FOR_MS = 5_000

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
  clearLane: (lane: number, of: MessageClass) => void
}

/** A message that is to be sent. */
export interface Outgoing {
  id: MessageId
  /** The same as users see it. */
  name: string
  /** What its record holds. */
  message: NewMessage
  /** What is sent; with `values` it has holes for these (messages/holes.ts). */
  content: Content
  values?: readonly string[]
  /** Of a message of a campaign's chunk: its recipient's place in the list. */
  place?: number
  /** What its job holds of the trace that it was accepted in. */
  trace?: string | undefined
}

/** A message that may leave in its slot. */
export interface Claimed {
  attempt: string
  slot: Slot | undefined
  pace: Pace
  /** The request must have left by then (`performance.now()`). */
  until: number
}

/**
 * Claims the message. Rejects when Redis is away or full; then nothing may be sent. With a pace and an attempt of its `own`
 * it is told at once when it is too early; else it may wait at the gate of its lane first.
 */
export async function claimMessage(
  deps: SendDeps,
  entry: DirectoryEntry,
  { id, message }: Outgoing,
  own?: { pace: Pace; attempt: string },
): Promise<{ claimed: Claimed } | { refused: ClaimResult }> {
  const attempt = own?.attempt ?? newAttemptId()
  const evidenceWaitMs = entry.bringsEvidence ? deps.config.unconfirmedWaitMs : 0
  const times = { lostAfterMs: lostAfterMs(deps.config), evidenceWaitMs, retentionMs: deps.config.retentionMs }
  const pace = own?.pace ?? paceOf(entry.sender.rate)
  const ask = (asked: Pace): Promise<ClaimResult> => claim(deps.redis, id, attempt, message, times, asked)
  const { claimed: result, askedAt } = own
    ? { askedAt: performance.now(), claimed: await ask(own.pace) }
    : await deps.gates.claim(id.lane, message.class, pace, ask)
  if (result.verdict !== 'done' || result.state !== 'sending') return { refused: result }
  const { slot } = result
  if (slot) deps.clock.heard(id.lane, askedAt, slot.nowMs, performance.now())
  return { claimed: { attempt, slot, pace, until: askedAt + CLAIM_GOOD_FOR_MS } }
}

/**
 * Sends what was claimed and says what becomes of its job. Rejects only when Redis is away or a record is not what
 * Laneway wrote; the sweep settles it then.
 */
export function sendClaimed(
  deps: SendDeps,
  entry: DirectoryEntry,
  outgoing: Outgoing,
  claimed: Claimed,
): Promise<JobEnd> {
  const { id, name, message, trace } = outgoing
  const { provider } = entry.sender
  const { attempt } = claimed
  return traceSend(
    { message: name, lane: id.lane, class: message.class, provider, attempt, carried: trace },
    (traceparent, ended) => sendTraced(deps, entry, outgoing, claimed, { traceparent, ended }),
  )
}

async function sendTraced(
  deps: SendDeps,
  entry: DirectoryEntry,
  { id, name, message, content, values, place }: Outgoing,
  { attempt, slot, pace, until }: Claimed,
  { traceparent, ended }: { traceparent: string | undefined; ended: (end: SpanEnd & { outcome: string }) => void },
): Promise<JobEnd> {
  const { to, campaign, run } = message
  const request = { id: name, attempt, to, content, values, campaign, traceparent }
  let startedAt = performance.now()
  const called = await departure(deps, id.lane, { slot, pace, until }, (leaveBy) => {
    startedAt = performance.now()
    return entry.provider.send(entry.providerSender, request, deps.config.sendTimeoutMs, leaveBy)
  })
  const tookMs = performance.now() - startedAt
  const outcome: Outcome = called ? outcomeOf(called) : tooLate

  // Settle, then say what becomes of the job.
  const end = await traceSettle(() => settle(deps, { id, attempt, to, run, place }, entry, outcome))
  if ('problem' in outcome) await notifyCampaign(deps, id.lane, run, outcome)

  // Report.
  const code = 'problem' in outcome ? outcome.problem.code : undefined
  observerOf(deps.redis).attempted({
    lane: id.lane,
    class: message.class,
    provider: entry.sender.provider,
    outcome: outcome.kind,
    code,
    waitedMs: Math.max(0, Date.now() - tookMs - acceptedAtMs(id.ulid)),
    tookMs: called && tookMs,
  })
  ended({ outcome: outcome.kind, error: code, isFault: outcome.kind !== 'sent' })
  const level = outcome.kind === 'sent' ? 'debug' : 'info'
  deps.log[level]({ message: name, attempt, outcome: outcome.kind, code, ms: Math.round(tookMs) }, 'attempt.finished')
  return end
}

const tooLate: Outcome = {
  kind: 'lane_waits',
  laneMs: 1,
  backoff: false,
  problem: { code: 'woken_late', sentence: 'The worker was stopped before it could send; it is tried again.' },
}

/** A message whose attempt has ended. */
interface Settled {
  id: MessageId
  attempt: string
  to: string
  run: number | undefined
  place: number | undefined
}

async function settle(
  deps: SendDeps,
  { id, attempt, to, run, place }: Settled,
  entry: DirectoryEntry,
  outcome: Outcome,
): Promise<JobEnd> {
  const { redis, config } = deps
  if (outcome.kind !== 'lane_waits' && outcome.kind !== 'unconfirmed') deps.backoff.over(id.lane)
  switch (outcome.kind) {
    case 'sent': {
      const firstPollMs = entry.provider.poll ? FIRST_POLL_MS : undefined
      const { providerId } = outcome
      if (run === undefined || place === undefined)
        await recordStatus(redis, id, attempt, 'sent', { providerId, firstPollMs })
      else await recordSent(redis, { lane: id.lane, ulid: id.ulid, run, place }, attempt, providerId, firstPollMs)
      if (entry.provider.poll) deps.followByPolling(id.lane)
      // The entry was read before the claim, so this message left after the sender was blocked.
      const { blocked_at, sent_after_block } = entry.sender
      if (sent_after_block < blocked_at) await setSentAfterBlock(redis, id.lane, blocked_at)
      return { kind: 'done' }
    }
    case 'failed':
      await heedRefusal(redis, entry.sender.account, to, outcome.problem)
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
export async function waits(deps: SendDeps, id: MessageId, ms: number): Promise<JobEnd> {
  await putOff(deps.redis, id, ms)
  return { kind: 'waits', ms }
}
