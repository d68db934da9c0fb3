// Claimed messages of a lane, waiting for their slots. Slots of one lane are interchangeable: whatever goes first takes the
// next one. So a transactional message does not wait behind a campaign that has claimed the next tenth of a second.
//
// If the process dies here, the messages are claimed and have not left: the sweep flags them.
import type { MessageClass } from '../messages/message-class.ts'
import type { Slot } from '../messages/store/claim.ts'
import type { RedisClock } from './redis-clock.ts'

/** Timers have a resolution of a millisecond: what is due within this leaves now. */
const TIMER_MS = 0.5

/** The claimed messages of one lane that wait for a slot. */
export interface LaneSlots {
  /** Resolves with the slot in which the message leaves, when that has come; undefined when it was recalled. */
  wait(of: MessageClass, slot: Slot): Promise<Slot | undefined>
  /** Lets nothing leave of what waits now. */
  recall(): void
  /** The latest slot that was given out here (`performance.now()`). */
  latestAt(): number
}

type Go = (slot: Slot | undefined) => void

/** Nothing waits at first. */
export function createLaneSlots(clock: Pick<RedisClock, 'ours'>, lane: number): LaneSlots {
  /** Slots that nobody has left in, the next one first. */
  const slots: Slot[] = []
  const first: Go[] = []
  const then: Go[] = []
  let latestAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  function leave(): void {
    timer = undefined
    const now = performance.now()
    for (;;) {
      const [slot] = slots
      if (slot === undefined) return
      const at = clock.ours(lane, slot.atMs)
      if (at > now + TIMER_MS) {
        timer = setTimeout(leave, at - now)
        return
      }
      slots.shift()
      const go = first.shift() ?? then.shift()
      go?.(slot)
    }
  }

  function add(slot: Slot): void {
    let at = slots.length
    while (at > 0 && (slots[at - 1]?.atMs ?? 0) > slot.atMs) at -= 1
    slots.splice(at, 0, slot)
    if (at === 0 && timer !== undefined) {
      clearTimeout(timer)
      timer = undefined
    }
    latestAt = Math.max(latestAt, clock.ours(lane, slot.atMs))
    // What was claimed in one step is sent in one go.
    timer ??= setTimeout(leave, Math.max(0, clock.ours(lane, slots[0]?.atMs ?? 0) - performance.now()))
  }

  return {
    wait: (of, slot) =>
      new Promise((go) => {
        const line = of === 'transactional' ? first : then
        line.push(go)
        add(slot)
      }),
    recall: () => {
      clearTimeout(timer)
      timer = undefined
      slots.length = 0
      for (const go of [...first.splice(0), ...then.splice(0)]) go(undefined)
    },
    latestAt: () => latestAt,
  }
}
