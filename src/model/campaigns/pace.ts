// How much of a campaign may be on its lane: what the lane sends in the next seconds, shared by the campaigns that run on it. A short
// queue keeps Redis small and a pause quick. Equal shares of it leave each campaign something to send at each of its turns
// (lanes/scripts/lane-feed.lua).

/**
 * Long enough that the lane does not run dry while a dead worker's fan-out is taken over, also right after a late worker has made up for
 * two seconds at once (MOST_PAST_MS, model/messages/pace.ts).
 */
const SECONDS_AHEAD = 4
const LEAST = 50
/** Of all campaigns of one lane: a pause drops what is there, and a resume feeds it again. */
const MOST = 5_000

/** Messages of one campaign that may wait on a lane of `rate` per second on which `running` campaigns run. */
export function windowOf(rate: number, running: number): number {
  return Math.max(LEAST, Math.floor(Math.min(rate * SECONDS_AHEAD, MOST) / Math.max(1, running)))
}

/** The most that can ever wait on a lane from one campaign. */
export const WIDEST_WINDOW = Math.max(LEAST, MOST)

/** A step of a fan-out costs Redis as much as many places: it waits until it can feed so much at once, or this part of its window. */
const PORTION_SECONDS = 0.5
const PORTIONS_IN_WINDOW = 4
const MOST_IN_PORTION = 500

/** The least that is worth feeding of a campaign, one of `running`, on a lane of `rate` per second, or held to that. */
export function portionOf(rate: number, running = 1): number {
  const most = Math.min(MOST_IN_PORTION, Math.ceil(windowOf(rate, running) / PORTIONS_IN_WINDOW))
  return Math.min(most, Math.max(1, Math.floor(rate * PORTION_SECONDS)))
}

/** A fan-out looks at what has come of its campaign at least this often, and more often where its part of the lane would run dry. */
const LONGEST_ROUND_MS = 250
export const SHORTEST_ROUND_MS = 100
/** Each round may feed no more than a window. */
const ROUNDS_IN_WINDOW = 4

/** How long (ms) a fan-out waits for its next round, on a lane of `rate` per second on which `running` campaigns run. */
export function roundMs(rate: number, running: number): number {
  const windowMs = (windowOf(rate, running) / rate) * 1_000
  return Math.min(LONGEST_ROUND_MS, Math.max(SHORTEST_ROUND_MS, windowMs / ROUNDS_IN_WINDOW))
}

/** A campaign with nothing to feed is parked for so long at first; each time that nothing has moved meanwhile doubles it. */
const FIRST_PARK_MS = 250
/** Parked campaigns of a lane are woken at most once in so many ms, all together. */
const PARKED_EACH_MS = 50
export const MOST_PARK_MS = 60_000

/**
 * How long (ms) a campaign with nothing to feed is parked, one of `running` on its lane, after it was parked for `beforeMs`.
 * A worker that takes a message of it wakes it before; the time is for wakes that are lost.
 */
export function parkMs(beforeMs: number, running: number): number {
  return Math.min(MOST_PARK_MS, Math.max(FIRST_PARK_MS, running * PARKED_EACH_MS, 2 * beforeMs))
}
