// Maps the end of a provider call to what it means for the message, its recipient and its lane. Pure. Only proof counts: a message
// is unsent if no connection was made, on HTTP 429, or on a code that WhatsApp gives only when it refuses. Everything else without
// a message id is unconfirmed, and never repeated blindly.
import { cutText } from '../../kernel/cut-text.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import { type Concern, codeEntry } from './provider-codes.ts'

/** The cause of a call that missed its slot; it is sent in another one. */
export const MISSED_SLOT = 'missed_slot'

/**
 * The cause of a call without an answer during which the process stalled for long (providers/stalls.ts). It says nothing about the
 * provider, so the circuit breaker of a campaign does not count it.
 */
export const WORKER_LATE = 'worker_late'

/** The cause of a call that had not left when the worker closed its connections. */
export const STOPPED = 'stopped'

/** How a provider call ended. */
export type CallEnd =
  /** The provider got nothing of the request: name not found, refused, TLS failed, no connection in time, stream refused. */
  | { kind: 'never_left'; cause: string }
  /** The request left, or may have, and no whole answer came: reset, time-out, too large. */
  | { kind: 'unanswered'; cause: string }
  /** A success with a message id in it. */
  | { kind: 'accepted'; providerId: string; isHeld?: boolean; knownAs?: readonly string[]; word?: string }
  /** Any other answer. `readable` is false when the body is not the wire's own error envelope. */
  | {
      kind: 'answered'
      status: number
      readable: boolean
      code: number | undefined
      subcode: number | undefined
      /** The provider's own words; go into the record, never into a log. */
      text: string | undefined
      retryAfterMs: number | undefined
    }

/** Why a message is where it is, for a program and for a person. */
export interface Problem {
  /** WhatsApp's code, or a word of ours such as `timeout`. */
  code: string
  /** For the person who looks the message up. */
  sentence: string
}

export type Outcome =
  /**
   * `isHeld`: WhatsApp holds it back. `knownAs`: WhatsApp's other names of the recipient. `word`: its state, where that is unknown
   * to us.
   */
  | { kind: 'sent'; providerId: string; isHeld?: boolean; knownAs?: readonly string[]; word?: string }
  /** Proven unsent. `laneMs`: how long the whole lane waits; it grows with `backoff` when the cause may last. */
  | { kind: 'lane_waits'; laneMs: number; backoff: boolean; problem: Problem }
  /** Proven unsent: the number may send nothing of campaigns for `restMs`, and perhaps nothing at all. */
  | { kind: 'campaigns_rest'; restMs: number; problem: Problem }
  /** The provider was not called after all, which proves nothing about the lane: the message goes back to it. */
  | { kind: 'not_asked'; problem: Problem }
  /** Proven unsent: this message is tried again later, and the try counts. */
  | { kind: 'message_waits'; retryAfterMs: number | undefined; problem: Problem }
  /** Proven unsent: only this recipient waits, longer each time, and at least `leastMs`. */
  | { kind: 'recipient_waits'; leastMs: number; problem: Problem }
  /** Proven unsent: the sender is paused until a person fixes it. */
  | { kind: 'sender_blocked'; problem: Problem }
  /** Refused for good. `file`: a file in it cannot be sent, nor can any other message with that file. */
  | { kind: 'failed'; concerns: Concern | 'file'; problem: Problem }
  /**
   * Nothing is proven. `blocksSender`: the answer also says that this sender can send nothing. `coolsLane`: the answer is not the
   * provider's own, and every other message would most likely get the same.
   */
  | { kind: 'unconfirmed'; blocksSender: boolean; coolsLane: boolean; problem: Problem }

const SECOND = 1_000
/** A missing object: with code 100 the number or the permission is gone. */
const SUBCODE_NO_OBJECT = 33
/** Longest Retry-After that is obeyed; a longer one counts as a mistake, and the provider is tried again after an hour. */
export const MAX_RETRY_AFTER_MS = HOUR_MS
/**
 * Statuses without a code of WhatsApp that every message would get. In the provider's own envelope the credential or the address is
 * wrong; else a firewall or a proxy answered, which passes by itself.
 */
const HITS_ALL: ReadonlySet<number> = new Set([401, 403, 404, 405])

/** Why nothing left, where the provider has nothing to do with it: this worker stalled, missed the time to leave, or stops. */
const OF_THIS_WORKER: ReadonlySet<string> = new Set([WORKER_LATE, MISSED_SLOT, STOPPED])

const neverAsked = (code: string): Problem => ({
  code,
  sentence: `The worker stalled or stopped before the message left (${code}).`,
})

/** Exhaustive: every end has an outcome. */
export function outcomeOf(end: CallEnd): Outcome {
  switch (end.kind) {
    case 'accepted':
      return sentBy(end)
    case 'never_left':
      if (OF_THIS_WORKER.has(end.cause)) return { kind: 'not_asked', problem: neverAsked(end.cause) }
      return {
        kind: 'lane_waits',
        laneMs: SECOND,
        backoff: true,
        problem: { code: end.cause, sentence: `The provider could not be reached (${end.cause}).` },
      }
    case 'unanswered':
      return {
        kind: 'unconfirmed',
        blocksSender: false,
        coolsLane: false,
        problem: {
          code: end.cause,
          sentence:
            end.cause === WORKER_LATE
              ? 'No answer was read in time, while the worker itself stalled; the message may have been sent.'
              : `The provider gave no answer (${end.cause}); the message may have been sent.`,
        },
      }
    case 'answered':
      return ofAnswer(end)
  }
}

/** Almost all say nothing but the id, and V8 copies an object slowly whose kind changes. */
const sentBy = (end: Extract<CallEnd, { kind: 'accepted' }>): Outcome =>
  end.isHeld === undefined && end.knownAs === undefined && end.word === undefined
    ? { kind: 'sent', providerId: end.providerId }
    : { ...end, kind: 'sent' }

/**
 * The outcome of a code that WhatsApp reports later, about an accepted message or a number: as for an answer, except for the message,
 * which has failed. Undefined for a problem without a code of WhatsApp.
 */
export function outcomeOfReport(problem: Problem): Outcome | undefined {
  if (!/^\d{1,9}$/.test(problem.code)) return undefined
  const { rule, concerns } = codeEntry(Number(problem.code))
  switch (rule.act) {
    case 'block_sender':
      return { kind: 'sender_blocked', problem }
    case 'pause_lane':
      return { kind: 'lane_waits', laneMs: rule.seconds * SECOND, backoff: false, problem }
    case 'rest_campaigns':
      return { kind: 'campaigns_rest', restMs: rule.seconds * SECOND, problem }
    case 'delay_recipient':
      return { kind: 'recipient_waits', leastMs: 0, problem }
    case 'fail':
    case 'retry':
    case 'unconfirmed':
      return { kind: 'failed', concerns, problem }
  }
}

function ofAnswer(answer: Extract<CallEnd, { kind: 'answered' }>): Outcome {
  const { status, code } = answer
  const entry = answer.readable && code !== undefined ? codeEntry(code) : undefined
  const problem: Problem = {
    code: code !== undefined && answer.readable ? String(code) : `http_${status}`,
    sentence: sentenceOf(answer, entry?.means),
  }
  const retryAfterMs = usableRetryAfter(answer.retryAfterMs)
  const laneWaits = (seconds: number): Outcome => {
    return {
      kind: 'lane_waits',
      laneMs: retryAfterMs ?? seconds * SECOND,
      backoff: retryAfterMs === undefined,
      problem,
    }
  }
  const rule =
    answer.readable && code === 100 && answer.subcode === SUBCODE_NO_OBJECT ? codeEntry(33).rule : entry?.rule

  const failed: Outcome = { kind: 'failed', concerns: entry?.concerns ?? 'message', problem }
  if (entry?.provesUnsent || status === 429) {
    if (rule?.act === 'rest_campaigns') {
      return { kind: 'campaigns_rest', restMs: retryAfterMs ?? rule.seconds * SECOND, problem }
    }
    if (rule?.act === 'delay_recipient') return { kind: 'recipient_waits', leastMs: retryAfterMs ?? 0, problem }
    if (rule?.act === 'retry' && status !== 429) return { kind: 'message_waits', retryAfterMs, problem }
    if (rule?.act === 'fail' && status !== 429) return failed
    return laneWaits(rule?.act === 'pause_lane' ? rule.seconds : 1)
  }
  const hitsAll = entry === undefined && HITS_ALL.has(status)
  const denied = answer.readable && (rule?.act === 'block_sender' || hitsAll)
  const isRefusal = answer.readable && status >= 400 && status < 500 && rule?.act !== 'unconfirmed'
  if (!isRefusal) return { kind: 'unconfirmed', blocksSender: denied, coolsLane: hitsAll && !denied, problem }
  if (denied) return { kind: 'sender_blocked', problem }
  if (rule?.act === 'pause_lane') return laneWaits(rule.seconds)
  return failed
}

/** The wording of WhatsApp's refusal of an unknown or expired media id. */
const FILE_UNKNOWN = /media attachment id|\[['"]id['"]\]/i

/** Whether WhatsApp refuses a message because it does not have one of its files: uploaded anew, the message can be sent. */
export const isFileUnknown = (end: CallEnd): boolean =>
  end.kind === 'answered' &&
  end.readable &&
  (end.code === 131053 || (end.code === 100 && FILE_UNKNOWN.test(end.text ?? '')))

/** A usable Retry-After: without one, or with one that has passed, we choose the wait. */
function usableRetryAfter(retryAfterMs: number | undefined): number | undefined {
  return retryAfterMs === undefined || retryAfterMs <= 0 ? undefined : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
}

/** Longest piece of the provider's own words that is kept on a record. */
const MAX_TEXT = 200

function sentenceOf(answer: Extract<CallEnd, { kind: 'answered' }>, means: string | undefined): string {
  if (!answer.readable) {
    const instead = 'a firewall or proxy on the way, or the server at a wrong base URL, may have answered in its place'
    return `The provider answered ${answer.status} without an error that can be read: ${instead}.`
  }
  const code = answer.code === undefined ? `HTTP ${answer.status}` : `code ${answer.code}`
  const sentence = means ?? 'the message is refused'
  const text = newWords(cutText(answer.text ?? '', MAX_TEXT), sentence)
  return `WhatsApp answered: ${sentence} (${code})${text === '' ? '' : `: ${text}`}`
}

/** Words of fewer letters say nothing by themselves. */
const MEANS_SOMETHING = 4
/** A clause that repeats so many words adds nothing. */
const SAID_ALREADY = 0.6

/**
 * The clauses of the provider's text that add to `sentence`, in order, without repetitions and without the code in front. Empty when
 * nothing is new.
 */
function newWords(text: string, sentence: string): string {
  const known = new Set(wordsOf(sentence))
  const clauses: string[] = []
  for (const clause of text.replace(/^\(#\d+\)\s*/, '').split(/:\s+/)) {
    const words = wordsOf(clause)
    const old = words.filter((word) => known.has(word)).length
    const isNew = words.length === 0 ? !sentence.includes(clause.trim()) : old < SAID_ALREADY * words.length
    if (!isNew) continue
    clauses.push(clause)
    for (const word of words) known.add(word)
  }
  return clauses.join(': ')
}

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).filter(({ length }) => length >= MEANS_SOMETHING)
