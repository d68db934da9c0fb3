// How many messages each lane of this process may have in flight, claimed or in flight: what Little's law says, pace times
// answer time, as it is measured for each lane, within what the memory of the process bears over all of them.
import type { Pace } from '../messages/pace.ts'
import type { WorkerBound } from '../redis/heartbeats.ts'
import { createAnswerTimes, type Quantiles } from './answer-times.ts'
import { boundHere } from './lane-bound.ts'

/** What a lane may always have in flight while nothing else limits it: an answer time is only known after some answers. */
const LEAST = 200
/** So many times what pace and answer time come to: answers vary, and a lane must not wait for its slowest ones. */
const HEADROOM = 2
/** Assumed until the first answers have come (ms). */
const UNKNOWN_ANSWER_MS = 1_000
/** What one answer weighs in the answer time of its lane. */
const ANSWER_WEIGHT = 1 / 32
/** Above this share of the process's room, lanes are held to equal parts of it. */
const CROWDED = 0.5

/** What one lane may have in flight in this process. */
export interface LaneRoom {
  /** Places that are free. */
  left(): number
  /** Takes so many places. */
  begin(count: number): void
  /** Gives one of them back, or so many. */
  end(count?: number): void
  /** The provider has answered one message of the lane after so many ms. */
  answered(ms: number): void
  paced(pace: Pace): void
  /** How long the provider takes to answer, lately (ms); undefined before the first answer. */
  answerMs(): number | undefined
  /** The same by its quantiles, of the last 30 to 60 s. */
  answersLately(): Quantiles | undefined
  /** What keeps it from having more in flight here; `latestSlotAt`: its latest slot given out here (`performance.now()`). */
  bound(latestSlotAt: number): WorkerBound | undefined
  /** Messages in flight. */
  running(): number
  /** It is not served any more; what is in flight ends as it ends. */
  leave(): void
}

/** The lanes of this process, which together may have `most` messages in flight. */
export function createLaneRooms(most: number) {
  /** Lanes of which a message is in flight, and how many messages of all lanes are. */
  let busy = 0
  let inFlight = 0
  let waitingForEnd: (() => void)[] = []
  /** Lanes that would have taken more, had other lanes had less. */
  const hungry = new Set<{ changed: () => void }>()

  /** `freed` is called when a place that may have been waited for is free. */
  function add(freed: () => void): LaneRoom {
    let running = 0
    let answerMs = UNKNOWN_ANSWER_MS
    let answers = 0
    let gapMs = 1
    const room = { changed: freed }
    const times = createAnswerTimes()

    const wantedAlone = (): number => Math.min(most, Math.max(LEAST, Math.ceil((HEADROOM * answerMs) / gapMs)))

    /** What the lane may have in flight now. */
    function limit(): number {
      const wanted = wantedAlone()
      const equalPart = Math.max(1, Math.floor(most / Math.max(1, busy)))
      if (inFlight <= most * CROWDED || wanted <= equalPart) return wanted
      hungry.add(room)
      return equalPart
    }
    function left(): number {
      if (inFlight >= most) hungry.add(room)
      return Math.max(0, Math.min(most - inFlight, limit() - running))
    }
    function begin(count: number): void {
      if (count <= 0) return
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
        running -= count
        inFlight -= count
        if (running === 0) busy -= 1
        if (inFlight === 0) {
          for (const each of waitingForEnd) each()
          waitingForEnd = []
        }
        // Whoever is still short says so again.
        const waiters = hungry.size > 0 ? [...hungry] : []
        hungry.clear()
        freed()
        for (const each of waiters) if (each !== room) each.changed()
      },
      leave: () => void hungry.delete(room),
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
