// Releases stale held places. A place and its message are written one after the other, perhaps on two servers of a cluster: a process that
// dies in between leaves a place without a held message, and for a day campaigns of the whole portfolio would share the few remaining
// places. Idempotent.
import { parseMessageId } from '../../kernel/message-id.ts'
import { type MessageRecord, readMessages } from '../../lanes/messages/records.ts'
import {
  type HeldPlace,
  type Holder,
  heldPlacesOf,
  holders,
  releaseSameHeldPlace,
} from '../../portfolios/held-places.ts'
import type { Redis } from '../../redis/connect.ts'

/** How often all places are checked. */
export const STALE_CHECK_MS = 60_000
/** How many holders, portfolios or lanes without one, are checked, and how many places of each. */
const HOLDERS = 1_000
const PLACES = 2_000
/** Records read in one round trip. */
const AT_ONCE = 200

/** Releases the places of messages that are neither held nor in flight; returns how many. Rejects when Redis is away. */
export async function releaseStalePlaces(redis: Redis): Promise<number> {
  let released = 0
  for (const holder of await holders(redis, HOLDERS)) {
    const places = await heldPlacesOf(redis, holder, PLACES)
    for (let at = 0; at < places.length; at += AT_ONCE) {
      released += await releaseStale(redis, holder, places.slice(at, at + AT_ONCE))
    }
  }
  return released
}

async function releaseStale(redis: Redis, holder: Holder, places: readonly HeldPlace[]): Promise<number> {
  const byLane = new Map<number, { ulid: string; place: HeldPlace }[]>()
  for (const place of places) {
    const id = parseMessageId(place.name)
    if (id === undefined) continue
    const some = byLane.get(id.lane) ?? []
    byLane.set(id.lane, some)
    some.push({ ulid: id.ulid, place })
  }
  let released = 0
  for (const [lane, some] of byLane) {
    const ulids = some.map(({ ulid }) => ulid)
    const records = await readMessages(redis, lane, ulids)
    for (const [i, { place }] of some.entries()) {
      if (isOver(place, records[i]) && (await releaseSameHeldPlace(redis, holder, place))) released += 1
    }
  }
  return released
}

/** Whether the message no longer needs its place. One that is about to be claimed has a place in flight, which expires. */
function isOver({ isHeld }: HeldPlace, record: MessageRecord | Error | undefined): boolean {
  if (record instanceof Error) return false
  if (record === undefined || record.state === 'queued') return isHeld
  return record.heldSince === undefined && record.state !== 'sending' && record.state !== 'unconfirmed'
}
