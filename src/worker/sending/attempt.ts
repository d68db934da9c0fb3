// One attempt for a claimed message: send in its turn -> judge -> settle. It does not matter whether it waited as a job or a
// place.
//
// Where the process may die, and what happens then:
// - before the claim: nothing was written; the next worker that reads the lane finds the message as it was.
// - after the claim: the record says `sending` under this attempt. The next worker finds that and does not
//   send: the message is unconfirmed. The sweep finds it as well, job or no job.
// - after the request left: the same; evidence settles it, or its policy decides.
// - after settling: only the log line is lost; another claim is refused.

import type { Config } from '../../kernel/config.ts'
import { acceptedAtMs } from '../../kernel/message-id.ts'
import { isTracing, type SpanEnd, traceSend, traceSettle } from '../../kernel/tracing.ts'
import { SETTLE_WITHIN_MS } from '../../lanes/messages/claim.ts'
import type { MessageClass } from '../../model/messages/content.ts'
import {
  type CallEnd,
  isFileUnknown,
  MISSED_SLOT,
  type Outcome,
  outcomeOf,
  type Problem,
} from '../../model/messages/outcome.ts'
import type { Pace } from '../../model/messages/pace.ts'
import type { ProviderMessage } from '../../model/provider.ts'
import type { CheckValidity } from '../../people/opt-outs/check-validity.ts'
import type { OpenCampaigns } from '../../recipients/open-campaigns.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { observerOf } from '../../redis/observe.ts'
import type { Candidate } from './candidate.ts'
import type { InFlightLimit } from './in-flight-limit.ts'
import type { LaneSignals } from './lane-signals.ts'
import type { InTurn, LaneSlots, Turn } from './lane-slots.ts'
import type { RedisClock } from './redis-clock.ts'
import type { SenderDirectory } from './sender-directory.ts'
import { type AttemptEnd, bestEffort, isSimplySent, type SettleDeps, settle, settleSent } from './settle.ts'
import { untilWritten } from './until-written.ts'
import type { Uploads } from './uploads.ts'

/**
 * The request must leave within this time of its claim. A process that was frozen in between, or whose machine was suspended,
 * proves its own attempt unsent when it wakes up, instead of sending what somebody else may have settled by now.
 */
export const CLAIM_GOOD_FOR_MS = 5_000

/** A lane that waits for less does not recall its claimed messages: their slots are as far away. */
const RECALLED_FROM_MS = 200

/** The sweep takes a claimed message for lost after CLAIM_GOOD_FOR_MS, the call, and the time to settle it. */
export const lostAfterMs = (config: Pick<Config, 'sendTimeoutMs'>): number =>
  CLAIM_GOOD_FOR_MS + config.sendTimeoutMs + SETTLE_WITHIN_MS

/** What an attempt needs; one for the whole process. */
export interface SendDeps extends SettleDeps {
  config: Config
  directory: SenderDirectory
  clock: RedisClock
  uploads: Pick<Uploads, 'find' | 'gone'>
  campaigns: OpenCampaigns
  checks: CheckValidity
  /** The name of this process. */
  worker: string
  /** Called when a message of the campaign was worked on. */
  noteMoved: (lane: number, run: number) => void
  /** Called when a message must not leave: there may be many more of its class on the lane. */
  clearLane: (lane: number, of: MessageClass) => void
}

/**
 * How many slots a request on a shared lane may miss while its connection opens, from the second on with twice the time
 * (lane-slots.ts); then its message goes back to its lane.
 */
const MOST_MISSED = 4

/** The lane of an attempt. */
export interface AttemptLane {
  line: LaneSlots<Candidate>
  inFlightLimit: Pick<InFlightLimit, 'answered' | 'end'>
  signals: Pick<LaneSignals, 'hold' | 'wake'>
}

/** Sees a claimed message of one lane through: to its settlement, or back to its lane. Never rejects. */
export type Attempt = (message: Candidate, pace: Pace) => Promise<void>

/** Reports the end of an attempt to the trace that it is part of. */
type Ended = (end: SpanEnd & { outcome: string }) => void
const UNTRACED: Ended = () => undefined

/** The attempts of one lane. */
export function createAttempt(deps: SendDeps, { line, inFlightLimit, signals }: AttemptLane): Attempt {
  const { log } = deps

  async function attempt(message: Candidate, pace: Pace): Promise<void> {
    const { slot } = message
    try {
      // With a pace each claim has a slot.
      let turn: Turn = slot === undefined ? NO_TURN : await line.turn(message, slot, pace)
      for (;;) {
        const missed = await traced(message, turn)
        if (missed === undefined) break
        turn = await line.turnAgain(message, missed)
      }
    } catch (error) {
      // Its record shows the claim: the sweep decides.
      log[isRedisAway(error) ? 'warn' : 'error']({ message: message.name, err: error }, 'attempt.not_settled')
    }
    inFlightLimit.end()
    const { run } = message.message
    if (run !== undefined) deps.noteMoved(message.id.lane, run)
  }

  /** Uses the turn, inside a span if there are traces. Resolves to the turn if the request could not leave in it. */
  function traced(message: Candidate, turn: Turn): Promise<InTurn | undefined> {
    if (!isTracing()) return inTurn(message, turn, message.trace, UNTRACED)
    const { id, name, attempt: of, trace: carried } = message
    const { provider } = message.entry.sender
    const span = { message: name, lane: id.lane, class: message.message.class, provider, attempt: of, carried }
    return traceSend(span, (traceparent, ended) => inTurn(message, turn, traceparent, ended))
  }

  /** Sends the message, judges and settles it, or has it go back. */
  async function inTurn(
    message: Candidate,
    turn: Turn,
    traceparent: string | undefined,
    ended: Ended,
  ): Promise<InTurn | undefined> {
    if (turn.slot === undefined) return finish(message, notAsked(turn.problem), undefined, ended)
    const { refusal } = message
    if (refusal !== undefined) {
      // Nothing leaves in this turn, so another message may.
      turn.ended()
      return finish(message, { kind: 'failed', concerns: 'file', problem: refusal }, undefined, ended)
    }
    const { provider, providerSender } = message.entry
    const startedAt = performance.now()
    let end: CallEnd
    try {
      end = await provider.send(providerSender, requestOf(message, traceparent), deps.config.sendTimeoutMs, turn)
      if (end.kind !== 'never_left') turn.left()
    } finally {
      // A turn that does not end counts against the limits of the lane for ever.
      turn.ended()
    }
    if (end.kind === 'never_left' && end.cause === MISSED_SLOT) {
      message.missed += 1
      if (message.missed === MOST_MISSED) return finish(message, notAsked(missedSlots), undefined, ended)
      ended({ outcome: MISSED_SLOT })
      return turn
    }
    const tookMs = performance.now() - startedAt
    inFlightLimit.answered(tookMs)
    const outcome = outcomeOf(end)
    if (!isTracing() && isSimplySent(message, outcome)) {
      try {
        await settleSent(deps, message, outcome)
        report(deps, message, outcome, tookMs)
        return undefined
      } catch {
        // Written down again, until Redis takes it.
      }
    }
    return finish(message, await withoutFiles(deps, message, end, outcome), tookMs, ended)
  }

  /** Settles, then applies what becomes of the message. */
  async function finish(
    message: Candidate,
    outcome: Outcome,
    tookMs: number | undefined,
    ended: Ended,
  ): Promise<undefined> {
    const { id, attempt: of, names, isProbe, counted, entry, refusal } = message
    const { to, run } = message.message
    const isUnasked = refusal !== undefined
    const attempted = { id, attempt: of, to, person: names?.[0], run, isProbe, isUnasked, counted }
    const end = await traceSettle(() => settle(deps, entry, attempted, outcome))
    const code = report(deps, message, outcome, tookMs)
    ended({ outcome: outcome.kind, error: code, isFault: outcome.kind !== 'sent' })
    // The others would most likely fare no better: claimed messages that have not left go back to the lane.
    const coolsLane = end.kind === 'done_lane_waits' || (end.kind === 'lane_waits' && end.ms >= RECALLED_FROM_MS)
    if (coolsLane) line.recall()
    await follow(message, end)
  }

  /** Has the lane wait, and the message again where it does. */
  async function follow({ name, waitsAs, payload }: Candidate, end: AttemptEnd): Promise<void> {
    if (end.kind === 'done') return
    // The cooldown itself is in Redis, and every claim checks it; this spares the lane claims in the meantime.
    if (end.kind !== 'waits') signals.hold(end.ms)
    if (end.kind === 'done_lane_waits') return
    // Its place went with the claim: dying before this line leaves a record that is queued, and the sweep makes the job.
    const ms = end.kind === 'waits' ? end.ms : 0
    if (waitsAs === 'place') await untilWritten(deps.redis, () => deps.lanes.add(name, payload(), ms))
    signals.wake()
  }

  return attempt
}

const NO_TURN: Turn = {}

function requestOf(message: Candidate, traceparent: string | undefined): ProviderMessage {
  const { name: id, attempt, content, values, route } = message
  const { to, campaign } = message.message
  return { id, attempt, to, content, values, route, campaign, traceparent }
}

/**
 * The outcome when the provider has lost a file of the message: the file is uploaded again and the message retried. The try counts,
 * so a provider that loses every file cannot cause endless retries.
 */
async function withoutFiles(deps: SendDeps, message: Candidate, end: CallEnd, outcome: Outcome): Promise<Outcome> {
  const { id, uploads } = message
  if (uploads.length === 0 || !isFileUnknown(end) || outcome.kind !== 'failed') return outcome
  // Dying before the id is forgotten is harmless: the next message is refused as well.
  await bestEffort(deps.log, id, () =>
    Promise.all(uploads.map(({ hash, id: uploaded }) => deps.uploads.gone(id.lane, hash, uploaded))),
  )
  return { kind: 'message_waits', retryAfterMs: undefined, problem: outcome.problem }
}

/** Counts the attempt and logs it; returns its code, if it was not sent. */
function report(
  { redis, log }: SendDeps,
  { entry, id, name, message, attempt, slot, isProbe }: Candidate,
  outcome: Outcome,
  tookMs: number | undefined,
): string | undefined {
  const code = 'problem' in outcome ? outcome.problem.code : undefined
  observerOf(redis).attempted({
    lane: id.lane,
    class: message.class,
    provider: entry.sender.provider,
    outcome: outcome.kind,
    code,
    waitedMs: slot === undefined ? 0 : Math.max(0, slot.atMs - acceptedAtMs(id.ulid)),
    tookMs,
    isProbe,
  })
  const level = outcome.kind === 'sent' ? 'debug' : 'info'
  const ms = tookMs === undefined ? undefined : Math.round(tookMs)
  if (log.isLevelEnabled(level))
    log[level]({ message: name, attempt, outcome: outcome.kind, code, ms }, 'attempt.finished')
  return code
}

const notAsked = (problem: Problem = wokenLate): Outcome => ({ kind: 'not_asked', problem })

const wokenLate: Problem = {
  code: 'woken_late',
  sentence: 'It could not leave in its turn, as when its worker stalled or its lane has to wait; it is tried again.',
}

const missedSlots: Problem = {
  code: MISSED_SLOT,
  sentence: 'Its connection opened too late for each of its turns; it is tried again.',
}
