// Spans of time in words that a person reads at a glance: at most two units, rounded down.

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
]

/** `95` → `1 min 35 s`, `0.4` → `under 1 s`, `null` → `–`. Seconds in; negative ones count as none. */
export function spanText(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return '–'
  if (seconds < 1) return 'under 1 s'
  let left = Math.floor(seconds)
  const parts: string[] = []
  for (const [unit, length] of UNITS) {
    const count = Math.floor(left / length)
    left -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
    // `1 d 0 h 3 min` would be three units apart: what follows a unit directly is all that is shown.
    if (parts.length === 2 || (parts.length === 1 && count === 0)) break
  }
  return parts.join(' ')
}

/** How long an answer took: `under 1 ms`, `300 ms`, `1.2 s`, `null` → `–`. Seconds in. */
export function answerText(seconds: number | null): string {
  if (seconds === null) return '–'
  if (seconds < 0.001) return 'under 1 ms'
  const ms = Math.round(seconds * 1_000)
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}

/** How long ago `at` (epoch ms) was at `now`: `just now`, `12 s ago`, `3 h 5 min ago`. */
export function agoText(at: number, now: number): string {
  const seconds = (now - at) / 1_000
  return seconds < 2 ? 'just now' : `${spanText(seconds)} ago`
}
