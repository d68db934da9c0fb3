// How long requests of a client took, in the order of their length.
import type { Posted } from './client.ts'

/** The time that so many of a hundred stayed below (ms); 0 of none. */
export function percentile(times: readonly number[], share: number): number {
  const sorted = [...times].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * share) / 100))] ?? 0
}

/** How long each acknowledged message took from its request to its answer (ms). */
export const acceptTimes = (posted: readonly Posted[]): number[] =>
  posted.flatMap(({ answers }) => answers.flatMap(({ status, tookMs }) => (status === 200 ? (tookMs ?? []) : [])))
