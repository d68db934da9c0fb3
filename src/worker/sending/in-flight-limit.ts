// How many messages each lane of this process may have claimed or in flight: pace times answer time (Little's law), measured
// per lane, within a bound over all lanes that protects the memory of the process and is shared equally when it gets scarce.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Bell } from '../../kernel/bell.ts'
import type { Pace } from '../../model/messages/pace.ts'
import type { WorkerBound } from '../../redis/heartbeats.ts'
import { createAnswerTimes, type Quantiles } from './answer-times.ts'

/** A lane may have this many in flight whatever its answer time, which is known only after some answers. */
const LEAST = 200
/** Factor on pace times answer time, because answers vary and a lane must not wait for the slowest of them. */
const HEADROOM = 2
/** Assumed until the first answers have come (ms). */
const UNKNOWN_ANSWER_MS = 1_000
/** Weight of one answer in its lane's answer time. */
const ANSWER_WEIGHT = 1 / 32
/** Above this share of the process's limit, each lane is limited to an equal part of it. */
const CROWDED = 0.5
/** Freed room is offered to lanes until this many are still short after their offer. This runs for nearly each message. */
const MOST_SHORT = 8
/** Rounds of offers in one turn of the event loop: some ten times what they come to. */
const MOST_ROUNDS = 100

/** What one lane may have in flight in this process. */
export interface InFlightLimit {
  /** How many messages there is room for. */
  available(): number
  /** Takes room for this many. */
  begin(count: number): void
  /** Frees room for this many. */
  end(count?: number): void
  /** The bell of the lane rings the next time that there is room that it may have waited for. */
  ringWhenFreed(): void
  /** Takes room for what a read of the lane may find. */
  beginRead(most: number): void
  /** One message of the read under way is claimed: its room is free once it has ended. */
  found(): void
  /** The read is over: frees the room of what it did not find. */
  endRead(): void
  /** The room that a read under way holds for messages that it may find. */
  reading(): number
  /** The provider has answered a message of the lane after this long. */
  answered(ms: number): void
  setPace(pace: Pace): void
  /** How long the provider takes to answer, lately (ms); undefined before the first answer. */
  answerMs(): number | undefined
  /** The same by its quantiles, of the last 30 to 60 s. */
  answersLately(): Quantiles | undefined
  /**
   * What keeps it from having more in flight here; `latestSlotAt`: the latest slot that this process has got for it
   * (`performance.now()`).
   */
  bound(latestSlotAt: number): WorkerBound | undefined
  /** How much room is taken: by messages claimed or in flight, and by what a read under way may find. */
  running(): number
  /** When it last had room taken (`performance.now()`): now while it has. */
  lastWorkAt(): number
  /** The lane is no longer served here; messages in flight are still finished. */
  close(): void
}

/** A lane that may wait for room. */
interface Waiting {
  stopsWaiting(): void
  /** Resolves once the lane, if it waited for room, has looked. */
  offer(): Promise<void>
}

/** The lanes of this process, which together may have `most` messages in flight. */
export function createInFlightLimits(most: number) {
  /** Lanes that have messages in flight or wait for room, and how many messages are in flight over all lanes. */
  let busy = 0
  let inFlight = 0
  let waitingForEnd: (() => void)[] = []
  /** Lanes that found the process full, the longest waiting first. */
  const line = new Set<Waiting>()
  /** Lanes that are limited to their equal part and would have taken more. */
  const limited = new Set<Waiting>()
  /** Lanes to be offered room after those in line: their messages ended, or they looked while the line was asked. */
  const others = new Set<Waiting>()
  let isOffering = false
  /** The lane of the line that is being offered room. */
  let asked: Waiting | undefined

  /** The most that each lane may have in flight because of the others. */
  const equalPart = (): number =>
    inFlight <= most * CROWDED ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(most / Math.max(1, busy)))
  /** The smallest part that one of `limited` was limited to. */
  let leastPart = Number.POSITIVE_INFINITY

  /**
   * Offers freed room: first to the lanes in line, for those whose messages ended would take it back before any other could. Each offer
   * is awaited, so that its lane has looked before the line is asked again: a lane that looks meanwhile is put off to the next round, and
   * two that put each other off in turns would hold up the event loop for ever. Whatever lanes do, everything else of the process has its
   * turn after some rounds.
   */
  async function offerRoom(): Promise<void> {
    if (isOffering) return
    isOffering = true
    for (let rounds = 1; others.size > 0; rounds += 1) {
      if (rounds % MOST_ROUNDS === 0) await nextTurn()
      const own = [...others]
      others.clear()
      await askLine()
      if (equalPart() > leastPart) await askLimited()
      for (const each of own) await each.offer()
    }
    isOffering = false
  }

  /** The equal parts have grown. A lane that is still limited registers again. */
  async function askLimited(): Promise<void> {
    const all = [...limited]
    limited.clear()
    leastPart = Number.POSITIVE_INFINITY
    for (const each of all) await each.offer()
  }

  /** Offers free room to the lanes in line, each once. One that is still short goes to the end of the line. */
  async function askLine(): Promise<void> {
    let unasked = line.size
    let short = 0
    for (const each of line) {
      if (unasked === 0 || short === MOST_SHORT || inFlight >= most) return
      unasked -= 1
      each.stopsWaiting()
      asked = each
      await each.offer()
      asked = undefined
      if (line.has(each)) short += 1
    }
  }

  /** `bell`: that of the lane. */
  function add(bell: Bell): InFlightLimit {
    let running = 0
    let reading = 0
    let waits = false
    /** Its bell rings for the next room. */
    let ringsForRoom = false
    let lastWorkAt = performance.now()
    let answerMs = UNKNOWN_ANSWER_MS
    let answers = 0
    let gapMs = 1
    const waiting: Waiting = { stopsWaiting: () => setWaits(false), offer: ringIfFull }
    const times = createAnswerTimes()

    const wantedAlone = (): number => Math.min(most, Math.max(LEAST, Math.ceil((HEADROOM * answerMs) / gapMs)))

    /** What the lane may have in flight now. One that waits has its part as well, though it has nothing in flight. */
    const limit = (): number => Math.min(wantedAlone(), equalPart())
    function setWaits(now: boolean): void {
      if (waits === now) return
      waits = now
      if (now) line.add(waiting)
      else line.delete(waiting)
      if (running === 0) busy += now ? 1 : -1
    }
    async function ringIfFull(): Promise<void> {
      if (!ringsForRoom) return
      ringsForRoom = false
      await bell.ring()
    }
    function available(): number {
      const [wanted, part] = [wantedAlone(), equalPart()]
      const own = Math.min(wanted, part) - running
      // The end of one of its own messages frees room too, but that may take long.
      if (part < wanted) {
        limited.add(waiting)
        leastPart = Math.min(leastPart, part)
      }
      if (own > most - inFlight) setWaits(true)
      if (asked !== undefined && asked !== waiting) {
        // Those in line are asked first, and then this one.
        others.add(waiting)
        return 0
      }
      return Math.max(0, Math.min(most - inFlight, own))
    }
    function begin(count: number): void {
      if (count <= 0) return
      setWaits(false)
      if (running === 0) busy += 1
      running += count
      inFlight += count
    }
    function end(count = 1): void {
      if (count <= 0) return
      running -= count
      inFlight -= count
      lastWorkAt = performance.now()
      if (running === 0 && !waits) busy -= 1
      if (inFlight === 0) {
        for (const each of waitingForEnd) each()
        waitingForEnd = []
      }
      // The usual case: no lane waits for the room of another.
      if (line.size === 0 && limited.size === 0 && !isOffering) return void ringIfFull()
      others.add(waiting)
      void offerRoom()
    }

    return {
      ...{ available, begin, end },
      ringWhenFreed: () => {
        ringsForRoom = true
      },
      beginRead: (count) => {
        reading = count
        begin(count)
      },
      found: () => {
        reading -= 1
      },
      endRead: () => {
        end(reading)
        reading = 0
      },
      reading: () => reading,
      running: () => running,
      lastWorkAt: () => (running > 0 ? performance.now() : lastWorkAt),
      answerMs: () => (answers === 0 ? undefined : Math.round(answerMs)),
      answersLately: times.lately,
      bound: (latestSlotAt) =>
        boundHere({
          ...{ running, inFlight, most, limit: limit(), wanted: wantedAlone(), gapMs },
          freeSlotInMs: latestSlotAt + gapMs - performance.now(),
        }),
      setPace: (pace) => {
        gapMs = pace.gapUs / 1_000
      },
      answered: (ms) => {
        times.add(ms)
        // The first ones weigh more, so that they replace the assumed value.
        answers += 1
        answerMs += (ms - answerMs) * Math.max(ANSWER_WEIGHT, 1 / answers)
      },
      close: () => {
        setWaits(false)
        ringsForRoom = false
        limited.delete(waiting)
      },
    }
  }

  return {
    add,
    /** Messages in flight over all lanes. */
    inFlight: (): number => inFlight,
    /** Resolves once there are none. */
    idle: (): Promise<void> =>
      inFlight === 0 ? Promise.resolve() : new Promise((resolve) => waitingForEnd.push(resolve)),
  }
}

/** A lane takes up messages a step at a time: it is short while less than this part of what it has is free. */
const STEP = 1 / 8
/** A free slot that is closer than this (ms) is taken in the next step: what waits for it does not wait for its pace. */
const SOON_MS = 75

/** A lane in a process at one moment. */
export interface LaneHere {
  /** Messages in flight: of the lane, and of all lanes. */
  running: number
  inFlight: number
  /** What they may be at most. */
  limit: number
  most: number
  /** What the lane's limit would be if it were alone. */
  wanted: number
  /** The gap between two slots of the lane, and the time until the next unreserved one (ms). */
  gapMs: number
  freeSlotInMs: number
}

/**
 * What keeps the lane from having more in flight in this process, supposing that more of it waits; undefined when
 * nothing here does. Pure. What limits it in all processes, a pause or a cooldown, is in Redis and is added where
 * the heartbeats are read (telemetry/lane-bound.ts).
 */
export function boundHere(lane: LaneHere): WorkerBound | undefined {
  const ofAll = lane.most - lane.inFlight
  const ofOwn = lane.limit - lane.running
  if (Math.min(ofAll, ofOwn) < Math.max(1, lane.running * STEP)) {
    if (ofAll <= ofOwn) return 'memory'
    return lane.limit < lane.wanted ? 'share' : 'answer_time'
  }
  // On a fast lane a slot is always soon; there the pace holds what was claimed ahead of its slot.
  return lane.freeSlotInMs > Math.min(lane.gapMs, SOON_MS) ? 'pace' : undefined
}
