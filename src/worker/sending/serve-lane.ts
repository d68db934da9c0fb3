// Serves one lane: connects its loop, limit, slots and attempts.

import type { Sender } from '../../accounts/senders.ts'
import type { SharedMoments } from '../../kernel/shared-ticks.ts'
import { type Pace, paceOf } from '../../model/messages/pace.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { createAttempt, type SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import { slotExchange } from './exchange-slots.ts'
import type { createInFlightLimits, InFlightLimit } from './in-flight-limit.ts'
import { serveSteps } from './lane-loop.ts'
import { LaneSignals } from './lane-signals.ts'
import { createLaneSlots, type LaneSlots } from './lane-slots.ts'
import type { HeldCampaigns } from './read-places.ts'
import { type DirectoryEntry, senderOrWait } from './sender-directory.ts'
import { secondCheck } from './still-wanted.ts'
import { type Take, type Taken, takeNext } from './take.ts'
import type { TakeTurns } from './take-turns.ts'

/** Assumed of a lane whose sender is not known yet. */
const SLOW: Pace = paceOf(1)

/** One lane in this process. */
export interface Lane {
  signals: LaneSignals
  inFlightLimit: InFlightLimit
  line: LaneSlots<Candidate>
}

/** What all lanes of a process share. */
export interface SharedByLanes {
  limits: ReturnType<typeof createInFlightLimits>
  turns: TakeTurns
  moments: SharedMoments
}

/** Serves the lane from its first signal until it is told to stop: its messages are claimed, wait for their slots and are sent. */
export function serveLane(send: SendDeps, lane: number, { limits, turns, moments }: SharedByLanes): Lane {
  const { log, clock } = send
  let pace = SLOW
  /** What the pace was made for. */
  let paced: Pick<Sender, 'rate' | 'strict_pace'> | undefined
  const held: HeldCampaigns = new Map()
  const signals = new LaneSignals()
  const inFlightLimit = limits.add(signals.bell)
  const line = createLaneSlots<Candidate>(
    { clock, others: slotExchange(send, lane), checkAgain: secondCheck(send) },
    lane,
  )
  const attempt = createAttempt(send, { line, inFlightLimit, signals })
  void serveSteps({
    ...{ signals, inFlightLimit, turns, moments, take },
    latestSlotAt: line.latestAt,
    gapMs: () => pace.gapUs / 1_000,
    failed: (error) => {
      if (isRedisAway(error)) log.debug({ lane, err: error }, 'lane.error')
      else log.error({ lane, err: error }, 'lane.error')
    },
  })
  return { signals, inFlightLimit, line }

  async function take(next: Take): Promise<Taken> {
    // Before the first await: other lanes take from the same limit meanwhile.
    inFlightLimit.beginRead(next.most)
    try {
      const found = await senderOrWait(send, lane)
      if ('laneMs' in found) return waitingFor(found.laneMs)
      const { entry } = found
      if (entry) setPace(entry)
      return await takeNext(send, { lane, entry, pace, held, line, inFlightLimit, attempt }, next)
    } finally {
      inFlightLimit.endRead()
    }
  }

  function setPace({ sender: { rate, strict_pace } }: DirectoryEntry): void {
    if (rate !== paced?.rate || strict_pace !== paced.strict_pace) pace = paceOf(rate, strict_pace)
    paced = { rate, strict_pace }
    inFlightLimit.setPace(pace)
  }
}

const waitingFor = (heldMs: number): Taken => ({
  ...{ hasMore: true, hasCampaign: false, isPaused: false },
  ...{ heldMs, dueInMs: undefined },
})
