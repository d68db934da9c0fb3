// One attempt for a message, top to bottom: claim -> send in its slot -> judge -> settle. Where the message came
// from, a job of its own or a chunk of a campaign, makes no difference here.
//
// Where the process may die, and what happens then:
// - before the claim: nothing was written; the next worker that takes the job or the chunk finds the message as it was.
// - after the claim: the record says `sending` under this attempt. The next worker finds that and does not
//   send: the message is unconfirmed. The sweep finds it as well, job or no job.
// - after the request left: the same; evidence settles it, or its policy decides.
// - after settling: only the log line is lost; another claim is refused.

import type { SendPayload } from '../../jobs/send.ts'
import type { Config } from '../../kernel/config.ts'
import type { Deadline } from '../../kernel/deadline.ts'
import { acceptedAtMs, type MessageId } from '../../kernel/message-id.ts'
import { type SpanEnd, traceSend, traceSettle } from '../../kernel/tracing.ts'
import type { JobEnd } from '../../lanes/bullmq/worker.ts'
import { SETTLE_WITHIN_MS, type Slot, type WaitsAs } from '../../lanes/messages/claim.ts'
import type { NewMessage } from '../../lanes/messages/new-message.ts'
import type { MarketingRoute } from '../../model/accounts/sender.ts'
import type { Content, MessageClass } from '../../model/messages/content.ts'
import {
  type CallEnd,
  isFileUnknown,
  MISSED_SLOT,
  type Outcome,
  outcomeOf,
  type Problem,
} from '../../model/messages/outcome.ts'
import type { Pace } from '../../model/messages/pace.ts'
import type { Names } from '../../model/people/person.ts'
import type { Counted } from '../../portfolios/rules.ts'
import { observerOf } from '../../redis/observe.ts'
import type { InFlightLimit } from './in-flight-limit.ts'
import type { InLine, LaneSlots, Turn } from './lane-slots.ts'
import type { RedisClock } from './redis-clock.ts'
import type { DirectoryEntry, SenderDirectory } from './sender-directory.ts'
import { bestEffort, type SettleDeps, settle } from './settle.ts'
import type { NamedUpload, Uploads } from './uploads.ts'

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
  /** The name of this process. */
  worker: string
  /** Called when a message must not leave: there may be many more of its class on the lane. */
  clearLane: (lane: number, of: MessageClass) => void
}

/** A message that is to be sent. */
export interface Outgoing {
  id: MessageId
  /** Its id as users see it. */
  name: string
  /** The fields of its record. */
  message: NewMessage
  /** Its content; with `values` it has placeholders for these (model/messages/placeholders.ts). */
  content: Content
  values?: readonly string[]
  /** The address for it if it is marketing; undefined: as its sender has it. */
  route?: MarketingRoute | undefined
  /** Its files of the gallery by the provider's ids, which `content` has too. */
  uploads?: readonly NamedUpload[]
  /** The names of its person, if there are others than the recipient. */
  names?: Names | undefined
  /** Why it can never be sent, found before it was claimed: it ends with this, and no request leaves. */
  refusal?: Problem
  /** Where it waited before it was claimed. */
  from: WaitsAs
  /** The payload of a job of its own. */
  payload: () => SendPayload
  /** The trace that it was accepted in, from its job. */
  trace?: string | undefined
}

/** A message that may leave in its slot. */
export interface Claimed {
  attempt: string
  slot: Slot | undefined
  pace: Pace
  /** The rest of its lane waits until it is settled. */
  isProbe?: boolean | undefined
  /** The request must have left by then. */
  until: Deadline
  /** After this its recipient must be checked again for opt-outs and erasure. */
  wantedUntil: Deadline
  /** Whether it is marketing, by the category of its template. */
  isMarketing: boolean
  /** What was counted for it under WhatsApp's rules. */
  counted?: Counted | undefined
}

/**
 * How many slots a request on a shared lane may miss while its connection opens, each time with more time for the next
 * (lane-slots.ts); then its message goes back to its lane.
 */
const MOST_MISSED = 4

/** The line that claimed messages of a lane wait in, and the limit that they count against. */
export interface Turns {
  slots: LaneSlots<Outgoing>
  inFlightLimit: Pick<InFlightLimit, 'answered'>
}

/**
 * Waits for the turn of a claimed message, sends it and returns what becomes of its job. Rejects only when a record is not one
 * that Laneway wrote, or when Redis is away for so long that the sweep may settle the message.
 */
export async function sendInTurn(
  deps: SendDeps,
  turns: Turns,
  entry: DirectoryEntry,
  outgoing: Outgoing,
  claimed: Claimed,
): Promise<JobEnd> {
  const { id, name, message, trace } = outgoing
  const { provider } = entry.sender
  const { attempt } = claimed
  const turn = await turnOf(turns, outgoing, claimed)
  const end = await traceSend(
    { message: name, lane: id.lane, class: message.class, provider, attempt, carried: trace },
    (traceparent, ended) => sendTraced(deps, turns, entry, outgoing, claimed, turn, { traceparent, ended }),
  )
  // The others would most likely fare no better: claimed messages that have not left go back to the lane.
  const coolsLane = end.kind === 'done_lane_waits' || (end.kind === 'lane_waits' && end.ms >= RECALLED_FROM_MS)
  if (coolsLane) turns.slots.recall()
  return end
}

function turnOf({ slots }: Turns, outgoing: Outgoing, claimed: Claimed): Promise<Turn> | Turn {
  const { slot, pace } = claimed
  return slot === undefined ? {} : slots.wait(inLine(outgoing, claimed), slot, pace)
}

const inLine = (message: Outgoing, { isMarketing, until, wantedUntil }: Claimed): InLine<Outgoing> => ({
  message,
  isMarketing,
  of: message.message.class,
  until,
  wantedUntil,
})

async function sendTraced(
  deps: SendDeps,
  turns: Turns,
  entry: DirectoryEntry,
  outgoing: Outgoing,
  claimed: Claimed,
  turn: Turn,
  span: { traceparent: string | undefined; ended: (end: SpanEnd & { outcome: string }) => void },
): Promise<JobEnd> {
  const call = await callProvider(deps, turns, entry, outgoing, claimed, turn, span.traceparent)
  const { outcome } = call
  const { id, message } = outgoing
  const { attempt, isProbe, counted } = claimed
  const attempted = { id, attempt, to: message.to, person: outgoing.names?.[0], run: message.run, isProbe, counted }
  // Settle first: the settled outcome decides what becomes of the job.
  const end = await traceSettle(() => settle(deps, entry, attempted, outcome))
  const code = report(deps, entry, outgoing, claimed, call)
  span.ended({ outcome: outcome.kind, error: code, isFault: outcome.kind !== 'sent' })
  return end
}

/** How the call to the provider ended, and how long it took (ms); undefined when none was made. */
interface Called {
  outcome: Outcome
  tookMs: number | undefined
}

async function callProvider(
  deps: SendDeps,
  turns: Turns,
  entry: DirectoryEntry,
  outgoing: Outgoing,
  claimed: Claimed,
  first: Turn,
  traceparent: string | undefined,
): Promise<Called> {
  const { id, name, message, content, values, route, uploads = [], refusal } = outgoing
  if (refusal !== undefined) {
    // Nothing leaves in this turn, so another message may.
    if (first.slot !== undefined) first.ended()
    return { outcome: { kind: 'failed', concerns: 'template', problem: refusal }, tookMs: undefined }
  }
  const { to, campaign } = message
  const request = { id: name, attempt: claimed.attempt, to, content, values, route, campaign, traceparent }
  let end: CallEnd
  let startedAt: number
  let turn = first
  for (let missed = 1; ; missed += 1) {
    // Back to its lane, where it is ended if it is not wanted any more.
    if (turn.slot === undefined) return { outcome: notAsked(turn.problem), tookMs: undefined }
    startedAt = performance.now()
    try {
      end = await entry.provider.send(entry.providerSender, request, deps.config.sendTimeoutMs, turn)
      if (end.kind !== 'never_left') turn.left()
    } finally {
      // A turn that does not end counts against the limits of the lane for ever.
      turn.ended()
    }
    if (end.kind !== 'never_left' || end.cause !== MISSED_SLOT) break
    if (missed === MOST_MISSED) return { outcome: notAsked(wokenLate), tookMs: undefined }
    turn = await turns.slots.waitAgain(inLine(outgoing, claimed), turn)
  }
  const tookMs = performance.now() - startedAt
  turns.inFlightLimit.answered(tookMs)
  const outcome = outcomeOf(end)
  if (uploads.length === 0 || !isFileUnknown(end) || outcome.kind !== 'failed') return { outcome, tookMs }
  // Dying before the id is forgotten is harmless: the next message is refused as well. The try counts, so that a provider that
  // never accepts our files ends the message at last.
  await bestEffort(deps.log, id, () =>
    Promise.all(uploads.map(({ hash, id: uploaded }) => deps.uploads.gone(id.lane, hash, uploaded))),
  )
  return { outcome: { kind: 'message_waits', retryAfterMs: undefined, problem: outcome.problem }, tookMs }
}

/** Counts the attempt and logs it; returns its code, if it was not sent. */
function report(
  { redis, log }: SendDeps,
  { sender }: DirectoryEntry,
  { id, name, message }: Outgoing,
  { attempt, slot, isProbe = false }: Claimed,
  { outcome, tookMs }: Called,
): string | undefined {
  const code = 'problem' in outcome ? outcome.problem.code : undefined
  observerOf(redis).attempted({
    lane: id.lane,
    class: message.class,
    provider: sender.provider,
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
  sentence: 'Its turn came too late, as when its worker stalled; it is tried again.',
}
