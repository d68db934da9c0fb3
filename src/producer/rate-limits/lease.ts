// Requests that this process may let through without asking: leased from a bucket in Redis, some ms ahead. What is
// leased is taken out of the bucket, so all processes together never let more through than the bucket gave. Pure.

/** A lease that is not used by then is lost, so that a pause does not end in a burst. */
const LEASE_MS = 250
/** The span that is leased ahead, and counted to know how many that takes. */
const AHEAD_MS = 100
/**
 * While half of the bucket is left, a twentieth of what a second brings may be leased for so much longer and so many spans:
 * keys of a few requests a second asked for nearly each of them otherwise, and every lease is a write.
 */
const FAR_LEASE_MS = 2_000
const FAR_SPANS = 10
const FAR_SHARE = 1 / 20
/** When the bucket is empty it is asked again after so long at the earliest: refusals in between cost no Redis. */
const ASK_AGAIN_MS = 25
/**
 * The same of somebody who comes more than twice as often as the rate allows. What comes into the bucket meanwhile is
 * leased at once then: each lease is a write, for which a Redis that syncs its file makes everybody else wait.
 */
const FLOOD_ASK_AGAIN_MS = AHEAD_MS

/** What Redis said: `left` stay in the bucket, and the next one comes after `waitMs`. */
export interface Granted {
  granted: number
  left: number
  waitMs: number
}

/** What this process knows of one bucket. */
export interface Lease {
  /** A request has come. */
  came(nowMs: number): void
  /** It is let through; false when none is left. */
  use(nowMs: number): boolean
  /** Whether the bucket is known to be empty, so that asking is of no use yet. */
  isEmpty(nowMs: number): boolean
  /** How many to ask for, for those that wait and those that will come soon. 0: there are enough. */
  wanted(rate: number, waiting: number, nowMs: number): number
  /** Redis has answered. */
  take(reply: Granted, asked: number, rate: number, nowMs: number): void
  /** Redis does not answer: this process goes on at the rate by itself. */
  takeAlone(rate: number, nowMs: number): void
  /** Requests that could follow now, as far as is known. */
  left(nowMs: number): number
}

/** Nothing leased yet. */
export function createLease(): Lease {
  let tokens = 0
  let untilMs = 0
  let emptyUntilMs = 0
  let left = 0
  let isFar = false
  /** Requests of this span and of the one before. */
  let spanAt = Number.NEGATIVE_INFINITY
  let came = 0
  let cameBefore = 0

  return {
    came(nowMs) {
      const since = nowMs - spanAt
      if (since >= AHEAD_MS) {
        cameBefore = since < 2 * AHEAD_MS ? came : 0
        came = 0
        spanAt = nowMs
      }
      came += 1
    },
    use(nowMs) {
      if (nowMs >= untilMs) tokens = 0
      if (tokens === 0) return false
      tokens -= 1
      return true
    },
    isEmpty: (nowMs) => nowMs < emptyUntilMs,
    wanted(rate, waiting, nowMs) {
      const inSpan = Math.max(came, cameBefore)
      const far = isFar && inSpan > 1 ? Math.min(FAR_SPANS * inSpan, Math.floor(rate * FAR_SHARE)) : 0
      const ahead = Math.max(far, Math.min(inSpan, Math.ceil(rate / 5)))
      const held = nowMs >= untilMs ? 0 : tokens
      if (waiting === 0 && (held > ahead / 2 || nowMs < emptyUntilMs)) return 0
      // Whoever comes alone leaves nothing over.
      return waiting + (ahead > 1 ? ahead : 0)
    },
    take(reply, asked, rate, nowMs) {
      if (nowMs >= untilMs) tokens = 0
      tokens += reply.granted
      left = reply.left
      isFar = left >= rate / 2
      if (reply.granted > 0) untilMs = nowMs + (isFar ? FAR_LEASE_MS : LEASE_MS)
      const isFlood = Math.max(came, cameBefore) > (2 * rate * AHEAD_MS) / 1_000
      const againMs = Math.max(isFlood ? FLOOD_ASK_AGAIN_MS : ASK_AGAIN_MS, reply.waitMs)
      emptyUntilMs = reply.granted < asked ? nowMs + againMs : 0
    },
    takeAlone(rate, nowMs) {
      tokens = Math.max(1, Math.floor((rate * AHEAD_MS) / 1_000))
      left = 0
      isFar = false
      untilMs = nowMs + (tokens * 1_000) / rate
      emptyUntilMs = untilMs
    },
    left: (nowMs) => (nowMs >= untilMs ? left : tokens + left),
  }
}
