// How much of a campaign may be on its lane: what the lane sends in the next seconds, shared by the campaigns that run on it. A short
// queue keeps Redis small and a pause quick. Equal shares of it leave each campaign something to send at each of its turns
// (lanes/scripts/chunk-round-robin.lua).

/** Long enough that the lane does not run dry while a dead worker's fan-out is taken over. */
const SECONDS_AHEAD = 2
const LEAST = 50
/** Of all campaigns of one lane: a pause drops what is there, and a resume feeds it again. */
const MOST = 5_000

/** Messages of one campaign that may wait on a lane of `rate` per second on which `running` campaigns run. */
export function windowOf(rate: number, running: number): number {
  return Math.max(LEAST, Math.floor(Math.min(rate * SECONDS_AHEAD, MOST) / Math.max(1, running)))
}

/** The most that can ever wait on a lane from one campaign. */
export const WIDEST_WINDOW = Math.max(LEAST, MOST)

/**
 * What one worker takes at once: short enough that campaigns take turns several times a second, that other workers find work, and
 * that a worker that dies delays little.
 */
const CHUNK_SECONDS = 0.25
/** The same where campaigns share the lane: what workers hold makes the turns uneven. */
const SHARED_CHUNK_SECONDS = 0.125
/**
 * Most recipients of one chunk, however fast its lane is. What a chunk takes before its first message leaves, 25 ms of
 * answers from Redis on a busy one, is shared by them: with 250 a worker that could send more stood idle for a fifth of
 * the time.
 */
export const MOST_IN_CHUNK = 500

/** From this rate on a chunk leaves sooner than Redis has answered all that the next one asks before it begins. */
const FAST_A_SECOND = 1_000

/**
 * Chunks of a lane that one process has in hand: others are claimed from while one waits for an answer, or for the last
 * of its messages. What is in hand makes the turns of campaigns uneven: on a lane of 80 a second that two share, each
 * chunk more is 10 of 400 messages in 10 s. On a fast lane three came to 1.32 times the rate of before and two to 1.19
 * in one run of the bench; five were no better.
 */
export const chunksAtOnce = (rate: number): number => (rate >= FAST_A_SECOND ? 3 : 2)

/** A window holds several chunks, so that the next one waits when one has been taken up. */
const CHUNKS_IN_WINDOW = 4

/** Recipients of a chunk of a campaign, one of `running`, on a lane of `rate` per second, or held to that. */
export function chunkOf(rate: number, running = 1): number {
  const most = Math.min(MOST_IN_CHUNK, Math.ceil(windowOf(rate, running) / CHUNKS_IN_WINDOW))
  const seconds = running > 1 ? SHARED_CHUNK_SECONDS : CHUNK_SECONDS
  return Math.min(most, Math.max(1, Math.floor(rate * seconds)))
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
