// Durations as people type them, one number and one unit, and as they are shown.

const UNIT_MS = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

/** Ten years: more than any key should live, and far from the end of what a date can hold. */
const LONGEST_MS = 3_653 * 86_400_000

/** `90s`, `30m`, `1h` or `7d` in milliseconds; undefined for anything else, for nothing at all and for more than ten years. */
export function parseDuration(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNIT_MS.get(unit) ?? 0)
  return ms > 0 && ms <= LONGEST_MS ? ms : undefined
}

/** `75` is `1 min 15 s`. */
export function formatDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'min'],
    [Math.round(seconds % 60), 's'],
  ] as const
  const shown = parts.filter(([count]) => count > 0).slice(0, 2)
  return shown.length === 0 ? '0 s' : shown.map(([count, unit]) => `${count} ${unit}`).join(' ')
}
