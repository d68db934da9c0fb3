// Medians and spreads.

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = 0, high = 0] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? high : (low + high) / 2
}

/** The value below which a share of the values lies; `share` from 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export interface Spread {
  median: number
  low: number
  high: number
}

export const spreadOf = (values: readonly number[]): Spread => ({
  median: median(values),
  low: Math.min(...values),
  high: Math.max(...values),
})

/** Ratio round by round: what disturbs a machine for a while then disturbs both sides of a ratio. */
export const ratioOf = (ours: readonly number[], theirs: readonly number[]): Spread =>
  spreadOf(ours.map((value, round) => value / (theirs[round] ?? Number.NaN)))
