// How many messages each lane of this process may have claimed or in flight: pace times answer time, as Little's law
// says, measured for each lane, within what the memory of the process bears over all of them. And how long answers
// take.
import type { Pace } from '../../messages/pace.ts'
import type { WorkerBound } from '../../redis/heartbeats.ts'

/**
 * What a lane may have in flight in any case, unless something else limits it: an answer time is only known after some
 * answers.
 */
const LEAST = 200
/** So many times pace times answer time: answers vary, and a lane must not wait for the slowest of them. */
const HEADROOM = 2
/** Assumed until the first answers have come (ms). */
const UNKNOWN_ANSWER_MS = 1_000
/** What one answer weighs in the answer time of its lane. */
const ANSWER_WEIGHT = 1 / 32
/** Above this share of the process's room, lanes are held to equal parts of it. */
const CROWDED = 0.5
/** Once so many of the lanes that wait were asked and still do, no more are for this place: it is done for each message. */
const MOST_SHORT = 8

/** What one lane may have in flight in this process. */
export interface LaneRoom {
  /** Places that are free. */
  left(): number
  /** Takes this many places. */
  begin(count: number): void
  /** Gives this many places back. */
  end(count?: number): void
  /** The provider has answered a message of the lane after this long. */
  answered(ms: number): void
  paced(pace: Pace): void
  /** How long the provider takes to answer, lately (ms); undefined before the first answer. */
  answerMs(): number | undefined
  /** The same by its quantiles, of the last 30 to 60 s. */
  answersLately(): Quantiles | undefined
  /**
   * What keeps it from having more in flight here; `latestSlotAt`: the latest slot of it given out here
   * (`performance.now()`).
   */
  bound(latestSlotAt: number): WorkerBound | undefined
  /** Places that are taken: of messages claimed or in flight, and of what a read under way may find. */
  running(): number
  /** The lane is no longer served here; what is in flight still comes to its end. */
  leave(): void
}

/** A lane that may wait for a place. */
interface Waiting {
  stopsWaiting(): void
  freed(): void
}

/** The lanes of this process, which together may have `most` messages in flight. */
export function createLaneRooms(most: number) {
  /** Lanes that have messages in flight or wait for a place, and how many messages are in flight over all lanes. */
  let busy = 0
  let inFlight = 0
  let waitingForEnd: (() => void)[] = []
  /** Lanes that would have taken more if others had had less; who has waited longest is first. */
  const line = new Set<Waiting>()
  /** Lanes that are held to their part of the room and would have taken more. */
  const held = new Set<Waiting>()

  /** What each lane may have in flight, as far as others count. */
  const equalPart = (): number =>
    inFlight <= most * CROWDED ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(most / Math.max(1, busy)))

  /** The parts have grown. Who is held to its part again says so again. */
  function askHeld(): void {
    const all = [...held]
    held.clear()
    for (const each of all) each.freed()
  }

  /**
   * Asks those in line, each once, while there are places. Who is still short stands last then, and has messages in flight
   * or a full room before it: another place comes free for it. Who wants nothing more is not in line any more.
   */
  function askLine(): void {
    let unasked = line.size
    let short = 0
    for (const each of line) {
      if (unasked === 0 || short === MOST_SHORT || inFlight >= most) return
      unasked -= 1
      each.stopsWaiting()
      each.freed()
      if (line.has(each)) short += 1
    }
  }

  /** `freed` is called when a place that may have been waited for is free. */
  function add(freed: () => void): LaneRoom {
    let running = 0
    let waits = false
    let answerMs = UNKNOWN_ANSWER_MS
    let answers = 0
    let gapMs = 1
    const room: Waiting = { stopsWaiting: () => setWaits(false), freed }
    const times = createAnswerTimes()

    const wantedAlone = (): number => Math.min(most, Math.max(LEAST, Math.ceil((HEADROOM * answerMs) / gapMs)))

    /** What the lane may have in flight now. One that waits has its part as well, though it has nothing in flight. */
    const limit = (): number => Math.min(wantedAlone(), equalPart())
    function setWaits(now: boolean): void {
      if (waits === now) return
      waits = now
      if (now) line.add(room)
      else line.delete(room)
      if (running === 0) busy += now ? 1 : -1
    }
    function left(): number {
      const [wanted, part] = [wantedAlone(), equalPart()]
      const own = Math.min(wanted, part) - running
      // Its own messages that end ask it too, but they may take long.
      if (part < wanted) held.add(room)
      if (own > most - inFlight) setWaits(true)
      return Math.max(0, Math.min(most - inFlight, own))
    }
    function begin(count: number): void {
      if (count <= 0) return
      setWaits(false)
      if (running === 0) busy += 1
      running += count
      inFlight += count
    }

    return {
      left,
      begin,
      running: () => running,
      answerMs: () => (answers === 0 ? undefined : Math.round(answerMs)),
      answersLately: times.lately,
      bound: (latestSlotAt) =>
        boundHere({
          ...{ running, inFlight, most, limit: limit(), wanted: wantedAlone(), gapMs },
          freeSlotInMs: latestSlotAt + gapMs - performance.now(),
        }),
      paced: (pace) => {
        gapMs = pace.gapUs / 1_000
      },
      answered: (ms) => {
        times.add(ms)
        // The first ones weigh more, so that they replace what was assumed.
        answers += 1
        answerMs += (ms - answerMs) * Math.max(ANSWER_WEIGHT, 1 / answers)
      },
      end: (count = 1) => {
        if (count <= 0) return
        const before = equalPart()
        running -= count
        inFlight -= count
        if (running === 0 && !waits) busy -= 1
        if (inFlight === 0) {
          for (const each of waitingForEnd) each()
          waitingForEnd = []
        }
        // Before the lane itself, which would have its place back before anybody else could take it.
        if (line.size > 0) askLine()
        if (held.size > 0 && equalPart() > before) askHeld()
        freed()
      },
      leave: () => {
        setWaits(false)
        held.delete(room)
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

/** A lane takes up messages a step at a time: it is short of room while less than this part of what it has is free. */
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
  /** Between two slots of the lane, and until the next one that nobody has (ms). */
  gapMs: number
  freeSlotInMs: number
}

/**
 * What keeps the lane from having more in flight in this process, supposing that more of it waits; undefined when
 * nothing here does. Pure. What holds it in all processes, a pause or a cooldown, is in Redis and is added by whoever
 * reads the heartbeats (telemetry/lane-bound.ts).
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

/** What one histogram covers; the one before it counts as well. */
const WINDOW_MS = 30_000
/** Buckets to each doubling: the middle of one is at most 2.2 % off. */
const PER_DOUBLING = 16
/** From 1 ms up to 2^16 ms, which no request takes (LANEWAY_SEND_TIMEOUT_SECONDS is at most 60). */
const BUCKETS = 16 * PER_DOUBLING

/** What answers took (ms): half of them no longer than `p50`, 99 of 100 no longer than `p99`. */
export interface Quantiles {
  p50: number
  p99: number
}

/**
 * How long the provider takes to answer on one lane, lately: from two histograms of which the older one is dropped
 * whole, 2 KB each, however many answers there are. Every request that left or tried to is counted at its end: an
 * answer, a connection that broke, the timeout.
 */
export interface AnswerTimes {
  /** A request took this long. */
  add(ms: number): void
  /** Of the last 30 to 60 s; undefined while nothing was answered in that time. */
  lately(): Quantiles | undefined
}

/** Nothing counted yet; `clock` in ms. */
export function createAnswerTimes(clock: () => number = () => performance.now()): AnswerTimes {
  let now = new Uint32Array(BUCKETS)
  let before = new Uint32Array(BUCKETS)
  let window = windowAt()

  function windowAt(): number {
    return Math.floor(clock() / WINDOW_MS)
  }

  function turn(): void {
    const at = windowAt()
    if (at === window) return
    ;[now, before] = [before, now]
    now.fill(0)
    // Nothing was counted for a whole window.
    if (at > window + 1) before.fill(0)
    window = at
  }

  const countAt = (i: number): number => (now[i] ?? 0) + (before[i] ?? 0)

  /** The middle of the bucket that holds the answer below which this share of all lies. */
  function quantile(all: number, share: number): number {
    let left = Math.ceil(all * share)
    let at = 0
    while (at < BUCKETS - 1) {
      left -= countAt(at)
      if (left <= 0) break
      at += 1
    }
    // Three digits would add half a per cent to the 2.2 of a bucket.
    return Number((2 ** ((at + 0.5) / PER_DOUBLING)).toPrecision(4))
  }

  return {
    add(ms) {
      turn()
      const at = bucketOf(ms)
      now[at] = (now[at] ?? 0) + 1
    },
    lately() {
      turn()
      let all = 0
      for (let i = 0; i < BUCKETS; i += 1) all += countAt(i)
      return all === 0 ? undefined : { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
    },
  }
}

const bucketOf = (ms: number): number =>
  Math.min(BUCKETS - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, ms)) * PER_DOUBLING)))
