// Decides when each claimed message of a lane leaves, and in which slot. The slots of a lane are interchangeable: whichever
// message goes first takes the next one, so a transactional message does not wait behind a campaign that has claimed the slots
// of the next moment.
//
// A busy machine is late with everything. Whatever is late is handled for all late messages of the lane in one step: one
// question whether they may still leave, one exchange of lost slots. So a worker that falls behind asks no more of Redis than
// one that does not. If the second check of a message is out of date by the time it arrives, the message
// goes back to its lane.
//
// While other workers serve the lane, a slot is lost once it has passed by more than a request may be late; a worker that loses
// slots again and again gets more time for each next one, or it would exchange slots for ever. A worker that is alone uses a
// slot however late. Either way the limits of the pace hold (pace-gate.ts).
import { bothClocks, type Deadline, isOver } from '../../kernel/deadline.ts'
import type { Slot } from '../../lanes/messages/claim.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Pace } from '../../model/messages/pace.ts'
import type { Departure } from '../../model/provider.ts'
import { PaceGate } from './pace-gate.ts'
import type { RedisClock } from './redis-clock.ts'

/** Timers have a resolution of 1 ms: what is due within this leaves now. */
const TIMER_MS = 0.5
/**
 * Messages leave at ticks that all lanes share, so that a process with many lanes wakes a few hundred times a second and not
 * once per message. A tick is this fraction of how late a request may be, at most MOST_TICK_MS.
 */
const TICK_OF_LATE = 1 / 10
const MOST_TICK_MS = 5
/** How long before its slot a message is checked again: the answer is there by then. */
const CHECK_AHEAD_MS = 50
/** From this check on, a message goes back if the answer is out of date when it arrives: its worker is late all the time. */
const MOST_RECHECKS = 2
/** Each loss of slots in a row doubles how late a request on a shared lane may be; at most so many doublings. */
const MOST_DOUBLINGS = 5
/** A lane counts as shared for so long after another worker has reserved a slot of it: no limit looks back further. */
const SHARED_MS = 10_000

/** A claimed message in line. */
export interface InLine {
  /** Ends its wait; set each time that it enters the line. */
  resolve: ((turn: Turn) => void) | undefined
  /** It goes before those of campaigns. */
  readonly isTransactional: boolean
  /** It leaves before then, or not at all. */
  until: Deadline
  /** After this its recipient must be checked again. */
  wantedUntil: Deadline
  /** How often it was checked again. */
  rechecks: number
}

/** A message may leave now, see `Departure`. Who has the turn calls `ended` when the call is over, whether the message left or not. */
export interface InTurn extends Departure {
  readonly slot: Slot
  ended(): void
}

/** It goes back to its lane: it is not wanted for the reason given, or it could not leave in time. */
export interface GoesBack {
  readonly slot?: undefined
  readonly problem?: Problem | undefined
}

/** What the line comes to for a message. */
export type Turn = InTurn | GoesBack

/** Whether a message may leave: until when; or not, with the reason, or without one if it cannot be known. */
export type StillWanted = { wantedUntil: Deadline } | { wantedUntil?: undefined; problem?: Problem | undefined }

/** The claimed messages of one lane that wait for a slot. */
export interface LaneSlots<Message extends InLine> {
  /** Resolves when the message may leave, in the slot or another one of the lane, or goes back. Never rejects. */
  turn(message: Message, slot: Slot, pace: Pace): Promise<Turn>
  /** The same of a message that could not leave in its turn. */
  turnAgain(message: Message, turn: InTurn): Promise<Turn>
  /** Sends back all messages that wait now. */
  recall(): void
  /** The latest slot that this process has got and in which a message could leave (`performance.now()`). */
  latestAt(): number
  /** The name of the latest slot in Redis; empty before the first. */
  latest(): string
}

/** Dependencies of a lane's slots. */
export interface LaneSlotsDeps<Message extends InLine> {
  clock: Pick<RedisClock, 'ours'>
  /** Reserves slots in place of missed ones, in one step; may return fewer. */
  others: (missed: readonly Slot[], pace: Pace) => Promise<Slot[]>
  /** Checks once more whether these may leave, in one step. */
  checkAgain: (messages: readonly Message[]) => Promise<readonly StillWanted[]>
}

/** The line of one lane in this process. */
export function createLaneSlots<Message extends InLine>(
  deps: LaneSlotsDeps<Message>,
  lane: number,
): LaneSlots<Message> {
  return new Line(deps, lane)
}

class LetGo implements InTurn {
  readonly slot: Slot
  readonly leaveBy: number
  private readonly passed: (hasLeft: boolean) => void
  private isPending = true

  constructor(passed: (hasLeft: boolean) => void, slot: Slot, leaveBy: number) {
    this.passed = passed
    this.slot = slot
    this.leaveBy = leaveBy
  }

  left(): void {
    if (this.isPending) this.passed(true)
    this.isPending = false
  }

  ended(): void {
    if (this.isPending) this.passed(false)
    this.isPending = false
  }
}

class Line<Message extends InLine> implements LaneSlots<Message> {
  private readonly deps: LaneSlotsDeps<Message>
  private readonly lane: number
  private readonly gate = new PaceGate()
  /** Slots that no message has used yet, the next one first. */
  private slots: Slot[] = []
  private readonly transactional: Message[] = []
  private readonly campaigns: Message[] = []
  /** Number of messages being checked. They are in no line, and their slots wait. */
  private checking = 0
  /** Slots that are being exchanged. */
  private exchanging = 0
  /** How often slots were lost since a message was last let go in time. */
  private lost = 0
  private pace: Pace | undefined
  private latestSlotAt = Number.NEGATIVE_INFINITY
  private latestName = ''
  /** When the latest claim runs out. */
  private latestUntil = Number.NEGATIVE_INFINITY
  private sharedUntil = Number.NEGATIVE_INFINITY
  private timer: NodeJS.Timeout | undefined
  private timerAt = Number.POSITIVE_INFINITY
  /** How often the line was recalled. */
  private recalls = 0

  constructor(deps: LaneSlotsDeps<Message>, lane: number) {
    this.deps = deps
    this.lane = lane
  }

  turn(message: Message, slot: Slot, pace: Pace): Promise<Turn> {
    this.pace = pace
    this.gate.keep(pace)
    this.latestUntil = message.until.steadyMs
    if (slot.isShared) this.sharedUntil = performance.now() + SHARED_MS
    this.lineOf(message).push(message)
    this.reserved(slot)
    // All before it are being checked: it need not wait for that, their slots are as good.
    if (this.waiting() === 1) this.scheduleNext()
    return turnOf(message)
  }

  turnAgain(message: Message, { slot }: InTurn): Promise<Turn> {
    this.lineOf(message).unshift(message)
    this.add(slot)
    return turnOf(message)
  }

  recall(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.timerAt = Number.POSITIVE_INFINITY
    this.slots = []
    this.recalls += 1
    for (const each of [...this.transactional.splice(0), ...this.campaigns.splice(0)]) returnToLane(each)
  }

  latestAt = (): number => this.latestSlotAt
  latest = (): string => this.latestName

  /** A message that was let go has left, or never will: another one may. */
  private readonly passed = (hasLeft: boolean): void => {
    if (hasLeft) this.gate.left(performance.now())
    else this.gate.stayed()
    this.scheduleNext()
  }

  private lineOf({ isTransactional }: Message): Message[] {
    return isTransactional ? this.transactional : this.campaigns
  }

  private next(): Message | undefined {
    return this.transactional[0] ?? this.campaigns[0]
  }

  /** Slots come in the order in which Redis reserved them. */
  private reserved(slot: Slot): void {
    this.latestName = slot.name
    // A slot reserved before the clock was set back lies ahead by as much: the lane does not wait for it.
    const slotAt = this.deps.clock.ours(this.lane, slot.atMs)
    if (slotAt < this.latestUntil) {
      this.latestSlotAt = Math.max(this.latestSlotAt, slotAt)
      this.gate.reserved(slotAt)
    }
    this.add(slot)
  }

  private add(slot: Slot): void {
    const { slots } = this
    let at = slots.length
    while (at > 0 && (slots[at - 1]?.atMs ?? 0) > slot.atMs) at -= 1
    slots.splice(at, 0, slot)
    if (at === 0) this.scheduleNext()
  }

  /** Schedules the next run: at the first slot, or earlier to check its message. */
  private scheduleNext(): void {
    const [slot] = this.slots
    const next = this.next()
    if (slot === undefined || next === undefined) return
    const slotAt = this.deps.clock.ours(this.lane, slot.atMs)
    if (this.lateLine(slotAt) !== undefined) this.scheduleAt(Number.NEGATIVE_INFINITY)
    else if (next.wantedUntil.steadyMs <= slotAt) this.scheduleAt(slotAt - CHECK_AHEAD_MS)
    else {
      const now = performance.now()
      const isShared = now < this.sharedUntil
      // While the gate is closed, the claim may run out, and a slot of a shared lane be lost.
      const lostAt = isShared ? slotAt + this.lateMs() + TIMER_MS : Number.POSITIVE_INFINITY
      this.scheduleAt(Math.min(Math.max(slotAt, this.gate.freeAt(now, isShared)), lostAt, next.until.steadyMs))
    }
  }

  /** How late a request may be on a shared lane. */
  private lateMs(): number {
    return (this.pace?.lateMs ?? 0) * 2 ** Math.min(this.lost, MOST_DOUBLINGS)
  }

  private scheduleAt(at: number): void {
    if (at >= this.timerAt) return
    clearTimeout(this.timer)
    this.timerAt = at
    const now = performance.now()
    // Messages that were claimed in one step are sent in one go.
    const isNow = at <= now + TIMER_MS
    this.timer = setTimeout(() => this.run(), isNow ? 0 : this.tickAt(at) - now)
  }

  private tickAt(at: number): number {
    const lateMs = this.pace?.lateMs ?? 0
    // If nothing is ever late, a longer tick would hold back hundreds.
    const tick = Number.isFinite(lateMs) ? Math.max(1, Math.min(MOST_TICK_MS, lateMs * TICK_OF_LATE)) : 1
    return Math.ceil(at / tick) * tick
  }

  private run(): void {
    this.timer = undefined
    this.timerAt = Number.POSITIVE_INFINITY
    const { pace, slots } = this
    if (pace === undefined) return
    // Read once for all that leave now: read for each, the clocks took a fiftieth of the worker's time.
    const clocks = bothClocks()
    const now = clocks.steadyMs
    const isShared = now < this.sharedUntil
    const lateMs = this.lateMs()
    const missed: Slot[] = []
    for (;;) {
      const [slot] = slots
      const next = this.next()
      if (slot === undefined || next === undefined) break
      const slotAt = this.deps.clock.ours(this.lane, slot.atMs)
      const late = this.lateLine(slotAt)
      if (late !== undefined) {
        // All other slots are later still.
        slots.pop()
        returnToLane(late.shift())
        continue
      }
      if (isShared && now - slotAt > lateMs) {
        slots.shift()
        this.gate.lost(slotAt)
        missed.push(slot)
        continue
      }
      if (next.wantedUntil.steadyMs <= slotAt || isOver(next.wantedUntil, clocks)) {
        if (slotAt - CHECK_AHEAD_MS > now + TIMER_MS) break
        void this.check(this.takeDoubtful(Math.max(now, slotAt) + CHECK_AHEAD_MS, clocks))
        continue
      }
      if (isOver(next.until, clocks)) {
        this.lineOf(next).shift()
        returnToLane(next)
        continue
      }
      if (slotAt > now + TIMER_MS || this.gate.freeAt(now, isShared) > now) break
      this.lineOf(next).shift()
      slots.shift()
      this.gate.letGo()
      if (now - slotAt <= pace.lateMs) this.lost = 0
      const latest = isShared ? slotAt + lateMs : Number.POSITIVE_INFINITY
      const leaveBy = Math.min(latest, next.until.steadyMs, next.wantedUntil.steadyMs)
      next.resolve?.(new LetGo(this.passed, slot, leaveBy))
    }
    if (missed.length > 0) {
      this.lost += 1
      void this.exchange(missed, pace)
    }
    this.evenOut()
    this.scheduleNext()
  }

  /** The line whose first message, the earliest claimed of it, may not leave as late as `at`. */
  private lateLine(at: number): Message[] | undefined {
    const [transactional] = this.transactional
    if (transactional !== undefined && transactional.until.steadyMs <= at) return this.transactional
    const [campaign] = this.campaigns
    return campaign !== undefined && campaign.until.steadyMs <= at ? this.campaigns : undefined
  }

  /**
   * Takes all messages out of line that would have to be checked again before they leave at that time, by the clocks that found one: by
   * others, of a wall clock that was set back meanwhile, it would find none, and be asked for ever.
   */
  private takeDoubtful(at: number, clocks: Deadline): Message[] {
    const taken: Message[] = []
    for (const line of [this.transactional, this.campaigns]) {
      const kept = line.filter((each) => {
        const isDoubtful = each.wantedUntil.steadyMs <= at || isOver(each.wantedUntil, clocks)
        if (isDoubtful) taken.push(each)
        return !isDoubtful
      })
      line.splice(0, line.length, ...kept)
    }
    return taken
  }

  /** Checks messages that are in no line. Those that may leave go to the front again. Never rejects. */
  private async check(doubtful: readonly Message[]): Promise<void> {
    const before = this.recalls
    this.checking += doubtful.length
    // Without Redis nothing leaves.
    const answers = await this.deps.checkAgain(doubtful).catch(() => [])
    this.checking -= doubtful.length
    for (let i = doubtful.length - 1; i >= 0; i -= 1) {
      const [each, answer] = [doubtful[i], answers[i]]
      if (each === undefined) continue
      each.rechecks += 1
      if (before !== this.recalls || answer?.wantedUntil === undefined) {
        returnToLane(each, answer && 'problem' in answer ? answer.problem : undefined)
      } else if (each.rechecks >= MOST_RECHECKS && isOver(answer.wantedUntil)) {
        returnToLane(each)
      } else {
        each.wantedUntil = answer.wantedUntil
        this.lineOf(each).unshift(each)
      }
    }
    this.evenOut()
    this.scheduleNext()
  }

  /** Exchanges slots that were missed. Never rejects. */
  private async exchange(missed: readonly Slot[], pace: Pace): Promise<void> {
    const before = this.recalls
    this.exchanging += missed.length
    // Without Redis there are none.
    const found = await this.deps.others(missed, pace).catch(() => [])
    this.exchanging -= missed.length
    if (before === this.recalls) for (const slot of found) this.reserved(slot)
    this.evenOut()
  }

  /**
   * A message without a slot goes back, the latest first; a slot without a message is left unused. Keeps the slots in hand
   * during an exchange, which may return fewer and later ones.
   */
  private evenOut(): void {
    const { transactional, campaigns, slots } = this
    while (this.waiting() > slots.length + this.exchanging) returnToLane(campaigns.pop() ?? transactional.pop())
    slots.splice(this.waiting() + this.checking)
  }

  /** How many messages are in line. */
  private waiting(): number {
    return this.transactional.length + this.campaigns.length
  }
}

function turnOf(message: InLine): Promise<Turn> {
  return new Promise((resolve) => {
    message.resolve = resolve
  })
}

function returnToLane(message: InLine | undefined, problem?: Problem): void {
  message?.resolve?.({ problem })
}
