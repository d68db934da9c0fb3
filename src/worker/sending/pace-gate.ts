// Keeps the limits of a lane's pace for what one worker sends. It remembers when the latest requests left, and lets the next
// one go only when no span would then hold more than its limit. A request that was let go and has not left yet, because its
// connection is being opened, may leave at any moment: it counts in every span. Pure: the caller passes the time.
import type { PaceLimit } from '../../model/messages/pace.ts'

/** No lane has more than this in a span (model/messages/pace.ts), which bounds what is remembered. */
const MOST_REMEMBERED = 50_000

export class PaceGate {
  private limits: readonly PaceLimit[] = []
  /** A ring of the latest times, as many as the widest limit holds. */
  private times = new Float64Array(0)
  /** How many have left since the ring was made. */
  private count = 0
  /** How many were let go and have not left. */
  private pending = 0

  /** From now on these limits hold, also for what has left before. */
  keep(limits: readonly PaceLimit[]): void {
    if (limits === this.limits) return
    this.limits = limits
    const size = Math.min(MOST_REMEMBERED, Math.max(0, ...limits.map(({ most }) => most)))
    if (size === this.times.length) return
    const known = Math.min(size, this.times.length, this.count)
    const times = new Float64Array(size)
    for (let i = 0; i < known; i += 1) times[i] = this.timeOf(known - i)
    this.times = times
    this.count = known
  }

  /** The earliest time at which the next request may go; infinite until one of those that were let go has left. */
  freeAt(): number {
    let at = Number.NEGATIVE_INFINITY
    for (const { most, spanMs } of this.limits) {
      const room = most - this.pending
      if (room <= 0) return Number.POSITIVE_INFINITY
      if (this.count >= room) at = Math.max(at, this.timeOf(room) + spanMs)
    }
    return at
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
