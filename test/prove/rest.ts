// Waits for the end of something for as long as it gets on. A limit of time alone would take a busy machine for a broken
// promise, and a broken promise for a busy machine.
import { pause } from './wait.ts'

/** What has not moved for so long is stuck, not late: work is taken up again within 15 s, and a machine may be slow. */
const STUCK_MS = 60_000
/** Whatever still moves after so many times its limit is given up. */
const MOST_LIMITS = 4

/** How a wait ended: what was awaited has come, nothing moves any more, or it still moves but takes too long. */
export type End = 'over' | 'stuck' | 'late'

export interface Clock {
  now(): number
  pause(ms: number): Promise<void>
}

const MACHINE: Clock = { now: () => performance.now(), pause }

/** `ask` answers true once it is over, else how far it is: another text than before means that it moves. */
export async function untilOver(
  limitMs: number,
  ask: () => Promise<string | true>,
  { everyMs = 250, clock = MACHINE }: { everyMs?: number; clock?: Clock } = {},
): Promise<End> {
  const begunAt = clock.now()
  let movedAt = begunAt
  let before: string | undefined
  for (;;) {
    const seen = await ask()
    if (seen === true) return 'over'
    const now = clock.now()
    if (seen !== before) movedAt = now
    before = seen
    if (now - begunAt >= limitMs && now - movedAt >= STUCK_MS) return 'stuck'
    if (now - begunAt >= MOST_LIMITS * limitMs) return 'late'
    await clock.pause(everyMs)
  }
}
