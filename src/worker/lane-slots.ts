// Claimed messages of a lane, waiting for their slots. Slots of one lane are interchangeable: whatever goes first takes the
// next one. So a transactional message does not wait behind a campaign that has claimed the next tenth of a second.
//
// A process that stood still has missed slots, and must not send all that it had claimed at once: it asks for as many
// others, in one step. If the process dies here, the messages are claimed and have not left: the sweep flags them.
import type { MessageClass } from '../messages/message-class.ts'
import type { Pace } from '../messages/pace.ts'
import type { Slot } from '../messages/store/claim.ts'
import type { RedisClock } from './redis-clock.ts'

/** Timers have a resolution of a millisecond: what is due within this leaves now. */
const TIMER_MS = 0.5
/**
 * What is not due yet leaves at the next tick, and all lanes have the same ticks: the event loop of a process with many lanes
 * turns a few hundred times a second then, not once for each message. A tick is so small a part of what a request may be
 * late, and at most so long.
 */
const TICK_OF_LATE = 1 / 10
const MOST_TICK_MS = 5

/** The claimed messages of one lane that wait for a slot. */
export interface LaneSlots {
  /** Resolves with the slot in which the message leaves, when that has come; undefined when it was recalled. */
  wait(of: MessageClass, slot: Slot, pace: Pace): Promise<Slot | undefined>
  /** Lets nothing leave of what waits now. */
  recall(): void
  /** The latest slot that was given out here (`performance.now()`). */
  latestAt(): number
}

function tickAt(at: number, { lateMs }: Pace): number {
  // Of a lane on which nothing is late a tick would hold hundreds.
  const tick = Number.isFinite(lateMs) ? Math.min(MOST_TICK_MS, lateMs * TICK_OF_LATE) : 1
  return Math.ceil(at / tick) * tick
}

type Go = (slot: Slot | undefined) => void

/** Nothing waits at first. `others` asks for other slots in place of those that were missed, and may get fewer. */
export function createLaneSlots(
  clock: Pick<RedisClock, 'ours'>,
  lane: number,
  others: (missed: readonly Slot[], pace: Pace) => Promise<Slot[]>,
): LaneSlots {
  /** Slots that nobody has left in, the next one first. */
  let slots: Slot[] = []
  const first: Go[] = []
  const then: Go[] = []
  let latestAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  /** How often all was recalled. */
  let recalls = 0

  function leave(pace: Pace): void {
    timer = undefined
    const now = performance.now()
    const missed: Slot[] = []
    for (let [slot] = slots; slot !== undefined; [slot] = slots) {
      const at = clock.ours(lane, slot.atMs)
      if (at > now + TIMER_MS) {
        timer = setTimeout(leave, tickAt(at, pace) - now, pace)
        break
      }
      slots.shift()
      if (now - at > pace.lateMs) missed.push(slot)
      else (first.shift() ?? then.shift())?.(slot)
    }
    if (missed.length > 0) void replace(missed, pace)
  }

  /** Never rejects. */
  async function replace(missed: readonly Slot[], pace: Pace): Promise<void> {
    const before = recalls
    // Without Redis there are none.
    const found = await others(missed, pace).catch(() => [])
    if (recalls !== before) return
    for (const slot of found) add(slot, pace)
    for (let i = found.length; i < missed.length; i += 1) (then.pop() ?? first.pop())?.(undefined)
  }

  function add(slot: Slot, pace: Pace): void {
    let at = slots.length
    while (at > 0 && (slots[at - 1]?.atMs ?? 0) > slot.atMs) at -= 1
    slots.splice(at, 0, slot)
    if (at === 0 && timer !== undefined) {
      clearTimeout(timer)
      timer = undefined
    }
    latestAt = Math.max(latestAt, clock.ours(lane, slot.atMs))
    if (timer !== undefined) return
    const firstAt = clock.ours(lane, (slots[0] ?? slot).atMs)
    const now = performance.now()
    // What was claimed in one step is sent in one go.
    timer = setTimeout(leave, firstAt > now + TIMER_MS ? tickAt(firstAt, pace) - now : 0, pace)
  }

  return {
    wait: (of, slot, pace) =>
      new Promise((go) => {
        const line = of === 'transactional' ? first : then
        line.push(go)
        add(slot, pace)
      }),
    recall: () => {
      clearTimeout(timer)
      timer = undefined
      slots = []
      recalls += 1
      for (const go of [...first.splice(0), ...then.splice(0)]) go(undefined)
    },
    latestAt: () => latestAt,
  }
}
