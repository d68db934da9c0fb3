// Serves one lane: connects its loop, limit, slots and attempts.

import type { Sender } from '../../accounts/senders.ts'
import type { SharedMoments } from '../../kernel/shared-ticks.ts'
import { reserveSlots } from '../../lanes/messages/claim.ts'
import { type Pace, paceOf } from '../../model/messages/pace.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { createAttempts, type SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import type { createInFlightLimits, InFlightLimit } from './in-flight-limit.ts'
import { createLaneLoop, type LaneLoop } from './lane-loop.ts'
import { createLaneSlots, type LaneSlots } from './lane-slots.ts'
import type { HeldCampaigns } from './read-places.ts'
import { type DirectoryEntry, senderOrWait } from './sender-directory.ts'
import type { AttemptEnd } from './settle.ts'
import { stillWanted } from './still-wanted.ts'
import { type Taken, takeNext } from './take.ts'
import type { TakeTurns } from './take-turns.ts'
import { untilWritten } from './until-written.ts'

/** A slot in place of a missed one that is further ahead than this is not used: the message goes back to its lane. */
const MOST_AHEAD_MS = 2_000
/** Assumed of a lane whose sender is not known yet. */
const SLOW: Pace = paceOf(1)

/** One lane in this process. */
export interface Lane {
  loop: LaneLoop
  inFlightLimit: InFlightLimit
  slots: LaneSlots<Candidate>
  /** Permits that a read in progress has reserved. */
  reading: () => number
}

/**
 * Serves the lane until its loop is stopped: its messages are claimed, wait for their slots and are sent. `noteMoved`:
 * a message of this campaign was worked on.
 */
export function serveLane(
  send: SendDeps,
  lane: number,
  {
    limits,
    turns,
    moments,
    noteMoved,
  }: {
    limits: ReturnType<typeof createInFlightLimits>
    turns: TakeTurns
    moments: SharedMoments
    noteMoved: (run: number) => void
  },
): Lane {
  const { log } = send
  let pace = SLOW
  /** What the pace was made for. */
  let paced: Pick<Sender, 'rate' | 'strict_pace'> | undefined
  let reading = 0
  let latestEntry: DirectoryEntry | undefined
  const held: HeldCampaigns = new Map()
  const slots = createLaneSlots<Candidate>(
    {
      clock: send.clock,
      others: async (missed, ofPace) => {
        const askedAt = performance.now()
        const found = await reserveSlots(send.redis, lane, missed, { pace: ofPace, mostAheadMs: MOST_AHEAD_MS })
        const [slot] = found
        if (slot) send.clock.observe(lane, askedAt, slot.nowMs, performance.now())
        return found
      },
      checkAgain: async (messages) => (latestEntry ? stillWanted(send, latestEntry, messages) : []),
      leave: (message, turn) => attempts.leave(message, turn),
      returnToLane: (message, problem) => attempts.returnToLane(message, problem),
    },
    lane,
  )
  const attempts = createAttempts(send, {
    slots: () => slots,
    inFlightLimit: () => inFlightLimit,
    settled,
    closed: ({ message: { run } }) => {
      inFlightLimit.end()
      if (run !== undefined) noteMoved(run)
    },
  })
  const inFlightLimit = limits.add(() => loop.freed())
  const loop = createLaneLoop({
    inFlightLimit,
    turns,
    moments,
    latestSlotAt: slots.latestAt,
    gapMs: () => pace.gapUs / 1_000,
    failed: (error) => {
      if (isRedisAway(error)) log.debug({ lane, err: error }, 'lane.error')
      else log.error({ lane, err: error }, 'lane.error')
    },
    take: async (take) => {
      // Before the first await: other lanes take from the same limit meanwhile.
      inFlightLimit.begin(take.most)
      reading = take.most
      try {
        const found = await senderOrWait(send, lane)
        if ('laneMs' in found) return waitingFor(found.laneMs)
        const { entry } = found
        if (entry) {
          latestEntry = entry
          const { rate, strict_pace } = entry.sender
          if (rate !== paced?.rate || strict_pace !== paced.strict_pace) pace = paceOf(rate, strict_pace)
          paced = { rate, strict_pace }
          inFlightLimit.setPace(pace)
        }
        const from = { lane, entry, pace, held, latestSlot: slots.latest }
        return await takeNext(send, from, take, (claimed) => {
          reading -= 1
          // With a pace each claim has a slot.
          if (claimed.slot) slots.enter(claimed, claimed.slot, pace)
          else attempts.returnToLane(claimed)
        })
      } finally {
        inFlightLimit.end(reading)
        reading = 0
      }
    },
  })

  async function settled({ name, waitsAs, payload }: Candidate, end: AttemptEnd): Promise<void> {
    if (end.kind === 'done') return
    // The cooldown itself is in Redis, and every claim checks it; this spares the lane claims in the meantime.
    if (end.kind !== 'waits') loop.hold(end.ms)
    if (end.kind === 'done_lane_waits') return
    // Its place went with the claim: dying before this line leaves a record that is queued, and the sweep makes the job.
    const ms = end.kind === 'waits' ? end.ms : 0
    if (waitsAs === 'place') await untilWritten(send.redis, () => send.lanes.add(name, payload(), ms))
    loop.wake()
  }

  return { loop, inFlightLimit, slots, reading: () => reading }
}

const waitingFor = (heldMs: number): Taken => ({
  ...{ hasMore: true, hasCampaign: false, isPaused: false },
  ...{ heldMs, dueInMs: undefined },
})
