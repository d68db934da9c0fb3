// Numbers as people read them. Grouping is fixed, not the reader's: a figure is compared with logs and exports.

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

/** `part` of `total` in percent, never 0 % for some and never 100 % for fewer than all. */
export function shareText(part: number, total: number): string {
  if (total === 0) return '–'
  if (part > 0 && part * 1_000 < total) return 'under 0.1 %'
  if (part < total && part * 1_000 > total * 999) return 'over 99.9 %'
  return `${tenths.format((100 * part) / total)} %`
}

/** `one` or `many` with its count before it: `1 message`, `3 messages`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${countText(count)} ${count === 1 ? one : many}`
