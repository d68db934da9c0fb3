// What keeps a lane from having more in flight in this process. Pure. What holds it in all processes, a pause or a
// cooldown, stands in Redis and is added by whoever reads the heartbeats (telemetry/lane-bound.ts).
import type { WorkerBound } from '../redis/heartbeats.ts'

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

/** What bounds it, if anything would wait on it; undefined: nothing here. */
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
