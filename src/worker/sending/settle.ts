// Writes the end of an attempt and returns what becomes of it. Where the process may die: before a write the
// message is still `sending` under this attempt, and the sweep finds it; after it only the wait is left to do.
//
// Consequences of an outcome are written after it and may fail on their own: a full Redis accepts the step of the message and
// refuses plain writes (`bestEffort`).
//
// Each outcome has a function of its own: a single one would need 2 KB for each message, and almost all are simply
// sent.
import { findSender, setSentAfterBlock } from '../../accounts/senders.ts'
import type { CampaignRefusals } from '../../campaigns/fan-out/circuit-breaker.ts'
import { messageBackoffMs } from '../../kernel/backoff.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { masked } from '../../kernel/masked.ts'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { coolForProbe, endLaneCooldown, endProbing } from '../../lanes/cooldown.ts'
import { delayMessage } from '../../lanes/messages/claim.ts'
import { readMessage } from '../../lanes/messages/records.ts'
import { recordSent, recordStatus, setNotSent, setUnconfirmed } from '../../lanes/messages/steps.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { markLane } from '../../lanes/wake.ts'
import { HISTORY, readHistory } from '../../model/messages/history.ts'
import type { Outcome, Problem } from '../../model/messages/outcome.ts'
import { FIRST_POLL_MS } from '../../model/messages/poll-schedule.ts'
import { HAD_ENOUGH } from '../../model/messages/provider-codes.ts'
import type { NameMemory } from '../../people/name-memory.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import { keepHeldPlace, releaseHeldPlace } from '../../portfolios/held-places.ts'
import { type Counted, commitCount, refundCount } from '../../portfolios/rules.ts'
import type { RulesOwner } from '../../portfolios/rules-owner.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { actOn, FIRST_WAIT_MS } from '../../reports/act-on-problem.ts'
import { applyProviderOptOut } from '../../reports/apply-opt-outs.ts'
import { applyAnswer } from '../../reports/apply-report.ts'
import { learnNames } from '../../reports/learn-names.ts'
import type { Candidate } from './candidate.ts'
import type { LaneBackoff } from './lane-backoff.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { untilWritten } from './until-written.ts'

/** Dependencies of settling; one for the whole process. */
export interface SettleDeps {
  redis: Redis
  config: Pick<Config, 'maxTries' | 'unconfirmedWaitMs' | 'capMs' | 'retentionMs'>
  log: Log
  lanes: LaneQueues
  backoff: LaneBackoff
  refusals: CampaignRefusals
  tombstones: Tombstones
  nameMemory: NameMemory
  /** Called when a message was sent on a wire that must be polled. */
  followByPolling: (lane: number) => void
}

/** A message whose attempt has ended. */
export interface Attempted {
  id: MessageId
  attempt: string
  to: string
  /** First of the names of its person, if it has another. */
  person?: string | undefined
  /** Number of the campaign that it belongs to. */
  run: number | undefined
  /** The rest of its lane waits until it is settled. */
  isProbe?: boolean | undefined
  /** Laneway itself refused it, so no request was made: its end shows nothing about the provider. */
  isUnasked?: boolean | undefined
  /** What was counted for it under WhatsApp's rules. */
  counted?: Counted | undefined
}

/** What becomes of a message after its attempt. */
export type AttemptEnd =
  /** Nothing more, whatever the outcome: see its record. */
  | { kind: 'done' }
  /** Only this message waits. */
  | { kind: 'waits'; ms: number }
  /** The whole lane waits; the message goes back to the front. */
  | { kind: 'lane_waits'; ms: number }
  /** Nothing more, and the whole lane waits. */
  | { kind: 'done_lane_waits'; ms: number }

type Of<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>

const DONE: AttemptEnd = { kind: 'done' }

/** Outcomes that do not show that the provider works. */
const WITHOUT_ANSWER: ReadonlySet<Outcome['kind']> = new Set([
  'not_asked',
  'lane_waits',
  'campaigns_rest',
  'unconfirmed',
])

/**
 * A lane whose provider does not answer waits as long as one that cannot be reached; a lane that
 * gets a proxy's error pages may wait longer.
 */
const OUTAGE_MOST_MS = 30_000
const PAGES_MOST_MS = 300_000
/** How long a message waits whose refusal blocked its sender. */
const BLOCKED_WAIT_MS = 1_000

/**
 * Writes the end of an attempt, however long Redis refuses it, and returns what becomes of it. Rejects only when a
 * record is not one that Laneway wrote, when Redis is away for ten minutes, or when this worker's connection was closed; the
 * sweep settles it then.
 */
export async function settle(
  deps: SettleDeps,
  entry: DirectoryEntry,
  message: Attempted,
  outcome: Outcome,
): Promise<AttemptEnd> {
  const { lane } = message.id
  const isAnswered = !message.isUnasked && !WITHOUT_ANSWER.has(outcome.kind)
  if (isAnswered) deps.backoff.over(lane)
  const end = await settleAs(deps, entry, message, outcome)
  if (message.counted) await settleCounted(deps, entry, message, message.counted, outcome)
  if (message.isProbe && isAnswered) {
    await bestEffort(deps.log, message.id, async () => {
      await endProbing(deps.redis, lane)
      deps.log.info({ lane }, 'lane.recovered')
    })
  }
  // The next message becomes the probe.
  if (message.isProbe && message.isUnasked)
    await bestEffort(deps.log, message.id, () => endLaneCooldown(deps.redis, lane))
  return end
}

/**
 * Refunds what was counted for a message proven unsent, and starts the 24 hours of one that was sent. Frees a held place that the
 * message does not need.
 */
async function settleCounted(
  { redis, log }: SettleDeps,
  { rules }: DirectoryEntry,
  { id }: Attempted,
  counted: Counted,
  outcome: Outcome,
): Promise<void> {
  if (outcome.kind === 'unconfirmed') return
  if (outcome.kind !== 'sent') {
    await bestEffort(log, id, () => refundCount(redis, rules, counted))
    return
  }
  if (counted.counted) await bestEffort(log, id, () => commitCount(redis, rules, counted.names))
  if (counted.hasHeldPlace && !outcome.isHeld)
    await bestEffort(log, id, () => releaseHeldPlace(redis, rules, counted.name))
}

/**
 * Runs a consequence of an outcome. Never rejects: if Redis refuses it, it is lost and logged, and the result is undefined.
 * The caller's comment explains how a lost one is made up for.
 */
export async function bestEffort<T>(
  log: Log,
  { lane, ulid }: MessageId,
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step()
  } catch (error) {
    log[isRedisAway(error) ? 'warn' : 'error']({ message: messageId(lane, ulid), err: error }, 'attempt.follow_up_lost')
    return undefined
  }
}

function settleAs(deps: SettleDeps, entry: DirectoryEntry, message: Attempted, outcome: Outcome): Promise<AttemptEnd> {
  switch (outcome.kind) {
    case 'sent':
      return sent(deps, entry, message, outcome)
    case 'failed':
      return failed(deps, entry, message, outcome)
    case 'not_asked':
      return goesBack(deps, message, outcome)
    case 'lane_waits':
      return laneWaits(deps, message, outcome)
    case 'campaigns_rest':
      return campaignsRest(deps, message, outcome)
    case 'message_waits':
      return messageWaits(deps, message, outcome)
    case 'recipient_waits':
      return recipientWaits(deps, message, outcome)
    case 'sender_blocked':
      return senderBlocked(deps, message, outcome)
    case 'unconfirmed':
      return unconfirmed(deps, entry, message, outcome)
  }
}

/** Whether nothing follows from an outcome but that the message is sent, as from almost all. */
export function isSimplySent({ entry, counted, isProbe }: Candidate, outcome: Outcome): outcome is Of<'sent'> {
  if (outcome.kind !== 'sent' || counted !== undefined || isProbe) return false
  const { blocked_at, sent_after_block } = entry.sender
  return (
    !outcome.isHeld && outcome.knownAs === undefined && outcome.word === undefined && sent_after_block >= blocked_at
  )
}

/** Settles a message that is simply sent, together with others. After a rejection it is to be settled by `settle`. */
export function settleSent(
  { redis, backoff, refusals, followByPolling }: SettleDeps,
  { id, attempt, message, entry, waitsAs }: Candidate,
  { providerId }: Of<'sent'>,
): Promise<void> {
  backoff.over(id.lane)
  noteSent(refusals, id, message.run)
  const { run, class: of } = message
  const isPolled = entry.provider.poll !== undefined
  const firstPollMs = isPolled ? FIRST_POLL_MS : undefined
  const recorded = recordSent(redis, {
    id,
    attempt,
    providerId,
    hasJob: waitsAs === 'job',
    firstPollMs,
    run,
    class: of,
  })
  return isPolled ? recorded.then(() => followByPolling(id.lane)) : recorded
}

/** Noted before it is written: a refusal that arrives in between must not count as one more in a row. */
function noteSent(refusals: CampaignRefusals, { lane }: MessageId, run: number | undefined): void {
  if (run !== undefined) refusals.over({ lane, number: run })
}

async function sent(
  { redis, log, refusals, tombstones, nameMemory, followByPolling }: SettleDeps,
  { sender, provider, rules }: DirectoryEntry,
  { id, attempt, to, run }: Attempted,
  { providerId, isHeld, knownAs, word }: Of<'sent'>,
): Promise<AttemptEnd> {
  noteSent(refusals, id, run)
  // The entry was read before the claim, so this message left after the sender was blocked. If the note is lost, the next
  // message that is sent writes it.
  const { blocked_at, sent_after_block } = sender
  const isFirst = sent_after_block < blocked_at
  const noted = isFirst && bestEffort(log, id, () => setSentAfterBlock(redis, id.lane, blocked_at))
  const firstPollMs = provider.poll ? FIRST_POLL_MS : undefined
  // Before the record: dying in between leaves a place for a message that is not held, which recovery/stale-places.ts releases.
  // A held message without a place would go unnoticed, and too many would be sent.
  const keepPlace = () => keepHeldPlace(redis, rules, messageId(id.lane, id.ulid))
  if (isHeld) await bestEffort(log, id, () => untilWritten(redis, keepPlace))
  const how = { providerId, firstPollMs, isHeldBack: isHeld, word }
  await untilWritten(redis, () => recordStatus(redis, id, attempt, 'sent', how))
  if (isHeld) await bestEffort(log, id, () => releaseUnheld(redis, rules, id))
  if (provider.poll) followByPolling(id.lane)
  const names = knownAs && [...knownAs, to]
  if (names && nameMemory.isNew(sender.account, names)) {
    const naming = { names, asOf: acceptedAtMs(id.ulid), isReported: true, sentTo: to }
    // If this is lost, the reply to the next message to them brings it.
    const learned = await bestEffort(log, id, () => learnNames({ redis, tombstones }, sender.account, [naming]))
    if (learned?.length !== 1) nameMemory.forget(sender.account, names)
  }
  await noted
  return DONE
}

/** The webhook that ends a hold may arrive before the reply that reported it is written: then nothing is held any more. */
async function releaseUnheld(redis: Redis, rules: RulesOwner, id: MessageId): Promise<void> {
  const isHeld = (await readMessage(redis, id))?.heldSince !== undefined
  if (!isHeld) await releaseHeldPlace(redis, rules, messageId(id.lane, id.ulid))
}

async function failed(
  deps: SettleDeps,
  { sender }: DirectoryEntry,
  message: Attempted,
  outcome: Of<'failed'>,
): Promise<AttemptEnd> {
  const { id, run, to } = message
  const { problem } = outcome
  if (run !== undefined) {
    const acted = await bestEffort(deps.log, id, () => actOn(deps, { lane: id.lane, run }, outcome))
    // The try counts, so that a message that alone gets such answers fails in the end instead of pausing the campaign again and
    // again. If the pause is unknown, the message stays queued as well: the next refusal pauses the campaign.
    if (acted === undefined || acted.isOfCampaign) {
      return messageWaits(deps, message, { problem, retryAfterMs: undefined })
    }
  }
  if (problem.code === HAD_ENOUGH) {
    const report = { id, attempt: message.attempt, status: 'failed', problem } as const
    const waitMs = await untilWritten(deps.redis, () => applyAnswer(deps, sender, report))
    // The next wave of its campaign.
    return waitMs === undefined ? DONE : { kind: 'waits', ms: waitMs }
  }
  // Before the outcome, since after that nobody would examine this refusal again. If it is lost, WhatsApp refuses
  // the next such message to them with the same code.
  await bestEffort(deps.log, id, () => applyProviderOptOut(deps.redis, sender.account, to, problem))
  return fails(deps, message, problem)
}

async function fails(
  { redis }: Pick<SettleDeps, 'redis'>,
  { id, attempt }: Attempted,
  problem: Problem,
): Promise<AttemptEnd> {
  await untilWritten(redis, () => recordStatus(redis, id, attempt, 'failed', { problem }))
  return DONE
}

async function goesBack(
  { redis, config, log }: SettleDeps,
  { id, attempt, isProbe }: Attempted,
  { problem }: Of<'not_asked'>,
): Promise<AttemptEnd> {
  const how = { counts: false, maxTries: config.maxTries, problem }
  await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  // The next message becomes the probe.
  if (isProbe) await bestEffort(log, id, () => endLaneCooldown(redis, id.lane))
  return { kind: 'lane_waits', ms: 1 }
}

async function laneWaits(
  deps: SettleDeps,
  { id, attempt, isProbe }: Attempted,
  outcome: Of<'lane_waits'>,
): Promise<AttemptEnd> {
  const { redis, config, backoff, log } = deps
  const { problem } = outcome
  const ms = backoff.waitMs(id.lane, outcome)
  const cooldown = { of: 'lane', ms } as const
  const how = { counts: false, maxTries: config.maxTries, problem, cooldown }
  await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  // If this is lost, the next answer that the lane is too fast brings it.
  await bestEffort(log, id, () => actOn(deps, { lane: id.lane }, outcome))
  if (!isProbe) return { kind: 'lane_waits', ms }
  const wait = { firstMs: ms, mostMs: OUTAGE_MOST_MS, isProbe }
  const probed = await bestEffort(log, id, () => coolForProbe(redis, id.lane, wait, problem))
  return { kind: 'lane_waits', ms: probed?.ms ?? ms }
}

async function campaignsRest(
  deps: SettleDeps,
  { id, attempt, isProbe }: Attempted,
  outcome: Of<'campaigns_rest'>,
): Promise<AttemptEnd> {
  const { redis, config, log } = deps
  const { problem } = outcome
  // If this is lost, the next refusal brings it.
  const acted = await bestEffort(log, id, () => actOn(deps, { lane: id.lane, isProbe }, outcome))
  const how = { counts: false, maxTries: config.maxTries, problem }
  await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  return { kind: 'lane_waits', ms: acted?.waitMs ?? FIRST_WAIT_MS }
}

async function messageWaits(
  deps: SettleDeps,
  { id, attempt }: Attempted,
  { problem, retryAfterMs }: Omit<Of<'message_waits'>, 'kind'>,
): Promise<AttemptEnd> {
  const { redis, config } = deps
  const tries = ((await untilWritten(redis, () => readMessage(redis, id)))?.tries ?? 0) + 1
  const retryMs = retryAfterMs ?? messageBackoffMs(tries, Math.random())
  const how = { counts: true, maxTries: config.maxTries, problem, retryMs }
  const result = await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  if (result.verdict !== 'done' || result.state !== 'queued') return DONE
  return waitsAfter(deps, id, retryMs)
}

async function recipientWaits(
  deps: SettleDeps,
  { id, attempt, to, person = to }: Attempted,
  { problem, leastMs }: Of<'recipient_waits'>,
): Promise<AttemptEnd> {
  const { redis, config } = deps
  const cooldown = { of: 'recipient', person, leastMs } as const
  const how = { counts: false, maxTries: config.maxTries, problem, cooldown }
  const result = await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  // No wait in the result: it was settled before, and the next claim finds the cooldown.
  return waitsAfter(deps, id, ('waitMs' in result ? result.waitMs : undefined) ?? 1_000)
}

async function senderBlocked(deps: SettleDeps, message: Attempted, outcome: Of<'sender_blocked'>): Promise<AttemptEnd> {
  const { redis, config, log } = deps
  const { problem } = outcome
  const { id, attempt } = message
  if (await untilWritten(redis, () => isOneMessageAlone(redis, id, problem.code))) return fails(deps, message, problem)
  // Behind the others: if it is this message that WhatsApp refuses, they are sent when the lane resumes.
  const how = { counts: false, maxTries: config.maxTries, problem, retryMs: BLOCKED_WAIT_MS }
  await untilWritten(redis, () => setNotSent(redis, id, attempt, how))
  // If this is lost, the next message that is refused for the same reason brings it.
  await bestEffort(log, id, () => actOn(deps, { lane: id.lane }, outcome))
  return { kind: 'waits', ms: BLOCKED_WAIT_MS }
}

async function unconfirmed(
  deps: SettleDeps,
  { bringsEvidence }: DirectoryEntry,
  { id, attempt, isProbe = false }: Attempted,
  outcome: Of<'unconfirmed'>,
): Promise<AttemptEnd> {
  const { redis, config, backoff, log } = deps
  const { problem, coolsLane } = outcome
  // Count before the first await: a success that arrives later resets the streak.
  const isOutage = backoff.isOutage(id.lane)
  const doubt = { problem, evidenceMs: bringsEvidence ? config.unconfirmedWaitMs : 0 }
  await untilWritten(redis, () => setUnconfirmed(redis, id, attempt, doubt))
  // The sweep may expect nothing of this lane before the attempt would be lost. If the mark is lost, it
  // decides only then.
  await bestEffort(log, id, () => markLane(redis, id.lane))
  await bestEffort(log, id, () => actOn(deps, { lane: id.lane }, outcome))
  if (!isOutage && !coolsLane && !isProbe) return DONE
  const wait = { firstMs: FIRST_WAIT_MS, mostMs: coolsLane ? PAGES_MOST_MS : OUTAGE_MOST_MS, isProbe }
  const { ms, isNew } = (await bestEffort(log, id, () => coolForProbe(redis, id.lane, wait, problem))) ?? {
    ms: FIRST_WAIT_MS,
    isNew: false,
  }
  const { code, sentence } = problem
  if (isNew) log.warn({ lane: id.lane, code, sentence: masked(sentence), wait_ms: ms }, 'lane.cooldown')
  return { kind: 'done_lane_waits', ms }
}

/** Like `waits`, but best effort: the record has until when it waits. */
async function waitsAfter({ redis, log }: SettleDeps, id: MessageId, ms: number): Promise<AttemptEnd> {
  await bestEffort(log, id, () => delayMessage(redis, id, ms))
  return { kind: 'waits', ms }
}

/** Only this message waits. Dying before its job is put off too is harmless: its claims are refused until then. */
export async function waits(redis: Redis, id: MessageId, ms: number): Promise<AttemptEnd> {
  await delayMessage(redis, id, ms)
  return { kind: 'waits', ms }
}

/**
 * Whether the refusal is about this message and not about its sender: it was refused with the same code before, and
 * another message of the sender was claimed after that and sent.
 */
async function isOneMessageAlone(redis: Redis, id: MessageId, code: string): Promise<boolean> {
  const record = await readMessage(redis, id)
  const history = readHistory(record?.history ?? '', acceptedAtMs(id.ulid))
  const before = history.findLast((entry) => entry.code === HISTORY.unsent && entry.detail === code)
  if (before === undefined) return false
  return ((await findSender(redis, id.lane))?.sent_after_block ?? 0) >= before.atMs
}
