// What a counted code means, in words for a person.
import { PROVIDER_CODES } from '../messages/provider-codes.ts'

/** Of the words that are ours, and those of the HTTP client. */
const OWN: Readonly<Record<string, string>> = {
  worker_lost: 'a worker died over it, more than once',
  record_lost: 'its record is gone from Redis',
  dead_letter: 'its job could not be processed',
  person_erased: 'its recipient was erased before it was sent',
  opted_out: 'its recipient wants no such messages',
  content_lost: 'its content is no longer stored',
  sender_unreadable: 'its sender cannot be read, or its token cannot be opened',
  woken_late: 'it came to its turn too late',
  missed_slot: 'it missed the time at which it was to leave',
  timeout: 'the provider did not answer in time',
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
  other: 'refused with a code that is not listed here',
}
const CLASSES: Readonly<Record<string, string>> = {
  http_1xx: 'the provider gave an answer that is none',
  http_2xx: 'the provider answered, and not as it should',
  http_3xx: 'the provider pointed to another address, which is not followed',
  http_4xx: 'the provider refused the request without a code',
  http_5xx: 'the provider had a fault of its own',
}

/** One of a code of telemetry/history-buffer.ts; for any other text, that it is not listed. */
export function meaningOf(code: string): string {
  const ofProvider = /^\d{1,9}$/.test(code) ? PROVIDER_CODES.get(Number(code))?.means : undefined
  return ofProvider ?? known(OWN, code) ?? known(CLASSES, code) ?? 'refused with a code that is not listed here'
}

const known = (table: Readonly<Record<string, string>>, code: string): string | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined
