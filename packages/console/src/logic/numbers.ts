// Formats numbers and spans of time, and computes the scales of charts. Digits are grouped the same in every locale, so that
// figures can be compared with logs and exports.

import { spanText } from '../../../../src/telemetry/durations.ts'

export { answerText, spanText } from '../../../../src/telemetry/durations.ts'

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const tenths = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const hundredths = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })

/** A count: `1,234,567`. */
export const countText = (count: number): string => whole.format(count)

/** Something per second: `0.25`, `7.5`, `80`, `1,157`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 100) return whole.format(perSecond)
  return (perSecond >= 1 ? tenths : hundredths).format(perSecond)
}

const BYTES = ['B', 'KB', 'MB', 'GB', 'TB']

/** Bytes by powers of 1,024: `1.5 MB`. */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log2(bytes) / 10))
  return `${tenths.format(bytes / 1024 ** power)} ${BYTES[power]}`
}

/** `part` of `total` in percent: 0 % only for none, 100 % only for all. */
export function shareText(part: number, total: number): string {
  if (total === 0) return '–'
  if (part > 0 && part * 1_000 < total) return 'under 0.1 %'
  if (part < total && part * 1_000 > total * 999) return 'over 99.9 %'
  return `${tenths.format((100 * part) / total)} %`
}

/** A count and its noun: `1 message`, `3 messages`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`

/** How long ago `at` (epoch ms) was at `now`: `just now`, `12 s ago`, `3 h 5 min ago`. */
export function agoText(at: number, now: number): string {
  const seconds = (now - at) / 1_000
  return seconds < 2 ? 'just now' : `${spanText(seconds)} ago`
}

const STEPS = [1, 2, 5]

/** Two to six marks in round steps, from 0 to at least `most`. */
export function valueMarks(most: number): number[] {
  if (most <= 0) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = (STEPS.find((each) => each * power >= rough) ?? 10) * power
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  // Multiplied, not added up: 0.1 + 0.2 would be written as 0.30000000000000004.
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

const MINUTE = 60_000
const SPACINGS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880].map((minutes) => minutes * MINUTE)

/** At most `most` round times (epoch ms) between `from` and `to`. `offset`: ms by which the reader's zone is behind UTC. */
export function timeMarks(from: number, to: number, most: number, offset: number): number[] {
  const spacing = SPACINGS.find((each) => (to - from) / each <= most) ?? to - from
  if (spacing <= 0) return []
  const first = Math.ceil((from - offset) / spacing) * spacing + offset
  return Array.from({ length: Math.max(0, Math.floor((to - first) / spacing) + 1) }, (_, i) => first + i * spacing)
}
