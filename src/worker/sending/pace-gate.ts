// Keeps the limits of a lane's pace for what one worker sends. It remembers when the latest requests left, and lets the next
// one go only when no span would then hold more than its limit. A request that was let go and has not left yet, because its
// connection is being opened, may leave at any moment: it counts in every span. Pure: the caller passes the time.
//
// On a lane that other workers serve as well, nobody knows what they let go. But all slots together are no more than the limits
// allow, so that the limits hold as well when in no span a worker sends more than it has slots of its own. What is late then
// stays late, instead of leaving in one go among the requests of the others.
import { AHEAD_MS, type Pace, type PaceLimit } from '../../model/messages/pace.ts'

/** No lane has more than this in a span (model/messages/pace.ts), which bounds what is remembered. */
const MOST_REMEMBERED = 50_000
/** So many times as many slots of its own as a worker may use in the longest span: they are reserved ahead, and some are lost. */
const OWN_SLOTS = 2
/**
 * Of what a request may be late on a shared lane, so much is free; the rest is for clocks that workers translate some milliseconds
 * wrong. With all of it free three workers sent 10,002 of 10,000 in ten seconds.
 */
const FREE_OF_LATE = 1 / 2
/** A slot of this moment counts although clocks are compared to a millisecond only (ms). */
const NOW_MS = 1

export class PaceGate {
  private limits: readonly PaceLimit[] = []
  /** How late a request may be for its slot without counting against the slots of later spans (ms). */
  private lateMs = 0
  /** The latest slots of this worker, the earliest first. */
  private own: number[] = []
  /** A ring of the latest times, as many as the widest limit holds. */
  private times = new Float64Array(0)
  /** How many have left since the ring was made. */
  private count = 0
  /** How many were let go and have not left. */
  private pending = 0

  /** From now on these limits hold, also for what has left before. */
  keep({ limits, lateMs }: Pick<Pace, 'limits' | 'lateMs'>): void {
    if (limits === this.limits) return
    this.limits = limits
    this.lateMs = lateMs * FREE_OF_LATE
    const size = Math.min(MOST_REMEMBERED, Math.max(0, ...limits.map(({ most }) => most)))
    if (size === this.times.length) return
    const known = Math.min(size, this.times.length, this.count)
    const times = new Float64Array(size)
    for (let i = 0; i < known; i += 1) times[i] = this.timeOf(known - i)
    this.times = times
    this.count = known
  }

  /** This worker has reserved a slot. */
  reserved(at: number): void {
    const { own } = this
    let index = own.length
    while (index > 0 && (own[index - 1] ?? at) > at) index -= 1
    own.splice(index, 0, at)
    const most = OWN_SLOTS * this.times.length
    if (own.length > 2 * most) own.splice(0, own.length - most)
  }

  /** A slot that was reserved is exchanged for another one. */
  lost(at: number): void {
    const after = firstAfter(this.own, at)
    const before = after - 1
    const isNearer = Math.abs((this.own[before] ?? Infinity) - at) <= Math.abs((this.own[after] ?? Infinity) - at)
    this.own.splice(isNearer ? before : after, 1)
  }

  /**
   * The earliest time at which the next request may go; infinite until one of those that were let go has left or there is another
   * slot. `isShared`: other workers serve the lane as well.
   */
  freeAt(now: number, isShared: boolean): number {
    let at = Number.NEGATIVE_INFINITY
    for (const limit of this.limits) {
      const room = limit.most - this.pending
      if (room <= 0) return Number.POSITIVE_INFINITY
      if (this.count >= room) at = Math.max(at, this.timeOf(room) + limit.spanMs)
      if (isShared) at = Math.max(at, this.ownFreeAt(now, limit))
    }
    return at
  }

  /**
   * The same by the slots of this worker; a later time only means to look again. Checked for the span that ends now and for those
   * that end before its next slot, for until then nothing of this worker is held back in favour of the others.
   */
  private ownFreeAt(now: number, { spanMs }: PaceLimit): number {
    const { own } = this
    const next = firstAfter(own, now + NOW_MS)
    // When this worker's slots are further apart than the span, one that ends before its next slot may hold none: the slot of now counts.
    const latest = Math.min(now - 2 * this.lateMs, (own[next] ?? now + this.betweenOwn()) - spanMs)
    let since = now - spanMs
    for (;;) {
      // Requests of the span that begins with the oldest of them.
      const gone = this.leftSince(since)
      const oldest = gone === 0 ? Number.POSITIVE_INFINITY : this.timeOf(gone)
      const slots = next - firstAfter(own, Math.min(oldest, latest) - this.lateMs)
      if (gone + this.pending >= slots) return Math.min(own[next] ?? Number.POSITIVE_INFINITY, oldest + spanMs)
      if (oldest >= latest) return Number.NEGATIVE_INFINITY
      since = oldest
    }
  }

  /** How far the next slot of this worker may be after its latest (ms): beyond what is claimed ahead, as far as that was after the one before. */
  private betweenOwn(): number {
    const [before, latest] = this.own.slice(-2)
    return latest === undefined || before === undefined ? AHEAD_MS : Math.max(AHEAD_MS, latest - before)
  }

  /** How many of those that are remembered left after that time. */
  private leftSince(time: number): number {
    let [least, most] = [0, Math.min(this.count, this.times.length)]
    while (least < most) {
      const middle = (least + most + 1) >> 1
      if (this.timeOf(middle) > time) least = middle
      else most = middle - 1
    }
    return least
  }

  /** One more was let go. `left` or `stayed` follows. */
  letGo(): void {
    this.pending += 1
  }

  /** One that was let go has left; times never go back. */
  left(at: number): void {
    this.pending -= 1
    if (this.times.length === 0) return
    this.times[this.count % this.times.length] = at
    this.count += 1
  }

  /** One that was let go will not leave. */
  stayed(): void {
    this.pending -= 1
  }

  /** When the request so many places back left: 1 is the latest. */
  private timeOf(back: number): number {
    return this.times[(this.count - back) % this.times.length] ?? Number.NEGATIVE_INFINITY
  }
}

/** The index of the first of these times, the earliest first, that is after that one. */
function firstAfter(times: readonly number[], time: number): number {
  let [least, most] = [0, times.length]
  while (least < most) {
    const middle = (least + most) >> 1
    if ((times[middle] ?? Infinity) > time) most = middle
    else least = middle + 1
  }
  return least
}
