// Logs what a webhook brings that is not for us, each kind once an hour, so that the log cannot be flooded.
import { LRUCache } from 'lru-cache'
import type { Log } from '../../../kernel/log.ts'
import { HOUR_MS } from '../../../kernel/time-units.ts'

/** Kinds that are remembered. */
const REMEMBERED = 500
const EVERY_MS = HOUR_MS
const ID = /^\d{1,32}$/

export type RareWarnings = ReturnType<typeof createRareWarnings>

export function createRareWarnings(log: Log) {
  const logged = new LRUCache<string, true>({ max: REMEMBERED, ttl: EVERY_MS, perf: performance })
  const isNew = (what: string): boolean => {
    if (logged.has(what)) return false
    // A kind that was logged within the hour never makes room for another.
    if (logged.size >= REMEMBERED && !logged.purgeStale()) return false
    logged.set(what, true)
    return true
  }
  return {
    /** A change of a field that we do not read, such as `message_echoes`. */
    otherField(field: string): void {
      if (isNew(`field ${field}`)) log.info({ field }, 'webhook.other_field')
    },
    /** Notices of a field come so fast that they are only counted. */
    missedNotice(field: string): void {
      if (isNew(`missed ${field}`)) log.warn({ field }, 'webhook.missed_notices')
    },
    /** So many files of the account wait to be fetched that this one is not. */
    mediaNotKept(account: number): void {
      if (isNew(`media ${account}`)) log.warn({ account }, 'received_media.too_many')
    },
    /** A status of a message that was sent without our id, or that somebody in between has taken it off. */
    statusWithoutId(): void {
      if (isNew('status')) log.warn('webhook.status_without_id')
    },
    /** A message or preference for a number that no sender has, or one of another account. */
    unknownNumber(phoneNumberId: string): void {
      const id = ID.test(phoneNumberId) ? phoneNumberId : null
      if (isNew(`number ${id}`)) log.warn({ phone_number_id: id }, 'webhook.unknown_number')
    },
  }
}
