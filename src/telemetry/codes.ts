// The codes that a metric or a count of failures may carry: a closed list, so that no provider can make up new series.
import { PROVIDER_CODES } from '../messages/provider-codes.ts'

/** Words of ours, and those that the HTTP client gives for a call without an answer. */
const OWN_CODES = [
  ...['worker_lost', 'record_lost', 'dead_letter', 'content_lost', 'sender_unreadable', 'woken_late', 'missed_slot'],
  ...['not_replicated', 'person_erased', 'opted_out'],
  ...['timeout', 'reset', 'refused', 'name_not_found', 'connect_timeout', 'answer_too_large', 'failed'],
  ...['bad_answer', 'invalid_header', 'stopped', 'refused_stream', 'repeated'],
]
const KNOWN: ReadonlySet<string> = new Set([...OWN_CODES, ...[...PROVIDER_CODES.keys()].map(String)])
const HTTP_STATUS = /^http_([1-5])\d\d$/

/** The code itself when it is known; the class of an HTTP status (`http_5xx`); else `other`. Of none: empty. */
export function countedCode(code: string | undefined): string {
  if (code === undefined) return ''
  if (KNOWN.has(code)) return code
  const status = HTTP_STATUS.exec(code)?.[1]
  return status === undefined ? 'other' : `http_${status}xx`
}
