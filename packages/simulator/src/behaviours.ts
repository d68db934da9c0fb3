// The table of misbehaviour. Each row has a name (for the control endpoint), a recipient number that always draws it,
// a sentence for people, and what it changes of the three parts in which a request is handled: whether it is refused,
// how it is answered once accepted, and what becomes of the message afterwards. Every other number behaves well.
// `npm run docs -- --reference` writes this table into docs/guides/simulator.md.

import { type ChatErrorCode, chatError } from './chat-errors.ts'
import {
  BACKWARDS,
  BEFORE_ANSWER,
  FAILS_AFTER_DELIVERY,
  FAILS_LATE,
  failsWith,
  LATE,
  SENT_TWICE_EACH,
  SILENT,
  SKIPS_DELIVERED,
  type Timeline,
} from './timeline.ts'

/** Why a request is not taken: a code in the wire's envelope, or no usable answer at all. */
export type Rejection = { code: ChatErrorCode } | { broken: 'plain-500' | 'reset' | 'hang' }

/** How the acknowledgement of an accepted message is spoilt. */
export type SpoiltAnswer = 'slow' | 'hang' | 'reset' | 'cut' | 'garbage' | 'no-id' | 'plain-500' | 'huge' | 'drip'

/** One row of the table: what WhatsApp does to messages for one reserved number. */
export interface Behaviour {
  /** Name that `POST /_control` takes. */
  name: string
  /** The recipient that always draws it: digits with country code, all within 1555010NNNN. */
  number: string
  /** What happens, for a person. */
  sentence: string
  rejection?: Rejection
  /** Only every other request is rejected, beginning with the first. */
  everyOther?: true
  answer?: SpoiltAnswer
  timeline?: Timeline
}

/** Every reserved number begins with these digits; four more follow. */
export const RESERVED_PREFIX = '1555010'

/** Rows by family: 00NN limits, 01NN refused, 02NN accepted and failed later, 03NN transport, 04NN status updates. */
export const BEHAVIOURS: readonly Behaviour[] = [
  refusedAtFirst('0001', 'rate-limited-once', 130429, 'rate limit of the number'),
  refused('0002', 'rate-limited', 130429, 'rate limit of the number'),
  refusedAtFirst('0003', 'pair-limited-once', 131056, 'limit of messages to one recipient'),
  refused('0004', 'pair-limited', 131056, 'limit of messages to one recipient'),
  refused('0005', 'app-limited', 4, 'calls of the app'),
  refused('0006', 'spam-limited', 131048, 'spam rate of the number'),

  refused('0101', 'invalid-parameter', 100, 'invalid parameter'),
  refused('0102', 'parameter-missing', 131008, 'required parameter missing'),
  refused('0103', 'value-not-valid', 131009, 'parameter value not valid'),
  refused('0104', 'unsupported-type', 131051, 'unsupported message type'),
  refused('0105', 'recipient-not-allowed', 131030, 'recipient not in the allowed list'),
  refused('0106', 'template-unknown', 132001, 'no such template in this language'),
  refused('0107', 'template-parameter-count', 132000, 'wrong number of template parameters'),
  refused('0108', 'template-paused', 132015, 'template paused for low quality'),
  refused('0109', 'token-expired', 190, 'access token expired, subcode 463'),
  refused('0110', 'permission-denied', 131005, 'access denied'),
  refused('0111', 'account-locked', 131031, 'business account locked'),
  refused('0112', 'policy-blocked', 368, 'blocked for policy violations'),
  refused('0113', 'number-not-registered', 133010, 'sender not registered'),
  refused('0114', 'payment-refused', 131042, 'payment issue'),
  refused('0120', 'server-error', 131000, 'something went wrong'),
  refusedAtFirst('0121', 'unavailable-once', 131016, 'service unavailable'),
  refused('0122', 'overloaded', 2, 'service overloaded, marked transient'),
  refused('0123', 'unknown-error', 1, 'unknown error'),
  refused('0124', 'maintenance', 131057, 'number in maintenance'),
  row('0125', 'plain-500', 'Not accepted; answered with 500 and a page instead of an envelope.', {
    rejection: { broken: 'plain-500' },
  }),

  failsLater('0201', 'undeliverable', 131026, 'message undeliverable'),
  failsLater('0202', 'outside-window', 131047, 'more than 24 hours since the last reply'),
  failsLater('0203', 'unsupported-later', 131051, 'unsupported message type'),
  failsLater('0204', 'payment-issue', 131042, 'payment issue'),
  failsLater('0205', 'media-failed', 131053, 'media could not be fetched'),
  failsLater('0206', 'marketing-held-back', 131049, 'too much marketing to this recipient'),
  failsLater('0207', 'opted-out', 131050, 'recipient stopped marketing messages'),
  failsLater('0208', 'country-restricted', 130497, 'country restricted'),
  failsLater('0209', 'experiment', 130472, 'recipient is part of an experiment'),
  failsLater('0210', 'wrong-later', 131000, 'something went wrong'),
  row('0211', 'late-failure', 'Accepted and sent, then failed with code 131026 when others would be read.', {
    timeline: FAILS_LATE,
  }),

  row('0301', 'slow', 'Accepted at once, answered after 2 seconds.', { answer: 'slow' }),
  row('0302', 'hang', 'Accepted, never answered.', { answer: 'hang' }),
  row('0303', 'hang-before-accepting', 'Not accepted, never answered.', { rejection: { broken: 'hang' } }),
  row('0304', 'reset-after-accepting', 'Accepted, then the connection is reset without an answer.', {
    answer: 'reset',
  }),
  row('0305', 'reset-before-accepting', 'Not accepted; the connection is reset without an answer.', {
    rejection: { broken: 'reset' },
  }),
  row('0306', 'cut-answer', 'Accepted, answered with 200; the connection is reset in the middle of the body.', {
    answer: 'cut',
  }),
  row('0307', 'garbage', 'Accepted, answered with 200 and a body that is not JSON.', { answer: 'garbage' }),
  row('0308', 'no-id', 'Accepted, answered with 200 and an acknowledgement without a message id.', { answer: 'no-id' }),
  row('0309', 'error-after-accepting', 'Accepted, but answered exactly like plain-500.', { answer: 'plain-500' }),
  row('0310', 'huge-body', 'Accepted, answered with an acknowledgement padded to 32 MB.', { answer: 'huge' }),
  row('0311', 'slow-drip', 'Accepted, answered one byte every 250 ms.', { answer: 'drip' }),

  row('0401', 'duplicate-webhooks', 'Every status update is sent twice.', { timeline: SENT_TWICE_EACH }),
  row('0402', 'disordered-webhooks', 'The updates come in the order read, delivered, sent.', { timeline: BACKWARDS }),
  row('0403', 'webhook-before-answer', 'The update that it was sent is posted before the request is answered.', {
    timeline: BEFORE_ANSWER,
  }),
  row('0404', 'no-webhooks', 'No status update is ever sent; lookups of the partner wire stay at sent.', {
    timeline: SILENT,
  }),
  row('0405', 'late-webhooks', 'Every status update comes 10 seconds later than usual.', { timeline: LATE }),
  row('0406', 'skips-delivered', 'Sent, then read, without an update to delivered.', { timeline: SKIPS_DELIVERED }),
  row('0407', 'failed-after-delivered', 'Sent and delivered; then an update to failed with code 131026.', {
    timeline: FAILS_AFTER_DELIVERY,
  }),
]

const BY_NUMBER = new Map(BEHAVIOURS.map((behaviour) => [behaviour.number, behaviour]))
const BY_NAME = new Map(BEHAVIOURS.map((behaviour) => [behaviour.name, behaviour]))

/** The row that a recipient draws, or undefined for a number that behaves well. */
export function behaviourOfNumber(digits: string): Behaviour | undefined {
  return BY_NUMBER.get(digits)
}

/** The row of this name, or undefined when no row has it. */
export function behaviourNamed(name: string): Behaviour | undefined {
  return BY_NAME.get(name)
}

type Parts = Pick<Behaviour, 'rejection' | 'everyOther' | 'answer' | 'timeline'>

function row(suffix: string, name: string, sentence: string, parts: Parts): Behaviour {
  return { name, number: RESERVED_PREFIX + suffix, sentence, ...parts }
}

function refused(suffix: string, name: string, code: ChatErrorCode, gloss: string): Behaviour {
  return row(suffix, name, `Refused with ${answerOf(code)} (${gloss}).`, { rejection: { code } })
}

function refusedAtFirst(suffix: string, name: string, code: ChatErrorCode, gloss: string): Behaviour {
  const sentence = `Every other request, beginning with the first, is refused with ${answerOf(code)} (${gloss}).`
  return row(suffix, name, sentence, { rejection: { code }, everyOther: true })
}

function failsLater(suffix: string, name: string, code: ChatErrorCode, gloss: string): Behaviour {
  return row(suffix, name, `Accepted, then failed with code ${code} (${gloss}).`, { timeline: failsWith(code) })
}

function answerOf(code: ChatErrorCode): string {
  const { http, retryAfterS } = chatError(code)
  return `${http}, code ${code}${retryAfterS === undefined ? '' : `, Retry-After: ${retryAfterS}`}`
}
