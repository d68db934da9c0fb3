// What `top` draws: a snapshot as lines of a terminal. Pure. Names and reasons come from outside: whatever in them would
// move the cursor, recolour the terminal or turn the reading direction is shown, and not obeyed.

import { answerText, spanText } from '../telemetry/durations.ts'
import { boundSentence, isShortOfRoom } from '../telemetry/lane-bound.ts'
import { secondsToGo } from '../telemetry/lane-state.ts'
import type { Snapshot, SnapshotCampaign, SnapshotLane } from '../telemetry/snapshot.ts'
import { clockTime, printable, sparkline } from './print.ts'

/** What can be selected, by identity and not by position: lines move. */
export interface Item {
  kind: 'lane' | 'campaign'
  id: string
}

/** What is drawn besides the snapshot. */
export interface View {
  columns: number
  rows: number
  selected: Item | undefined
  /** What was done last, or what went wrong. */
  note: string
  /** How old the snapshot is. */
  ageMs: number
}

const KEYS = 'up and down select   p pause   r resume   q quit'
const INVERSE = ['\u001b[7m', '\u001b[27m'] as const
/** A snapshot that is older than this is marked. */
const OLD_MS = 3_000
/** Lines besides those of lanes and campaigns. */
const OTHER_LINES = 8

/** Lanes and campaigns in the order in which they are drawn. */
export const itemsOf = ({ lanes, campaigns }: Snapshot): Item[] => [
  ...lanes.map(({ sender }): Item => ({ kind: 'lane', id: String(sender) })),
  ...campaigns.map(({ id }): Item => ({ kind: 'campaign', id })),
]

/** Whether both are the same lane, or the same campaign. */
export const isSame = (one: Item | undefined, other: Item | undefined): boolean =>
  one?.kind === other?.kind && one?.id === other?.id

/** The lines of a screen, at most `rows` of them, each at most `columns` wide. */
export function drawScreen(snapshot: Snapshot, view: View): string[] {
  const forCampaigns = Math.min(snapshot.campaigns.length, Math.max(3, Math.floor((view.rows - OTHER_LINES) / 3)))
  const forLanes = Math.max(1, view.rows - OTHER_LINES - forCampaigns)
  const lanes = windowOf(snapshot.lanes, forLanes, ({ sender }) => isSelected(view, 'lane', String(sender)))
  const campaigns = windowOf(snapshot.campaigns, forCampaigns, ({ id }) => isSelected(view, 'campaign', id))
  const lines = [
    { text: headline(snapshot, view) },
    { text: workersAndRedis(snapshot) },
    { text: '' },
    { text: `LANES ${shownOf(lanes.length, snapshot.lanes_total)}`.padEnd(24) + LANE_HEAD },
    ...lanes.map((lane) => ({ text: laneLine(lane), isSelected: isSelected(view, 'lane', String(lane.sender)) })),
    { text: '' },
    { text: `CAMPAIGNS ${shownOf(campaigns.length, snapshot.campaigns.length)}` },
    ...campaigns.map((each) => ({ text: campaignLine(each), isSelected: isSelected(view, 'campaign', each.id) })),
    { text: view.note === '' ? KEYS : `${printable(view.note)}   (${KEYS})` },
  ]
  return lines.slice(0, view.rows).map((line) => {
    const text = cut(line.text, view.columns)
    return 'isSelected' in line && line.isSelected ? INVERSE[0] + text.padEnd(view.columns) + INVERSE[1] : text
  })
}

const isSelected = ({ selected }: View, kind: Item['kind'], id: string): boolean => isSame(selected, { kind, id })

/** As many as there is room for, with the selected one among them. */
function windowOf<T>(all: readonly T[], room: number, isIt: (one: T) => boolean): readonly T[] {
  const at = all.findIndex(isIt)
  const from = Math.max(0, Math.min(at - room + 1, all.length - room))
  return all.slice(from, from + room)
}

const shownOf = (shown: number, all: number): string => (shown < all ? `(${shown} of ${all})` : `(${all})`)

function headline({ at, totals }: Snapshot, { ageMs }: View): string {
  const parts = [
    `${at.slice(11, 19)} UTC${ageMs > OLD_MS ? `, ${spanText(ageMs / 1_000)} old` : ''}`,
    `accepted ${totals.accepted_per_s}/s`,
    `sent ${totals.sent_per_s}/s`,
    `delivered ${totals.delivered_per_s}/s`,
    `failed ${totals.failed_per_s}/s`,
    `waiting ${totals.waiting}`,
    ...(totals.oldest_waiting_s === null ? [] : [`oldest ${spanText(totals.oldest_waiting_s)}`]),
    `unconfirmed ${totals.unconfirmed}`,
  ]
  return parts.join('   ')
}

function workersAndRedis({ workers, redis, failures }: Snapshot): string {
  const unsafe = redis.safety.filter(({ ok }) => !ok).length
  const of = redis.max_bytes === null ? '' : ` of ${megabytes(redis.max_bytes)}`
  const failed = failures.slice(0, 3).map(({ code, count }) => `${printable(code)}: ${count}`)
  return [
    `workers ${workers.length}${inFlightOf(workers)}`,
    `Redis ${megabytes(redis.used_bytes)}${of}${unsafe === 0 ? '' : `, ${unsafe} unsafe settings`}`,
    ...(failed.length === 0 ? [] : [`failed within the hour: ${failed.join(', ')}`]),
  ].join('   ')
}

/** Empty until a worker has reported its facts. */
function inFlightOf(workers: Snapshot['workers']): string {
  const sum = (values: (number | null)[]): number => values.reduce<number>((all, value) => all + (value ?? 0), 0)
  const most = sum(workers.map(({ max_in_flight }) => max_in_flight))
  return most === 0 ? '' : `, ${sum(workers.map(({ in_flight }) => in_flight))} of ${most} in flight`
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MB`

const LANE_HEAD = `${'STATE'.padEnd(17)}${'SENT/S OF'.padStart(14)}${'WAITING'.padStart(10)}${'OLDEST'.padStart(14)}  `

function laneLine(lane: SnapshotLane): string {
  const waiting = lane.waiting.transactional + lane.waiting.campaign
  const name = cut(`${lane.sender} ${printable(lane.name)}`, 23).padEnd(24)
  const rate = `${lane.sent_per_s} of ${Number(lane.rate_per_s.toFixed(2))}`
  const oldest = lane.oldest_s === null ? '' : spanText(lane.oldest_s)
  const why = whyOf(lane).join('  ')
  const spark = sparkline(lane.spark).padEnd(30)
  const cells = [
    name + lane.state.replaceAll('_', ' ').padEnd(17),
    rate.padStart(14),
    String(waiting).padStart(10),
    oldest.padStart(14),
    '  ',
  ]
  // A screen has room for a few words at the end of a line: why a lane does not send comes before its past.
  const isWell = lane.state === 'sending' || lane.state === 'idle'
  return cells.join('') + (isWell ? [spark, why] : [why, spark]).filter((part) => part !== '').join('  ')
}

/** What else is to be said of the lane, in words. */
function whyOf(lane: SnapshotLane): string[] {
  const { reason, by, since, until, dead_letters, answer_p50_s: p50, answer_p99_s: p99, campaigns_wait: rest } = lane
  const waiting = lane.waiting.transactional + lane.waiting.campaign
  const left = secondsToGo(lane, Date.now())
  return [
    ...(by === null ? [] : [`by ${printable(by)}`]),
    ...(since === null ? [] : [`since ${clockTime(since)}`]),
    ...(until === null ? [] : [`until ${until.slice(11, 19)} UTC`]),
    ...(reason === null ? [] : [printable(reason)]),
    ...(rest === null || lane.state === 'resting' ? [] : [restOf(rest)]),
    ...(left === null
      ? []
      : [`${spanText(left.seconds)} for what waits now${left.at === 'this rate' ? '' : `, at ${left.at}`}`]),
    ...(dead_letters === 0 ? [] : [`dead letters: ${dead_letters}`]),
    ...(lane.in_flight === 0 ? [] : [`in flight: ${lane.in_flight}`]),
    ...(p50 === null || p99 === null ? [] : [`answers: p50 ${answerText(p50)}, p99 ${answerText(p99)}`]),
    ...(isShortOfRoom(lane) ? [boundSentence({ ...lane, waiting })] : []),
  ]
}

const restOf = ({ why, until }: { why: string; until: string }): string =>
  `campaigns wait: ${why} until ${until.slice(11, 19)} UTC`

function campaignLine(campaign: SnapshotCampaign): string {
  const { total, queued, delivered_total, read, failed, capped, held, unconfirmed, unknown } = campaign
  const { eta_s, paused_for, throttle, waits } = campaign
  const name = cut(`${campaign.id} ${printable(campaign.name ?? '')}`, 31).padEnd(32)
  const left = eta_s === null || eta_s === 0 ? [] : [`${spanText(eta_s)} for all its people`]
  const rest = waits === null ? null : `waits: ${waits.why} until ${waits.until.slice(11, 19)} UTC`
  const why = [rest, paused_for, throttle].flatMap((each) => (each === null ? [] : [printable(each)]))
  return [
    `${name}${campaign.state.padEnd(10)}`,
    `${total - queued} of ${total}`,
    `delivered ${delivered_total} (${read} read)`,
    `failed ${failed}${capped === 0 ? '' : ` (${capped} capped)`}`,
    ...(held === 0 ? [] : [`held ${held}`]),
    ...(unconfirmed === 0 ? [] : [`unconfirmed ${unconfirmed}`]),
    ...(unknown === 0 ? [] : [`unknown ${unknown}`]),
    `${Math.round(campaign.rate_per_s)}/s`,
    ...left,
    ...why,
  ].join('  ')
}

/** By code points: half of a character is none. */
function cut(text: string, width: number): string {
  const points = [...text]
  return points.length <= width ? text : `${points.slice(0, Math.max(0, width - 1)).join('')}…`
}
