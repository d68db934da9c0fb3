// The history of a lane, and of the whole installation: counts per 10 s for an hour and per 5 min for a week, and what a
// process has counted and not written yet. A process that is killed loses the seconds that it had not written.
//
// A period is stored as one text, `a=12,s=11,f=1,f.131047=1`: 45 bytes a period of a busy lane. A counter of its own for
// each number (HINCRBY) would take ten times the memory.
import { randomBytes } from 'node:crypto'
import { DAY_MS, HOUR_MS } from '../kernel/time-units.ts'
import { nobody, type Observer } from '../redis/observe.ts'
import { countedCode, enteredStates } from './codes.ts'

/** How finely the history is kept, and for how long. `chunkMs`: what one key in Redis holds; it goes as a whole. */
export interface Resolution {
  name: '10s' | '5m'
  everyMs: number
  chunkMs: number
  keptMs: number
}

export const FINE: Resolution = { name: '10s', everyMs: 10_000, chunkMs: HOUR_MS, keptMs: HOUR_MS }
export const COARSE: Resolution = { name: '5m', everyMs: 300_000, chunkMs: DAY_MS, keptMs: 7 * DAY_MS }

/** What is counted, by the letter that it is stored under, in the order in which people want to see it. */
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
export const COUNTED_NAMES = Object.keys(COUNTED) as Counted[]

/** What is measured now and then, of a period the highest value: messages that wait, and the age of the oldest (s). */
export const MEASURED = { backlog: 'b', oldestSeconds: 'o' } as const

/** Failures are counted once more for each code: what the field begins with, and the field of all codes past the first few. */
export const FAILURES = { byCode: `${COUNTED.failed}.`, byOther: `${COUNTED.failed}.other` } as const

/** Counts by field. */
export type Fields = Map<string, number>

/** One period of the history. */
export interface Point extends Record<Counted, number> {
  /** When it begins (epoch ms). */
  atMs: number
  /** Failures by code, those of codes.ts. */
  failedBy: Record<string, number>
  backlog: number
  oldestSeconds: number
}

/** A period from its fields. */
export function pointOf(atMs: number, fields: Fields): Point {
  const count = (letter: string): number => fields.get(letter) ?? 0
  const counts = Object.fromEntries(COUNTED_NAMES.map((name) => [name, count(COUNTED[name])]))
  const failures = [...fields].filter(([field]) => field.startsWith(FAILURES.byCode))
  return {
    ...(counts as Record<Counted, number>),
    atMs,
    failedBy: Object.fromEntries(failures.map(([field, value]) => [field.slice(FAILURES.byCode.length), value])),
    backlog: count(MEASURED.backlog),
    oldestSeconds: count(MEASURED.oldestSeconds),
  }
}

/** Adds the same period of another lane: all is summed but the age of the oldest message. */
export function addLane(to: Fields, from: Fields): void {
  for (const [field, value] of from) {
    const known = to.get(field) ?? 0
    to.set(field, field === MEASURED.oldestSeconds ? Math.max(known, value) : known + value)
  }
}

/** The fields of a period as they are stored; what cannot be read counts nothing. */
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

/** Stands for the whole installation among the lanes, whose numbers begin at 1. */
export const WHOLE = 0
/** Batches that wait for Redis: ten minutes of them. The oldest go when there are more. */
const BATCHES_MAX = 60

/** Counts of one period, by lane and with the WHOLE. */
export interface Batch {
  /** Rises with each batch of this process, so that one that is written again is not counted again. */
  number: number
  /** When the period begins (epoch ms). */
  atMs: number
  lanes: Map<number, Fields>
}

export type HistoryBuffer = ReturnType<typeof createHistoryBuffer>

/** An empty buffer and the observer that fills it. `now` is the clock (epoch ms). */
export function createHistoryBuffer(now: () => number = Date.now) {
  const batches: Batch[] = []
  let current: Batch | undefined
  let made = 0
  let dropped = 0

  function fieldsOf(lane: number): Fields {
    const ms = now()
    if (current === undefined || ms - current.atMs >= FINE.everyMs || ms < current.atMs) {
      made += 1
      current = { number: made, atMs: ms - (ms % FINE.everyMs), lanes: new Map() }
      batches.push(current)
      if (batches.length > BATCHES_MAX) {
        batches.shift()
        dropped += 1
      }
    }
    const fields = current.lanes.get(lane) ?? new Map<string, number>()
    current.lanes.set(lane, fields)
    return fields
  }

  function count(lane: number, field: string, by: number): void {
    for (const of of [lane, WHOLE]) {
      const fields = fieldsOf(of)
      fields.set(field, (fields.get(field) ?? 0) + by)
    }
  }

  const observer: Observer = {
    ...nobody,
    accepted({ lane, count: by }) {
      if (by > 0) count(lane, COUNTED.accepted, by)
    },
    changed({ lane, from, to, code, count: by = 1 }) {
      for (const state of enteredStates(from, to)) {
        count(lane, COUNTED[state], by)
        if (state !== 'failed') continue
        const counted = countedCode(code)
        count(lane, counted === '' ? FAILURES.byOther : `${FAILURES.byCode}${counted}`, by)
      }
    },
  }

  return {
    /** Names this process among those that write. */
    writer: randomBytes(4).toString('base64url'),
    observer,

    /** What waits on a lane, or on the WHOLE, at this moment. */
    measure(lane: number, backlog: number, oldestSeconds: number): void {
      const fields = fieldsOf(lane)
      const keepHighest = (field: string, value: number) => fields.set(field, Math.max(fields.get(field) ?? 0, value))
      keepHighest(MEASURED.backlog, backlog)
      keepHighest(MEASURED.oldestSeconds, Math.round(oldestSeconds))
    },

    /** The oldest batch, to which nothing is added from now on. It stays until it is `written`. */
    next(): Batch | undefined {
      if (batches[0] === current) current = undefined
      return batches[0]
    },

    written(batch: Batch): void {
      if (batches[0] === batch) batches.shift()
    },

    /** How many batches were dropped since this was last asked. */
    takeDropped(): number {
      const since = dropped
      dropped = 0
      return since
    },
  }
}
