// lanes: one per sender, with its id, and named like it.
import { z } from 'zod'
import { counted } from '../kernel/fault.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import { type LaneStatus, laneStatusSchema } from '../model/lanes/lane-status.ts'
import { lanes } from '../producer/api/lanes/routes.ts'
import { CLOCK_CHECK_MS, trustClock } from '../redis/trusted-clock.ts'
import { spanText } from '../telemetry/durations.ts'
import { clockTime } from './print.ts'
import { type Question, type RouteVerb, routeVerb } from './route-verb.ts'
import { type Verb, verb } from './verb.ts'

type Row = Readonly<Record<string, unknown>>

/** What the sentences say of a lane. */
const laneIn = (data: unknown) => z.looseObject({ lane: z.number(), waiting: z.number(), rate: z.number() }).parse(data)

/** A column that is shown in other words than its field has. */
const cell =
  (show: (lane: LaneStatus) => string) =>
  (row: Row): string =>
    show(shownSchema.parse(row))

/** A later release may say more, and one of before less. */
const shownSchema = laneStatusSchema.extend({ granted_rate: z.number().default(0) }).loose()

export const verbs: readonly (Verb | RouteVerb)[] = [
  routeVerb('admin', 'lanes', lanes.lanes, {
    verb: 'list',
    example: '--account 1',
    columns: [
      ...['lane', 'account', 'number', 'name', 'rate', 'waiting', 'oldest', 'delayed', 'active', 'dead_letters'],
      // A reason may be long: last, it pushes nothing off the screen.
      ...['cooldown_until', 'campaigns_wait', 'paused'],
    ],
    cells: {
      oldest: cell(({ oldest_waiting_at: since }) => (since === null ? '' : ageOf(since))),
      dead_letters: cell(({ set_aside }) => String(set_aside)),
      cooldown_until: cell(({ cooldown_until, cooldown_code }) =>
        cooldown_until === null ? 'none' : [clockTime(cooldown_until), cooldown_code].filter(Boolean).join(' '),
      ),
      campaigns_wait: cell(({ campaigns_wait: wait }) =>
        wait === null ? 'no' : `${wait.why} until ${clockTime(wait.until)}`,
      ),
      paused: cell((lane) => (lane.paused ? pauseOf(lane) : 'no')),
    },
    none: 'There is no sender yet.',
    pages: 'all',
  }),
  routeVerb('admin', 'show', lanes.show, { example: '1' }),
  routeVerb('admin', 'pause', lanes.pause, {
    summary: 'stop sending from a lane; what is in flight still goes out',
    text: (data) => `Lane ${laneIn(data).lane} is paused; messages are accepted and wait.`,
    example: '1 --reason "number under review"',
  }),
  routeVerb('admin', 'resume', lanes.resume, {
    text(data) {
      const { lane, waiting } = laneIn(data)
      return `Lane ${lane} is resumed; ${counted(waiting, 'message')} ${waiting === 1 ? 'waits' : 'wait'}.`
    },
    example: '1',
  }),
  routeVerb('admin', 'endCooldown', lanes.endCooldown, {
    text: (data) => `The cooldown of lane ${laneIn(data).lane} is over, unless its provider asks for another one.`,
    example: '1',
  }),
  routeVerb('admin', 'deadLetters', lanes.deadLetters, {
    example: '1',
    columns: ['id', 'failed_at', 'reason'],
    none: 'There is no dead letter.',
  }),
  routeVerb('admin', 'rate', lanes.rate, {
    arguments: ['rate'],
    words: { rate: 'number' },
    example: '1 20',
    text(data) {
      const { lane, rate } = laneIn(data)
      return `Lane ${lane} sends up to ${rate} messages a second.`
    },
    about: lanes.show,
    asks: rateQuestion(({ granted_rate: granted }) => Number(granted)),
  }),
  verb({
    usage: 'trust-clock',
    summary:
      'go on by the clock of Redis after it has leapt by hours or days; ask for it only once that clock is right',
    act: 'redis.trust_clock',
    example: '',
    values: {},
    async run(_values, { redis }) {
      const off = (await trustClock(redis)).map((ms) => Math.round(ms / 1_000))
      const [first] = off
      return {
        json: { trusted_seconds: off },
        text:
          first === undefined
            ? 'No part doubts the clock of Redis.'
            : `The clock of Redis, which leapt by ${spanText(Math.abs(first))}, is believed within ${CLOCK_CHECK_MS / 1_000} s.`,
        acted: first === undefined ? undefined : { account: NO_ACCOUNT, detail: `${first} s` },
      }
    },
  }),
]

/** Asked before a rate that WhatsApp answers with refusals. `grantedIn`: messages per second that it takes, in what is shown. */
export function rateQuestion(grantedIn: (shown: Row) => number): Question {
  return {
    sentence({ body: { rate } }, shown) {
      const granted = grantedIn(shown)
      // A service of before says nothing of it.
      if (typeof rate !== 'number' || !(rate > granted)) return undefined
      return (
        `WhatsApp takes ${granted.toLocaleString('en')} messages a second from this number, as far as it has reported; ` +
        `of ${rate.toLocaleString('en')} it refuses some, and the lane cools down`
      )
    },
    declined: 'The rate is what it was.',
    spared: 'before a rate that is above what WhatsApp grants to the number',
  }
}

/** Of a refusal the reason is a sentence of the provider, with its full stop. */
const pauseOf = ({ paused_for, paused_by, paused_at }: LaneStatus): string =>
  [
    paused_for.replace(/\.$/, '') || 'yes',
    paused_by && `by ${paused_by}`,
    paused_at !== null && `since ${clockTime(paused_at)}`,
  ]
    .filter(Boolean)
    .join(', ')

const ageOf = (time: string): string => spanText(Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1_000)))
