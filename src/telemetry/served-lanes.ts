// What the workers that are alive say of the lanes that they serve, as one. Pure.
import type { KnownWorker, WorkerBound } from '../redis/heartbeats.ts'
import { boundOfWorkers } from './lane-bound.ts'

/** A lane as all its workers together have it. */
export interface Served {
  /** Messages that are claimed or in flight: the sum. */
  inFlight: number
  /**
   * How long the provider takes to answer, in the last 30 to 60 s (seconds): of each quantile the greatest that a worker
   * has. Undefined without an answer in that time.
   */
  answerSeconds: { p50: number; p99: number } | undefined
  bound: WorkerBound | undefined
}

/** By lane. Lanes that no worker has open are not in it. */
export function servedLanes(workers: readonly KnownWorker[]): Map<number, Served> {
  const lanes = new Map<number, Served>()
  for (const { facts } of workers) {
    for (const { lane, inFlight, p50Ms, p99Ms, bound } of facts?.serves ?? []) {
      const answerSeconds =
        p50Ms === undefined || p99Ms === undefined ? undefined : { p50: p50Ms / 1_000, p99: p99Ms / 1_000 }
      const here: Served = { inFlight, answerSeconds, bound }
      const others = lanes.get(lane)
      lanes.set(lane, others === undefined ? here : together(others, here))
    }
  }
  return lanes
}

/** Two of them as one. */
export const together = (one: Served, other: Served): Served => ({
  inFlight: one.inFlight + other.inFlight,
  answerSeconds: slowest(one.answerSeconds, other.answerSeconds),
  bound: boundOfWorkers([one.bound, other.bound]),
})

function slowest(one: Served['answerSeconds'], other: Served['answerSeconds']): Served['answerSeconds'] {
  if (one === undefined || other === undefined) return one ?? other
  return { p50: Math.max(one.p50, other.p50), p99: Math.max(one.p99, other.p99) }
}
