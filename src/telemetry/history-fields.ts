// The history of a lane, and of the whole installation, as it is kept: counts per 10 s for an hour and per 5 min for a
// week. Pure. A count is one letter, and of failures one more count for each code, `f.131047`.

/** How finely the history is kept, and for how long. `chunkMs`: what one key in Redis holds; it goes as a whole. */
export interface Resolution {
  name: '10s' | '5m'
  everyMs: number
  chunkMs: number
  keptMs: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

export const FINE: Resolution = { name: '10s', everyMs: 10_000, chunkMs: HOUR_MS, keptMs: HOUR_MS }
export const COARSE: Resolution = { name: '5m', everyMs: 5 * MINUTE_MS, chunkMs: DAY_MS, keptMs: 7 * DAY_MS }

/** What is counted, by the letter that it is stored under. */
export const COUNTED = {
  accepted: 'a',
  sent: 's',
  delivered: 'd',
  read: 'r',
  failed: 'f',
  expired: 'x',
  cancelled: 'k',
  unconfirmed: 'l',
  unknown: 'n',
} as const
export type Counted = keyof typeof COUNTED

/** The names of COUNTED in the order in which people want to see them. */
export const COUNTED_NAMES: readonly Counted[] = [
  ...(['accepted', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled', 'unconfirmed', 'unknown'] as const),
]

/** What is measured now and then; of a period, the highest value. */
export const MEASURED = {
  /** Messages that wait. */
  backlog: 'b',
  /** Age of the oldest of them in seconds. */
  oldest: 'o',
} as const

const isMeasured = (field: string): boolean => field === MEASURED.backlog || field === MEASURED.oldest

/** Counts by field. */
export type Fields = Map<string, number>

/** Adds counts to others; of what is measured the higher one stays. */
export function addFields(to: Fields, from: Iterable<readonly [string, number]>): void {
  for (const [field, value] of from) {
    const known = to.get(field) ?? 0
    to.set(field, isMeasured(field) ? Math.max(known, value) : known + value)
  }
}

/** Adds the same period of another lane: all is summed but the age of the oldest message. */
export function addLane(to: Fields, from: Fields): void {
  for (const [field, value] of from) {
    const known = to.get(field) ?? 0
    to.set(field, field === MEASURED.oldest ? Math.max(known, value) : known + value)
  }
}

/** One period of the history. */
export interface Point extends Record<Counted, number> {
  /** When it begins (epoch ms). */
  atMs: number
  /** Failures by code; the codes of telemetry/history-buffer.ts. */
  failedBy: Record<string, number>
  backlog: number
  oldestSeconds: number
}

/** A period from its fields. */
export function pointOf(atMs: number, fields: Fields): Point {
  const count = (letter: string): number => fields.get(letter) ?? 0
  const failures = [...fields].filter(([field]) => field.startsWith('f.'))
  return {
    atMs,
    accepted: count(COUNTED.accepted),
    sent: count(COUNTED.sent),
    delivered: count(COUNTED.delivered),
    read: count(COUNTED.read),
    failed: count(COUNTED.failed),
    expired: count(COUNTED.expired),
    cancelled: count(COUNTED.cancelled),
    unconfirmed: count(COUNTED.unconfirmed),
    unknown: count(COUNTED.unknown),
    failedBy: Object.fromEntries(failures.map(([field, value]) => [field.slice(2), value])),
    backlog: count(MEASURED.backlog),
    oldestSeconds: count(MEASURED.oldest),
  }
}

/** The fields of a period as they are stored, `a=12,s=11,f=1,f.131047=1`; what cannot be read counts nothing. */
export function parseFields(stored: string): Fields {
  const fields: Fields = new Map()
  for (let from = 0; from < stored.length; ) {
    // Found by hand: a chart of many lanes reads tens of thousands of these.
    const comma = stored.indexOf(',', from)
    const to = comma === -1 ? stored.length : comma
    const at = stored.indexOf('=', from)
    const value = at > from && at < to ? Number.parseInt(stored.slice(at + 1, to), 10) : Number.NaN
    if (value >= 0) fields.set(stored.slice(from, at), value)
    from = to + 1
  }
  return fields
}
