// The sweeper repairs what a crash has left behind: lanes with work that no worker was woken for, attempts whose worker died, overdue
// unconfirmed messages, requeued messages without a job, late polls, stuck lanes. One elected worker sweeps the due lanes
// (lanes/due-lanes.ts).
//
// Waking comes first and never waits for decisions: after an outage of hundreds of lanes thousands of messages are overdue.
import { retainedLanes } from '../../accounts/retained-lanes.ts'
import { cachedSender } from '../../accounts/senders.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import {
  earliest,
  markUnmarkedLane,
  readSweepStates,
  type SweepState,
  settleDueLanes,
  takeDueLanes,
} from '../../lanes/due-lanes.ts'
import { askToReopen, wakeCampaignLanes, wakeLanes } from '../../lanes/wake.ts'
import { readCampaignsWait } from '../../portfolios/campaign-waits.ts'
import { campaignsRest } from '../../portfolios/campaigns-rest.ts'
import { rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { addCampaignLane } from '../../recipients/active-campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { whereAnswered, whileAnswering } from '../../redis/each-server.ts'
import { mendLane } from './lost-records.ts'
import { type SweepLaneDeps, sweepLane } from './sweep-lane.ts'

export const SWEEP_MS = 1_000
/** How soon a lane with work is due again. */
const RECHECK_MS = 2_000
/** Lanes read in one round trip. */
const LANES_AT_ONCE = 200
/** Lanes swept at the same time. */
const SWEPT_AT_ONCE = 8
/** A lane that takes this long, twice as long as its turns, holds up no other: a server of a cluster that it needs has gone away. */
const LONGEST_SWEEP_MS = 4_000
/** A poll that is this late has lost its job. */
const POLL_LATE_MS = 5_000
/**
 * The slow round over all lanes finds work of lanes that a process failed to mark because it died: lanes per sweep, and the time
 * from the start of one round to the next. The first round of a worker runs as fast as it can: after an upgrade nothing is
 * marked.
 */
const ROUND_LANES = 5
const ROUND_MS = 120_000

/** Dependencies of a sweep; `followByPolling` restarts the polls of a lane. */
export interface SweepDeps extends SweepLaneDeps {
  followByPolling: (lane: number) => void
}

/** The sweep of this process, active only while it is the elected sweeper. `sweep` rejects when Redis is away. */
export function createSweep(deps: SweepDeps) {
  const { redis, log } = deps
  const watchdog = createWatchdog(deps)
  /** Lanes being swept, those of them that take too long, and those that wait for that. */
  const sweeping = new Set<number>()
  const hanging = new Set<number>()
  const unswept = new Map<number, SweepState>()
  /** The rest of the slow round, and when the next one begins. */
  let round: number[] = []
  let isFirstRound = true
  let nextRoundAt = 0

  async function checkDue(): Promise<void> {
    for (let taken = LANES_AT_ONCE; taken === LANES_AT_ONCE; ) {
      const { till, lanes } = await takeDueLanes(redis, RECHECK_MS, LANES_AT_ONCE)
      taken = lanes.length
      const states = await readSweepStates(redis, lanes)
      await wakeLanes(
        redis,
        states.filter(({ backlog }) => backlog > 0).map(({ lane }) => lane),
      )
      await wakeCampaignLanes(
        redis,
        states.filter(({ places }) => places > 0).map(({ lane }) => lane),
      )
      for (const state of states) {
        const { lane, nextSweepAt, nextPollAt, nowMs } = state
        if (nextPollAt !== undefined && nextPollAt < nowMs - POLL_LATE_MS) deps.followByPolling(lane)
        if (nextSweepAt !== undefined && nextSweepAt <= nowMs) unswept.set(lane, state)
      }
      await whereAnswered(redis, states, { what: 'watchdog', nameOf: ({ lane }) => String(lane), ask: seeOne })
      await settleDueLanes(
        redis,
        till,
        states.map((state) => ({ lane: state.lane, atMs: nextSweepMs(state, till, till - RECHECK_MS) })),
      )
      sweepOn()
    }
  }

  /** Starts sweeping lanes whose messages wait for a decision, as many at once as allowed. */
  function sweepOn(): void {
    for (const [lane, state] of unswept) {
      if (sweeping.size - hanging.size >= SWEPT_AT_ONCE) return
      if (sweeping.has(lane)) continue
      unswept.delete(lane)
      sweeping.add(lane)
      const swept = sweepLane(deps, state)
        .catch((error: unknown) => log.warn({ lane, err: error }, 'sweep.failed'))
        .finally(() => {
          sweeping.delete(lane)
          hanging.delete(lane)
          sweepOn()
        })
      whileAnswering(redis, swept, LONGEST_SWEEP_MS).catch(() => {
        hanging.add(lane)
        sweepOn()
      })
    }
  }

  /** Marks unmarked lanes with work. */
  async function goRound(): Promise<void> {
    const now = performance.now()
    if (round.length === 0) {
      if (now < nextRoundAt) return
      round = await retainedLanes(redis)
      nextRoundAt = now + ROUND_MS
    }
    const states = await readSweepStates(redis, round.splice(0, isFirstRound ? LANES_AT_ONCE : ROUND_LANES))
    const busy = states.filter(({ active }) => active > 0).map(({ lane }) => lane)
    await whereAnswered(redis, busy, { what: 'mend', ask: (lane) => mendLane(deps, lane) })
    for (const state of states) {
      if (nextSweepMs(state, 0, 0) !== undefined) await markUnmarkedLane(redis, state.lane)
      if (state.activeCampaigns > 0) await addCampaignLane(redis, state.lane)
    }
    if (round.length === 0) isFirstRound = false
  }

  const seeOne = (state: SweepState): Promise<void> =>
    watchdog.see(state).catch((error: unknown) => log.warn({ lane: state.lane, err: error }, 'watchdog.failed'))

  return {
    /** One sweep over the due lanes. Decisions continue after it; a lane's never run twice at once. */
    async sweep(): Promise<void> {
      await checkDue()
      await goRound()
    },

    /** Another worker was elected sweeper. */
    pass(): void {
      unswept.clear()
      watchdog.forget()
      round = []
      isFirstRound = true
      nextRoundAt = 0
    },
  }
}

/**
 * When a lane is due next (epoch ms): at `soonMs` unless it is idle; undefined when nothing is left in it. By the clock of `nowMs`: in a
 * cluster the lane may be on a server with another clock.
 */
function nextSweepMs(state: SweepState, soonMs: number, nowMs: number): number | undefined {
  if (state.backlog + state.places > 0) return soonMs
  const pollAt = state.nextPollAt === undefined ? undefined : state.nextPollAt + POLL_LATE_MS
  const next = earliest(state.nextSweepAt, pollAt)
  return next === undefined ? undefined : Math.max(next - state.nowMs + nowMs, soonMs)
}

const SILENT_MS = 30_000
/** A lane that is slow may be silent for this many of its turns. */
const TURNS = 3

/** The watchdog, with a limit of `longestMs` for a lane without a slow pace and with nothing in flight. */
export function createWatchdog(
  deps: { redis: Redis; config: Pick<Config, 'sendTimeoutMs'>; log: Log },
  longestMs = SILENT_MS,
) {
  /** Sendable lanes: the next job, and since when it is next. */
  const seen = new Map<string, { head: string; sinceMs: number }>()

  return {
    /** Checks a lane, every few seconds while it has work. */
    async see({ lane, head, isHeld, active, placeHead, hasInDoubt }: SweepState): Promise<void> {
      await seeHead(lane, 'jobs', isHeld ? undefined : head, active > 0 ? 1 : 0)
      await seeHead(lane, 'places', placeHead, hasInDoubt ? 1 : 0)
    },

    forget: (): void => seen.clear(),
  }

  async function seeHead(lane: number, kind: string, head: string | undefined, timeouts: number): Promise<void> {
    const now = performance.now()
    const name = `${lane} ${kind}`
    const known = seen.get(name)
    if (head === undefined) {
      seen.delete(name)
    } else if (known?.head !== head) {
      seen.set(name, { head, sinceMs: now })
    } else if (now - known.sinceMs > (await silentMs(lane, timeouts)) && seen.get(name) === known) {
      // If reopening does not help, the next try is after as long again.
      seen.set(name, { head, sinceMs: now })
      if (await rests(lane)) return
      deps.log.warn({ lane, kind }, 'lane.silent')
      await askToReopen(deps.redis, lane)
    }
  }

  /** Campaigns wait for WhatsApp's own rules, which is no fault of the lane. */
  async function rests(lane: number): Promise<boolean> {
    const sender = await cachedSender(deps.redis, lane)
    if (sender === undefined) return false
    const { redis } = deps
    const rules = await rulesOwnerOf(redis, sender)
    return (await readCampaignsWait(redis, rules)) !== undefined || (await campaignsRest(redis, lane)) !== undefined
  }

  /** Messages in flight may fill the lane's share until the provider answers or times out, so many times. */
  async function silentMs(lane: number, timeouts: number): Promise<number> {
    const rate = (await cachedSender(deps.redis, lane))?.rate ?? 1
    return Math.max(longestMs, (TURNS / rate) * 1_000) + timeouts * deps.config.sendTimeoutMs
  }
}
