// How long a worker may rely on what it has read about opt-outs, and how whoever confirms an opt-out knows that.
//
// Half a second, as a rule. A worker whose Redis or machine is slow would need longer than that from the check to the departure,
// would check again and again, and send nothing. So it announces in Redis that its checks are valid for longer, and only then
// relies on them for longer. Whoever confirms an opt-out reads the announcement after writing the opt-out:
//
//   - A check that was made before the opt-out was written may rely on an announcement that was there before the check. It is still
//     there when it is read, or so old that the check has expired.
//   - A check that was made afterwards finds the opt-out.
//
// Dying anywhere in between does no harm: an announcement without a check delays the confirmations of opt-outs until it expires.
import { type Deadline, deadlineIn, isOver } from '../../kernel/deadline.ts'
import { AHEAD_MS } from '../../model/messages/pace.ts'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'

/** Counted from before the check was sent, and also while the machine is suspended (deadline.ts). */
export const CHECK_GOOD_FOR_MS = 500
/** The same after an announcement. Longer than a webhook may take to be answered would have WhatsApp repeat it. */
export const SLOW_CHECK_GOOD_FOR_MS = 2_500
/** A check that takes longer than this until its messages are claimed is slow: the rest of its validity is for the wait for their slots. */
const SLOW_MS = CHECK_GOOD_FOR_MS - AHEAD_MS
/** An announcement is there for so long, and is repeated after half of it while checks are slow. */
const ANNOUNCED_MS = 60_000

/** The checks of one worker. */
export class CheckValidity {
  private readonly redis: Redis
  /** Until when a check may begin that relies on the announcement. */
  private announcedUntil: Deadline = deadlineIn(0)
  private renewAt: Deadline = deadlineIn(0)

  constructor(redis: Redis) {
    this.redis = redis
  }

  /** How long a check that is sent now is valid (ms). */
  goodForMs(): number {
    return isOver(this.announcedUntil) ? CHECK_GOOD_FOR_MS : SLOW_CHECK_GOOD_FOR_MS
  }

  /**
   * A check took so long until its messages were claimed (ms). Never rejects: without the announcement checks stay valid for half a
   * second.
   */
  took(ms: number): void {
    if (ms < SLOW_MS || !isOver(this.renewAt)) return
    this.renewAt = deadlineIn(ANNOUNCED_MS / 2)
    // From before the announcement is sent: it expires no sooner.
    const until = deadlineIn(ANNOUNCED_MS - SLOW_CHECK_GOOD_FOR_MS)
    this.redis.set(rootKeys.slowChecks, SLOW_CHECK_GOOD_FOR_MS, 'PX', ANNOUNCED_MS).then(
      () => {
        this.announcedUntil = until
      },
      () => {
        this.renewAt = deadlineIn(0)
      },
    )
  }
}
