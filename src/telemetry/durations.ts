// How long something took or will take, as people read it: the same in the console and on the command line. Pure.

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
    // Two neighbouring units at most: `1 d 3 min` would look more precise than it is.
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
