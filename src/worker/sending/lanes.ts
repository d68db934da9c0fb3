// The lanes that this worker serves. A lane opens at its first work and closes when it has been empty for minutes.
//
// Nothing is lost between closing and a new message: a job is added before its lane is woken, and the sweep checks every
// lane with work every 2 s. A lane assigned to other workers (lane-assignment.ts) is not opened, whatever wakes it.

import type { Config } from '../../kernel/config.ts'
import { waitAtMost } from '../../kernel/deadline.ts'
import { SharedMoments } from '../../kernel/shared-ticks.ts'
import { releaseRead } from '../../lanes/jobs.ts'
import type { ServedLane } from '../../redis/heartbeats.ts'
import type { SendDeps } from './attempt.ts'
import { createInFlightLimits } from './in-flight-limit.ts'
import { type Lane, type SharedByLanes, serveLane } from './serve-lane.ts'
import { TakeTurns } from './take-turns.ts'

/** Dependencies of serving lanes, besides those of an attempt. */
export interface LanesDeps {
  send: SendDeps
  config: Pick<Config, 'maxInFlight' | 'laneIdleMs'>
  /** Whether this worker is to serve the lane now. */
  isMine: (lane: number) => boolean
  /** Called when a lane opens. Never rejects. */
  opened: (lane: number) => void
}

export type Lanes = ReturnType<typeof createLanes>

/** Starts with no lane open. */
export function createLanes(deps: LanesDeps) {
  const { send, config } = deps
  const { redis } = send
  const open = new Map<number, Lane>()
  /** Lanes that were closed while a read was under way, as while Redis is away. The room that it holds is for no messages yet. */
  const closedInRead = new Set<Lane>()
  const limits = createInFlightLimits(config.maxInFlight)
  const shared: SharedByLanes = { limits, turns: new TakeTurns(), moments: new SharedMoments() }
  const stopping = new AbortController()

  function openLane(lane: number, has: 'jobs' | 'places'): void {
    if (stopping.signal.aborted || !deps.isMine(lane)) return
    let state = open.get(lane)
    if (state === undefined) {
      state = serveLane(send, lane, shared)
      open.set(lane, state)
      deps.opened(lane)
    }
    if (has === 'places') state.signals.feed()
    else state.signals.wake()
  }

  function closeLane(lane: number, state: Lane): void {
    open.delete(lane)
    if (state.inFlightLimit.reading() > 0) closedInRead.add(state)
    state.signals.stop()
    state.inFlightLimit.close()
  }

  function served(lane: number, { inFlightLimit, line }: Lane): ServedLane {
    const lately = inFlightLimit.answersLately()
    return {
      ...{ lane, inFlight: inFlightLimit.running() - inFlightLimit.reading(), answerMs: inFlightLimit.answerMs() },
      ...{ p50Ms: lately?.p50, p99Ms: lately?.p99, bound: inFlightLimit.bound(line.latestAt()) },
    }
  }

  async function backlog(lane: number): Promise<number> {
    const { wait = 0, prioritized = 0, delayed = 0, places = 0 } = await send.lanes.counts(lane)
    return wait + prioritized + delayed + places
  }

  return {
    /** The lane has work: opens it if it is not. */
    wake: (lane: number): void => openLane(lane, 'jobs'),

    /** Places of campaigns wait on the lane: the same. */
    wakeCampaigns: (lane: number): void => openLane(lane, 'places'),

    isOpen: (lane: number): boolean => open.has(lane),

    /** How many are open. */
    count: (): number => open.size,

    /** The open lanes, with the messages that each has in flight here. */
    load: (): { lane: number; inFlight: number }[] =>
      [...open].map(([lane, { inFlightLimit }]) => ({ lane, inFlight: inFlightLimit.running() })),

    /** Closes lanes that others serve now. Messages in flight here are finished here. */
    handOver(lanes: readonly number[]): void {
      for (const lane of lanes) {
        const state = open.get(lane)
        if (state) closeLane(lane, state)
      }
    },

    /**
     * Closes and opens a lane from which nothing leaves although it could; false when it is not open here. Messages in flight
     * are still finished: each is claimed for one attempt only, whichever worker runs it.
     */
    reopen(lane: number): boolean {
      const silent = open.get(lane)
      if (!silent || stopping.signal.aborted) return false
      closeLane(lane, silent)
      openLane(lane, 'jobs')
      return true
    },

    /** A report on each open lane. */
    serves: (): ServedLane[] => [...open].map(([lane, state]) => served(lane, state)),

    /** Messages that are being worked on. */
    inFlight: limits.inFlight,

    /** The same without the room that reads under way hold. */
    claimedOrInFlight(): number {
      for (const state of closedInRead) if (state.inFlightLimit.reading() === 0) closedInRead.delete(state)
      const lanes = [...open.values(), ...closedInRead]
      return limits.inFlight() - lanes.reduce((sum, { inFlightLimit }) => sum + inFlightLimit.reading(), 0)
    },

    /** Closes lanes that have been empty for long enough. */
    async closeIdle(): Promise<void> {
      const now = performance.now()
      const idle = [...open].filter(
        ([, { inFlightLimit }]) =>
          inFlightLimit.running() === 0 && now - inFlightLimit.lastWorkAt() > config.laneIdleMs,
      )
      await Promise.all(
        idle.map(async ([lane, state]) => {
          if ((await backlog(lane)) === 0 && open.get(lane) === state) closeLane(lane, state)
        }),
      )
    },

    /** Stops taking work, waits for messages in flight, at most `limitMs`; the sweep finds what is left then. */
    async stop(limitMs: Promise<number>): Promise<void> {
      stopping.abort()
      const limit = limitMs.then((ms) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref()))
      for (const { signals } of open.values()) signals.stop()
      await Promise.race([limits.idle(), limit])
      // Reads that could not be released while Redis was away: nobody is to take this worker for one that died over them.
      const released = [...open.keys()].map((lane) => releaseRead(redis, lane, send.worker).catch(() => {}))
      await waitAtMost(1_000, Promise.all(released))
      for (const state of open.values()) closedInRead.add(state)
      open.clear()
    },
  }
}
