// Events as an endpoint gets them: verified, typed, and one list whether they came alone or in a batch. Nothing here needs
// a connection.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { membersOf } from './contract.ts'
import type { LanewayEvent } from './types.ts'

/** A delivery whose signature does not match, that is too old, or that holds no events. Answer it with 400 or 401. */
export class EventsRefused extends Error {
  override name = 'EventsRefused'
}

/** Clocks may differ by so much (ms), and a delivery may be under way for so long. */
const TOLERANCE_MS = 300_000

/** Headers as Node or `fetch` have them. */
export type EventHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * The events of a delivery, and its id. `rawBody` must be the bytes that came: parsed and written again they differ.
 * `secrets` are those of the endpoint, one or, while it is rotated, two. Throws EventsRefused when it is not signed with
 * any of them, or was signed more than five minutes before or after `nowMs`.
 */
export function verifyEvent(
  headers: EventHeaders,
  rawBody: string | Uint8Array,
  secrets: string | readonly string[],
  nowMs: number = Date.now(),
): { id: string; events: LanewayEvent[] } {
  const id = headerOf(headers, 'webhook-id')
  const seconds = headerOf(headers, 'webhook-timestamp')
  const given = headerOf(headers, 'webhook-signature')
  if (!/^\d{1,12}$/.test(seconds) || Math.abs(nowMs - Number(seconds) * 1_000) > TOLERANCE_MS) {
    throw new EventsRefused('The delivery was signed too long ago, or not at all.')
  }
  const signatures = given
    .split(' ')
    .flatMap((each) => (each.startsWith('v1,') ? Buffer.from(each.slice(3), 'base64') : []))
  const isSigned = [secrets].flat().some((secret) => {
    const expected = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.`).update(rawBody).digest()
    return signatures.some((each) => each.length === expected.length && timingSafeEqual(each, expected))
  })
  if (!isSigned) throw new EventsRefused('The signature does not match.')
  return { id, events: eventsOf(typeof rawBody === 'string' ? rawBody : Buffer.from(rawBody).toString()) }
}

/** Whether an event is new, by the highest `seq` that is known of its message or campaign; true for one without `seq`. */
export const isNews = (event: LanewayEvent, known: number | undefined): boolean =>
  !('seq' in event.data) || known === undefined || event.data.seq > known

function keyOf(secret: string): Buffer {
  if (!secret.startsWith('whsec_')) throw new TypeError('The secret of an endpoint begins with whsec_')
  return Buffer.from(secret.slice('whsec_'.length), 'base64')
}

function headerOf(headers: EventHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? ''
  const value = headers[name]
  return typeof value === 'string' ? value : (value?.[0] ?? '')
}

function eventsOf(text: string): LanewayEvent[] {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new EventsRefused('The body is not JSON.')
  }
  const { type, data } = membersOf(body)
  const list: unknown[] = type === 'batch' && Array.isArray(data) ? data : [body]
  if (!list.every(isEvent)) throw new EventsRefused('The body holds no events.')
  return list
}

/** Laneway has signed it, so no more needs to be checked. */
function isEvent(value: unknown): value is LanewayEvent {
  const { type, timestamp, data } = membersOf(value)
  return typeof type === 'string' && typeof timestamp === 'string' && typeof membersOf(data).event_id === 'string'
}
