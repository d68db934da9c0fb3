// What a change of a message counts as: the states that it came into, and the code of a failure. Codes are a closed list,
// so that no provider can make up new series of metrics.
import { PROVEN_SENT, type State } from '../model/messages/lifecycle.ts'
import { PROVIDER_CODES } from '../model/messages/provider-codes.ts'

const UNLISTED = 'refused with a code that is not listed here'

/** Words of ours, and of the HTTP client for a call without an answer, and what they mean to a person. */
const OWN: Readonly<Record<string, string>> = {
  worker_lost: 'a worker died over it, more than once',
  record_lost: 'its record is gone from Redis',
  dead_letter: 'its job could not be processed',
  not_replicated: 'too few replicas of Redis had it in time',
  person_erased: 'its recipient was erased before it was sent',
  opted_out: 'its recipient wants no such messages',
  content_lost: 'its content is no longer stored',
  sender_unreadable: 'its sender cannot be read, or its token cannot be opened',
  woken_late: 'it could not leave in its turn',
  missed_slot: 'it missed the time at which it was to leave',
  timeout: 'the provider did not answer in time',
  worker_late: 'no answer was read in time while the worker itself stalled',
  reset: 'the provider cut the connection',
  refused: 'the provider took no connection',
  name_not_found: "the name of the provider's host was not found",
  connect_timeout: 'no connection to the provider came about in time',
  answer_too_large: 'the answer of the provider was too large to be read',
  bad_answer: 'what the provider answered is not HTTP as it should be',
  answer_of_another: 'the provider answered with the name of another recipient',
  invalid_header: 'the token or another setting of its sender cannot stand in a request',
  refused_stream: 'the provider took the connection and refused this request on it',
  repeated: 'the request was about to be sent twice over, which was kept from happening',
  stopped: 'the worker stopped before it left',
  failed: 'the provider reported that it failed, without a code',
}
const HTTP_CLASSES: Readonly<Record<string, string>> = {
  http_1xx: 'the provider gave an answer that is none',
  http_2xx: 'the provider answered, and not as it should',
  http_3xx: 'the provider pointed to another address, which is not followed',
  http_4xx: 'the provider refused the request without a code',
  http_5xx: 'the provider had a fault of its own',
}
const HTTP_STATUS = /^http_([1-5])\d\d$/

const providerCode = (code: string) => (/^\d{1,9}$/.test(code) ? PROVIDER_CODES.get(Number(code)) : undefined)

/** The code itself when it is known; the class of an HTTP status (`http_5xx`); else `other`. Of none: empty. */
export function countedCode(code: string | undefined): string {
  if (code === undefined) return ''
  if (Object.hasOwn(OWN, code) || providerCode(code) !== undefined) return code
  const status = HTTP_STATUS.exec(code)?.[1]
  return status === undefined ? 'other' : `http_${status}xx`
}

/** What a counted code means, for a person. */
export function meaningOf(code: string): string {
  const own = Object.hasOwn(OWN, code) ? OWN[code] : HTTP_CLASSES[code]
  return providerCode(code)?.means ?? own ?? UNLISTED
}

/** States that are counted when a message comes into them; on its way there it is `queued` and `sending`. */
type CountedState = Exclude<State, 'queued' | 'sending'>

const SENT: readonly State[] = PROVEN_SENT

/**
 * The states that a message has come into. One that is read without a report of its delivery was delivered and
 * sent as well, so that sent is never less than delivered, nor delivered less than read.
 */
export function enteredStates(from: State | undefined, to: State): readonly CountedState[] {
  if (from === to || to === 'queued' || to === 'sending') return []
  if (!SENT.includes(to)) return [to]
  const before = from === undefined ? -1 : SENT.indexOf(from)
  return PROVEN_SENT.slice(before + 1, SENT.indexOf(to) + 1)
}
