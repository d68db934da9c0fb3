// stats: what was accepted, sent and delivered lately, of the whole installation or of one lane.

import { iso } from '../kernel/instant.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { laneOf } from '../lanes/control.ts'
import type { Redis } from '../redis/connect.ts'
import { spanText } from '../telemetry/durations.ts'
import { COUNTED_NAMES, type Counted, type Point, WHOLE } from '../telemetry/history.ts'
import { type History, readStats } from '../telemetry/store/history.ts'
import { CliFailure } from './failure.ts'
import { clockTime, sparkline } from './print.ts'
import { senderNamed } from './session.ts'
import { instant, laneId, senderName } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const WEEK_MS = 7 * 24 * HOUR_MS
/** Columns of the bars. */
const COLUMNS = 60

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show',
    isDefault: true,
    summary: 'show counts per 10 s of the last hour, or per 5 min of up to a week',
    example: '--lane 1 --since 24h',
    values: {
      lane: option(laneId.optional(), 'id', 'only this lane; without it the whole installation'),
      sender: option(senderName.optional(), 'sender', 'the lane of this sender, by its number, name or id'),
      since: option(instant.optional(), 'time', 'from when on, at most a week ago, such as 24h; 1h if not given'),
    },
    check({ lane, sender }, wrong) {
      if (lane !== undefined && sender !== undefined) wrong('sender', 'give either a lane or a sender')
    },
    async run({ lane, sender, since }, { redis }) {
      const of = await laneNamed(redis, lane, sender)
      const nowMs = Date.now()
      const sinceMs = Math.max(since ?? nowMs - HOUR_MS, nowMs - WEEK_MS)
      const history = await readStats(redis, [of ?? WHOLE], { sinceMs, nowMs })
      return { json: documentOf(of, history), text: textOf(of, history) }
    },
  }),
]

/** The requested lane; undefined for the whole installation. */
async function laneNamed(redis: Redis, lane?: number, sender?: string): Promise<number | undefined> {
  if (sender !== undefined) return (await senderNamed(redis, sender)).id
  if (lane !== undefined && !(await laneOf(redis, lane))) {
    throw new CliFailure(`There is no lane ${lane}; see \`lanes list\`.`)
  }
  return lane
}

const documentOf = (lane: number | undefined, { everyMs, fromMs, toMs, points }: History) => ({
  lane: lane ?? null,
  every_seconds: everyMs / 1_000,
  from: iso(fromMs),
  to: iso(toMs),
  points: points.map(({ atMs, failedBy, backlog, oldestSeconds, ...counts }) => ({
    at: iso(atMs),
    ...counts,
    failed_by: failedBy,
    backlog,
    oldest_seconds: oldestSeconds,
  })),
})

function textOf(lane: number | undefined, history: History): string {
  const { everyMs, fromMs, toMs, points } = history
  const periods = (toMs - fromMs) / everyMs + 1
  const perColumn = Math.max(1, Math.ceil(periods / COLUMNS))
  const columns: Point[][] = Array.from({ length: Math.ceil(periods / perColumn) }, () => [])
  for (const point of points) columns[Math.floor((point.atMs - fromMs) / everyMs / perColumn)]?.push(point)
  const sum = (of: Counted, some: readonly Point[]): number => some.reduce((total, point) => total + point[of], 0)
  const highest = (of: 'backlog' | 'oldestSeconds', some: readonly Point[]): number =>
    Math.max(0, ...some.map((point) => point[of]))
  const rows = [
    ...COUNTED_NAMES.map((name) => [name, sum(name, points), columns.map((some) => sum(name, some))] as const),
    ['most waiting', highest('backlog', points), columns.map((some) => highest('backlog', some))] as const,
    ['oldest (s)', highest('oldestSeconds', points), columns.map((some) => highest('oldestSeconds', some))] as const,
  ]
  const whose = lane === undefined ? 'The whole installation' : `Lane ${lane}`
  const column = spanText((perColumn * everyMs) / 1_000)
  return [
    `${whose} since ${clockTime(fromMs)}; each column is ${column}.`,
    '',
    ...rows.map(([name, total, values]) => `${name.padEnd(13)}${String(total).padStart(9)}  |${sparkline(values)}|`),
    ...failures(points),
  ].join('\n')
}

/** Why messages failed, the most frequent first. */
function failures(points: readonly Point[]): string[] {
  const byCode = new Map<string, number>()
  for (const { failedBy } of points) {
    for (const [code, count] of Object.entries(failedBy)) byCode.set(code, (byCode.get(code) ?? 0) + count)
  }
  const shown = [...byCode].sort(([, a], [, b]) => b - a).map(([code, count]) => `${code}: ${count}`)
  return shown.length === 0 ? [] : ['', `Failed by code: ${shown.join(', ')}`]
}
