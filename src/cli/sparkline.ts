// A row of numbers as one short line of bars.

const BARS = '▁▂▃▄▅▆▇█'

/** One character per value, its height relative to the highest; a space where there was nothing. */
export function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values, 0)
  return values
    .map((value) => (value <= 0 ? ' ' : (BARS[Math.max(0, Math.ceil((value / highest) * BARS.length) - 1)] ?? '')))
    .join('')
}
