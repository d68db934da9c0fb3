// What the loop of a lane is told. Who tells it only notes it here and rings: the loop looks when its turn to go on comes.
import { Bell } from '../../kernel/bell.ts'

/** Longest that a lane in a cooldown does not read: a person may end it, or change the pace. It then reads one message. */
const MOST_HELD_MS = 1_000

export class LaneSignals {
  readonly bell = new Bell()
  /** There may be jobs that the lane has not read. At first there may be some already. */
  isUnread = true
  /** Messages of campaigns have come since the latest full read. */
  isFed = false
  /** Nothing is claimed until then (`performance.now()`). */
  heldUntil = 0
  isStopped = false

  /** There may be something new. */
  wake(): void {
    this.isUnread = true
    void this.bell.ring()
  }

  /** Messages of campaigns have come. Unlike after `wake`, the lane is not read before its next slots for campaigns. */
  feed(): void {
    this.isFed = true
    void this.bell.ring()
  }

  /** Claims nothing for this long. */
  hold(ms: number): void {
    this.heldUntil = Math.max(this.heldUntil, performance.now() + Math.min(Math.max(1, ms), MOST_HELD_MS))
  }

  /** The loop ends; messages in flight are still finished. */
  stop(): void {
    this.isStopped = true
    void this.bell.ring()
  }
}
