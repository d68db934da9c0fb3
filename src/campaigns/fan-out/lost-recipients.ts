// Finds recipients lost between the list and a claim, or whose record was gone before they were settled, when a fully fed
// campaign does not finish.

import type { Log } from '../../kernel/log.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { jobStates } from '../../lanes/jobs.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { arePlacesWaiting } from '../../lanes/places.ts'
import { idOf } from '../../recipients/campaigns.ts'
import { buildMessage, type MessageSpec } from '../../recipients/recipient-message.ts'
import { unclaimedPlaces, unsettledPlaces } from '../../recipients/recipient-states.ts'
import type { Snapshot } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'

/** After so long without movement the campaign is searched. It costs half a byte per recipient. */
const STILL_MS = 2_000
/** Least time between two searches; each search in vain doubles it, up to the second figure. */
const LEAST_APART_MS = 1_000
const MOST_APART_MS = 30_000
/** A search costs some 10 µs of Redis per unsettled message: hundreds of thousands may wait for a day. */
const APART_EACH_MS = 1
/** Records read in one round trip. */
const AT_ONCE = 500

/** The figures that show whether a fully fed campaign still moves. */
export interface Stillness {
  /** Recipients whose message was never claimed. */
  unclaimed: number
  /** Those and the messages that are not settled. */
  unsettled: number
  /** Messages on the lane, of any origin: jobs and places. */
  backlog: number
}

/**
 * Decides when to search a fully fed campaign: at once if fewer messages are on the lane than recipients are unclaimed, which only a
 * loss explains, else after 2 s without movement. Searches in vain make it wait longer, so that a message that cannot be helped costs
 * almost nothing.
 */
export function createStuckCheck(now: () => number = () => performance.now()) {
  let last = { figures: '', since: now() }
  let searchedAt = Number.NEGATIVE_INFINITY
  let inVain = 0
  return ({ unclaimed, unsettled, backlog }: Stillness): boolean => {
    const figures = `${unclaimed} ${unsettled}`
    if (figures !== last.figures) {
      last = { figures, since: now() }
      inVain = 0
    }
    if (unsettled <= 0) return false
    const isCertain = unclaimed > 0 && backlog < unclaimed
    if (!isCertain && now() - last.since < STILL_MS) return false
    const apartMs = Math.max(MOST_APART_MS, unsettled * APART_EACH_MS)
    if (now() - searchedAt < Math.min(apartMs, LEAST_APART_MS * 2 ** inVain)) return false
    searchedAt = now()
    inVain += 1
    return true
  }
}

/**
 * Ends every message of the campaign as unknown that was claimed and whose record is gone. Returns the place of the first
 * recipient whose message was never claimed and waits neither as a job nor as a place, from which the list is to be fed once more;
 * undefined when there is none. Messages on a paused or busy lane are not lost: feeding them again, and setting the cursor back for
 * that, would keep a campaign busy that has nothing to do.
 */
export async function requeueStuck(
  deps: { redis: Redis; log: Log; config: { retentionMs: number } },
  spec: MessageSpec,
  total: number,
  snapshot: Snapshot,
): Promise<number | undefined> {
  const { redis, log, config } = deps
  const { lane } = spec.id
  for await (const messages of built(unsettledPlaces(redis, spec.id, total), spec, snapshot)) {
    const records = await archiveOf(redis).find({ lane, ulids: messages.map(({ ulid }) => ulid) }, 'progress')
    for (const [i, { ulid, payload }] of messages.entries()) {
      if (records[i] !== undefined) continue
      const ended = await finalizeUnsent(redis, { lane, ulid }, 'gone', payload, config.retentionMs)
      if (ended) log.warn({ campaign: idOf(spec.id), message: ulid }, 'campaign.record_lost')
    }
  }
  for await (const messages of built(unclaimedPlaces(redis, spec.id, total), spec, snapshot)) {
    const ulids = messages.map(({ ulid }) => ulid)
    const places = messages.map(({ place }) => place)
    const [jobs, areWaiting] = await Promise.all([
      jobStates(redis, lane, ulids),
      arePlacesWaiting(redis, spec.id, places),
    ])
    const lost = messages.find((_message, i) => jobs[i] !== 'waits' && !areWaiting[i])
    if (lost) return lost.place
  }
  return undefined
}

/** The messages of the recipients at these places, at most AT_ONCE at a time. */
async function* built(pieces: AsyncIterable<number[]>, spec: MessageSpec, snapshot: Snapshot) {
  for await (const places of pieces) {
    for (let from = 0; from < places.length; from += AT_ONCE) {
      const messages = []
      for (const place of places.slice(from, from + AT_ONCE)) {
        const [recipient] = await snapshot.read(place, 1)
        if (recipient !== undefined) messages.push({ place, ...buildMessage(spec, recipient, place) })
      }
      yield messages
    }
  }
}
