// Judges the worlds of a run: the fate of every message, as in every scenario, and what WhatsApp's own rules cost.
import type { Sent } from '../chat-product.ts'
import { type Judgement, judge } from '../checker.ts'
import { percentile } from '../latency.ts'
import { type Figure, type Run, timeLimit } from '../scenario.ts'
import { TEMPLATE } from '../tenant.ts'
import { CODE_TEMPLATE } from './business.ts'
import { failedLater, messageOf, type PhysicsLine } from './listing.ts'
import type { Seen } from './play-world.ts'
import type { Kind } from './worlds.ts'

/** All that was seen and listed. */
export interface Played {
  seen: readonly Seen[]
  ledger: readonly Sent[]
  physics: readonly PhysicsLine[]
  /** States of codes by their ids. */
  codeStates: ReadonlyMap<string, string>
  flagsEarned: number
}

/** A message is told from others by its id: the same person gets several. */
export function judgeMessages({ seen, ledger, physics, codeStates, flagsEarned }: Played): Judgement {
  const failed = failedLater(physics)
  const lines = seen.flatMap((each) => each.lines)
  const ids = [...lines.map(({ message_id }) => message_id), ...codeStates.keys()]
  return judge({
    requests: ids.map((id) => ({ to: id, ids: [id] })),
    // A message that WhatsApp took and reported as failed has not gone out, and may go out later.
    ledger: ledger.flatMap(({ id, providerId }) =>
      failed.has(providerId) ? [] : [{ to: id ?? `unknown ${providerId}`, id }],
    ),
    states: new Map([...lines.map(({ message_id, state }): [string, string] => [message_id, state]), ...codeStates]),
    possibleDuplicates: new Set(lines.flatMap((line) => (line.possible_duplicate ? [line.message_id] : []))),
    refusedLater: new Set(),
    flagsEarned,
  })
}

/** A request leaves that long after it was last asked whether it may. */
const UNDER_WAY_MS = 500
/** How soon nothing of a paused template leaves any more. */
const PAUSED_WITHIN_MS = 1_000
/** Of the time that a campaign takes when it is fed blindly (%). */
const MOST_LOST = 5

export function figuresOf(played: Played, run: Run): Figure[] {
  const { seen, physics } = played
  const count = (event: string, template?: string): number =>
    physics.filter((line) => line.event === event && (template === undefined || line.template === template)).length
  const kinds = (kind: Kind): Seen[] => seen.filter(({ ready }) => ready.business.world.kind === kind)
  const fed = kinds('dropped').reduce((sum, { ready }) => sum + ready.people.length, 0)
  const codeMs = codeTimes(played)
  return [
    { what: 'worlds', value: seen.length - kinds('blind').length, unit: '' },
    {
      what: 'sends to a person within their cap',
      value: withinCap(played, timeLimit(run, UNDER_WAY_MS)),
      unit: 'requests',
      atMost: 0,
    },
    { what: 'people with a cap', value: count('capped'), unit: 'messages', atLeast: 1 },
    { what: 'codes refused by the budget', value: count('over_budget', CODE_TEMPLATE), unit: 'requests', atMost: 0 },
    { what: 'marketing refused by the budget', value: count('over_budget', TEMPLATE), unit: 'requests', atMost: 0 },
    { what: 'codes in all', value: codeMs.length, unit: 'messages', atLeast: 1 },
    { what: 'from asking for a code to WhatsApp, half of them', value: percentile(codeMs, 50), unit: 'ms' },
    { what: 'the same, the slowest', value: Math.max(0, ...codeMs), unit: 'ms' },
    {
      what: 'people lost to a drop, of all that their campaigns were to reach',
      value: (100 * count('held_and_dropped')) / Math.max(1, fed),
      unit: '%',
      atMost: 1,
    },
    {
      what: 'sent although the service had been told for a second that the template is paused',
      value: afterPause(played, timeLimit(run, PAUSED_WITHIN_MS)),
      unit: 'requests',
      atMost: 0,
    },
    {
      what: 'templates of whose pause the service was told',
      value: count('pause_told'),
      unit: 'templates',
      atLeast: 1,
    },
    { what: 'refused while a number was held back', value: count('held_back'), unit: 'requests' },
    ...lostTime(played, timeLimit(run, MOST_LOST)),
    { what: 'readings of campaigns that added up', value: readings(seen), unit: '', atLeast: seen.length },
    { what: 'capped people whom a requeue left alone', value: sum(seen, ({ skipped }) => skipped), unit: 'people' },
  ]
}

const sum = (seen: readonly Seen[], of: (each: Seen) => number): number => seen.reduce((all, each) => all + of(each), 0)
const readings = (seen: readonly Seen[]): number => sum(seen, (each) => each.readings)

/** From asking for a code until WhatsApp took it, of those that it took. */
function codeTimes({ seen, ledger }: Played): number[] {
  const taken = new Map(ledger.map(({ id, atMs }) => [id, atMs]))
  return seen.flatMap(({ codes }) =>
    codes.flatMap(({ id, askedMs }) => {
      const takenMs = taken.get(id)
      return takenMs === undefined ? [] : [takenMs - askedMs]
    }),
  )
}

/**
 * Sends within a cap that the service had been told of, and that were not under way at that time. A worker that was killed
 * before it read the answer was told nothing: its message has ended unproven.
 */
function withinCap({ seen, physics }: Played, underWayMs: number): number {
  const unproven = new Set(
    seen.flatMap(({ lines }) => lines.flatMap(({ message_id, state }) => (state === 'unknown' ? [message_id] : []))),
  )
  const untold = new Set(
    physics.flatMap((line) =>
      line.event === 'capped' && line.id === undefined && unproven.has(messageOf(line) ?? '')
        ? [`${line.portfolio} ${line.to}`]
        : [],
    ),
  )
  return physics.filter(
    ({ event, portfolio, to, at_ms, told_ms = 0 }) =>
      event === 'within_cap' && at_ms > told_ms + underWayMs && !untold.has(`${portfolio} ${to}`),
  ).length
}

/** Requests with a paused template, all of them refused, that came later than they may after the service was told. */
function afterPause({ physics }: Played, withinMs: number): number {
  const toldMs = new Map(
    physics.flatMap(({ event, portfolio, at_ms }) => (event === 'pause_told' ? [[portfolio, at_ms] as const] : [])),
  )
  return physics.filter(
    ({ event, portfolio, at_ms }) => event === 'template_paused' && at_ms > (toldMs.get(portfolio) ?? at_ms) + withinMs,
  ).length
}

/** How much longer people waited than they would have, had everything been fed at once. */
function lostTime({ seen, ledger, physics }: Played, atMost: number): Figure[] {
  const lastOf = (each: Seen): number => {
    const ids = new Set(each.lines.map(({ message_id }) => message_id))
    return Math.max(...ledger.flatMap(({ id, atMs }) => (id !== undefined && ids.has(id) ? [atMs] : [])))
  }
  const of = (kind: Kind): Seen[] => seen.filter(({ ready }) => ready.business.world.kind === kind)
  const took = (kind: Kind): number => sum(of(kind), (each) => lastOf(each) - each.startedMs)
  const calm = took('calm')
  const blind = took('blind')
  const held = of('held').map((each) => {
    const { wabaId } = each.ready.business
    const decided = physics.flatMap((line) =>
      line.event === 'held' && line.portfolio === wabaId ? [line.until_ms ?? 0] : [],
    )
    // Fed at once, all would be held, and reach people when that is decided.
    const releasedMs = Math.max(each.startedMs, ...decided)
    return { lostMs: Math.max(0, lastOf(each) - releasedMs), blindMs: releasedMs - each.startedMs }
  })
  const lostMs = held.reduce((all, each) => all + each.lostMs, 0)
  const blindMs = held.reduce((all, each) => all + each.blindMs, 0)
  return [
    { what: 'campaigns without any rule, in all', value: blind / 1_000, unit: 's' },
    { what: 'longer with all rules and no trouble', value: (100 * (calm - blind)) / blind, unit: '%', atMost },
    { what: 'held ones until WhatsApp let go, in all', value: blindMs / 1_000, unit: 's' },
    { what: 'longer than fed into the hold', value: (100 * lostMs) / Math.max(1, blindMs), unit: '%', atMost },
  ]
}
