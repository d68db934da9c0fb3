// Which claimed message of a lane leaves in which slot. The slots of a lane are interchangeable: whichever message goes first
// takes the next one, so a transactional message does not wait behind a campaign that has claimed the next moment. Slots that
// this process has missed are replaced in one step.
import type { Deadline } from '../../deadline.ts'
import type { MessageClass } from '../../messages/content.ts'
import type { Pace } from '../../messages/pace.ts'
import type { Slot } from '../../messages/store/claim.ts'
import type { RedisClock } from './redis-clock.ts'

/** Timers have a resolution of 1 ms: what is due within this leaves now. */
const TIMER_MS = 0.5
/**
 * Messages leave at ticks that all lanes share, so that a process with many lanes wakes a few hundred times a second and not
 * once per message. A tick is this part of the lateness that a request may have, at most MOST_TICK_MS.
 */
const TICK_OF_LATE = 1 / 10
const MOST_TICK_MS = 5

/** The claimed messages of one lane that wait for a slot. */
export interface LaneSlots {
  /**
   * Resolves to the message's slot when that has come. Undefined when the message was recalled, when its slot was missed and
   * there is no other, or when the next slot comes after `until`, as after Redis' clock was set back.
   */
  wait(of: MessageClass, slot: Slot, pace: Pace, until: Deadline): Promise<Slot | undefined>
  /** None of the messages that wait now leaves. */
  recall(): void
  /** The latest slot given out here in which a message could leave (`performance.now()`). */
  latestAt(): number
}

function tickAt(at: number, { lateMs }: Pace): number {
  // Where nothing is ever late, a longer tick would hold hundreds.
  const tick = Number.isFinite(lateMs) ? Math.min(MOST_TICK_MS, lateMs * TICK_OF_LATE) : 1
  return Math.ceil(at / tick) * tick
}

interface InLine {
  go: (slot: Slot | undefined) => void
  until: Deadline
}

/** `others` reserves slots in place of missed ones, and may get fewer. */
export function createLaneSlots(
  clock: Pick<RedisClock, 'ours'>,
  lane: number,
  others: (missed: readonly Slot[], pace: Pace) => Promise<Slot[]>,
): LaneSlots {
  /** Slots that no message has used yet, the next one first. */
  let slots: Slot[] = []
  const first: InLine[] = []
  const then: InLine[] = []
  let latestAt = Number.NEGATIVE_INFINITY
  /** When the latest claim runs out. */
  let latestUntil = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  /** How often all was recalled. */
  let recalls = 0

  function leave(pace: Pace): void {
    timer = undefined
    const now = performance.now()
    const missed: Slot[] = []
    for (let [slot] = slots; slot !== undefined; [slot] = slots) {
      const at = clock.ours(lane, slot.atMs)
      const late = lateLine(at)
      if (late !== undefined) {
        // All other slots are later still.
        slots.pop()
        late.shift()?.go(undefined)
        continue
      }
      if (at > now + TIMER_MS) {
        timer = setTimeout(leave, tickAt(at, pace) - now, pace)
        break
      }
      slots.shift()
      if (now - at > pace.lateMs) missed.push(slot)
      else (first.shift() ?? then.shift())?.go(slot)
    }
    if (missed.length > 0) void replace(missed, pace)
  }

  /** The line whose first message, the earliest claimed of it, may not leave as late as `at`. */
  function lateLine(at: number): InLine[] | undefined {
    if ((first[0]?.until.steadyMs ?? Number.POSITIVE_INFINITY) <= at) return first
    return (then[0]?.until.steadyMs ?? Number.POSITIVE_INFINITY) <= at ? then : undefined
  }

  /** Never rejects. */
  async function replace(missed: readonly Slot[], pace: Pace): Promise<void> {
    const before = recalls
    // Without Redis there are none.
    const found = await others(missed, pace).catch(() => [])
    if (recalls !== before) return
    for (const slot of found) add(slot, pace)
    for (let i = found.length; i < missed.length; i += 1) (then.pop() ?? first.pop())?.go(undefined)
  }

  function add(slot: Slot, pace: Pace): void {
    let at = slots.length
    while (at > 0 && (slots[at - 1]?.atMs ?? 0) > slot.atMs) at -= 1
    slots.splice(at, 0, slot)
    if (at === 0 && timer !== undefined) {
      clearTimeout(timer)
      timer = undefined
    }
    // A slot of a clock that was set back since lies ahead by as much: the lane does not wait for that.
    const slotAt = clock.ours(lane, slot.atMs)
    if (slotAt < latestUntil) latestAt = Math.max(latestAt, slotAt)
    if (timer !== undefined) return
    const firstAt = clock.ours(lane, (slots[0] ?? slot).atMs)
    const now = performance.now()
    // What was claimed in one step is sent in one go.
    const isNow = firstAt <= now + TIMER_MS || lateLine(firstAt) !== undefined
    timer = setTimeout(leave, isNow ? 0 : tickAt(firstAt, pace) - now, pace)
  }

  return {
    wait: (of, slot, pace, until) =>
      new Promise((go) => {
        const line = of === 'transactional' ? first : then
        line.push({ go, until })
        latestUntil = until.steadyMs
        add(slot, pace)
      }),
    recall: () => {
      clearTimeout(timer)
      timer = undefined
      slots = []
      recalls += 1
      for (const { go } of [...first.splice(0), ...then.splice(0)]) go(undefined)
    },
    latestAt: () => latestAt,
  }
}
