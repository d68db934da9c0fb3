// A time as a person types it: with its zone, as a day or an hour in a zone, as a day by its name, or as so long ago or ahead. Pure.
import { z } from 'zod'
import { DAY_MS, HOUR_MS } from './time-units.ts'

const UNIT_MS = new Map([
  ['s', 1_000],
  ['m', 60_000],
  ['h', HOUR_MS],
  ['d', DAY_MS],
])

/** Ten years: longer than anything here lives, and far from the end of what a date can hold. */
const LONGEST_MS = 3_653 * DAY_MS

/** `90s`, `30m`, `1h` or `7d` in milliseconds; undefined for anything else, for zero and for more than ten years. */
export function parseDuration(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNIT_MS.get(unit) ?? 0)
  return ms > 0 && ms <= LONGEST_MS ? ms : undefined
}

const DAYS = new Map([
  ['yesterday', -1],
  ['today', 0],
  ['tomorrow', 1],
])
const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?$/
const withZone = z.iso.datetime({ offset: true })

/** The time in epoch ms of a text that means the same in every zone: with its zone, `24h` ago, `+24h` ahead; undefined for others. */
export function parseZonedMoment(text: string, nowMs: number): number | undefined {
  if (withZone.safeParse(text).success) return Date.parse(text)
  const ago = parseDuration(text)
  if (ago !== undefined) return nowMs - ago
  const ahead = text.startsWith('+') ? parseDuration(text.slice(1)) : undefined
  return ahead && nowMs + ahead
}

/**
 * The time in epoch ms; undefined for a text that is none. `24h` is 24 hours ago, `+24h` in 24 hours; `yesterday`, `today`,
 * `tomorrow` and `2026-11-27` are the first moment of that day, and `2026-11-27T09:00` is that hour, all in `zone` (an IANA name). An
 * hour that the zone skips is the one after it, one that comes twice the first of both.
 */
export function parseMoment(text: string, { nowMs, zone }: { nowMs: number; zone: string }): number | undefined {
  const zoned = parseZonedMoment(text, nowMs)
  if (zoned !== undefined) return zoned
  const days = DAYS.get(text)
  if (days !== undefined) {
    const [year, month, day] = wallClock(nowMs, zone)
    return atWallClock([year, month, day + days, 0, 0, 0], zone)
  }
  const [, year, month, day, hour = '0', minute = '0', second = '0'] = LOCAL.exec(text) ?? []
  if (year === undefined) return undefined
  const wall: Wall = [Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second)]
  // February has no 30th: what another date would stand for was not meant.
  const [, sameMonth, sameDay, ...sameTime] = wallOf(utcOf(wall))
  const isThere = [sameMonth, sameDay, ...sameTime].every((part, i) => part === wall[i + 1])
  return isThere ? atWallClock(wall, zone) : undefined
}

/** Whether the name is one of a zone that this Node knows. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== ''
  } catch {
    return false
  }
}

/** Year, month from 1, day, hour, minute, second. */
type Wall = [number, number, number, number, number, number]

const utcOf = ([year, month, day, hour, minute, second]: Wall): number =>
  Date.UTC(year, month - 1, day, hour, minute, second)

function wallOf(utcMs: number): Wall {
  const at = new Date(utcMs)
  return [
    ...([at.getUTCFullYear(), at.getUTCMonth() + 1, at.getUTCDate()] as const),
    ...([at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()] as const),
  ]
}

/** What a clock on the wall of the zone shows at that time. */
function wallClock(ms: number, zone: string): Wall {
  const parts = new Intl.DateTimeFormat('en', {
    ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(ms)
  const of = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((part) => part.type === type)?.value)
  return [of('year'), of('month'), of('day'), of('hour'), of('minute'), of('second')]
}

/** When the clock of the zone shows this. */
function atWallClock(wall: Wall, zone: string): number {
  const wanted = utcOf(wall)
  const offsetAt = (ms: number): number => utcOf(wallClock(ms, zone)) - Math.floor(ms / 1_000) * 1_000
  // The offsets before and after a change of clocks that may lie within a day of it.
  const found = [wanted - offsetAt(wanted - DAY_MS), wanted - offsetAt(wanted + DAY_MS)]
  const fitting = found.filter((ms) => utcOf(wallClock(ms, zone)) === wanted)
  return fitting.length > 0 ? Math.min(...fitting) : Math.max(...found)
}
