// What a webhook of the chat product brings that is not for us: told in the log, once an hour for each, so that nothing
// which may hold a message is passed over in silence, and a chat product that brings it a thousand times fills no disk.
import { LRUCache } from 'lru-cache'
import type { Log } from '../../../log.ts'

/** Kinds of asides that are remembered. */
const REMEMBERED = 500
const EVERY_MS = 3_600_000
const ID = /^\d{1,32}$/

/** Who tells of them. */
export interface Asides {
  /** A change is about something that we do not take, such as `message_echoes`. */
  otherField(field: string): void
  /** A message or a wish came for a number that no sender has, or that is another account's. */
  unknownNumber(phoneNumberId: string): void
}

/** Tells `log` of each. */
export function createAsides(log: Log): Asides {
  const logged = new LRUCache<string, true>({ max: REMEMBERED, ttl: EVERY_MS, perf: performance })
  const isNew = (what: string): boolean => {
    if (logged.has(what)) return false
    logged.set(what, true)
    return true
  }
  return {
    otherField(field) {
      if (isNew(`field ${field}`)) log.info({ field }, 'webhook.other_field')
    },
    unknownNumber(phoneNumberId) {
      const id = ID.test(phoneNumberId) ? phoneNumberId : null
      if (isNew(`number ${id}`)) log.warn({ phone_number_id: id }, 'webhook.unknown_number')
    },
  }
}
