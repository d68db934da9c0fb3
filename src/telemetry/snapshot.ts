// Schemas of what the console and `top` show: the state at one moment, filled in by live/snapshots.ts, and the
// history as a chart wants it, filled in by live/series.ts.
import { z } from 'zod'
import { CAMPAIGN_STATES } from '../model/campaigns/lifecycle.ts'
import type { State } from '../model/messages/lifecycle.ts'
import { CAMPAIGNS_WAIT_REASONS } from '../model/portfolio.ts'
import { LANE_BOUNDS } from './lane-bound.ts'
import { LANE_STATES } from './lane-state.ts'

/** Lanes that a snapshot shows at most, those in trouble first. */
export const LANES_SHOWN = 200
/** Values of a spark, of 10 s each. */
export const SPARK_POINTS = 30

const count = z.int().nonnegative()
const amount = z.number().nonnegative()
const time = z.iso.datetime()

/** What campaigns wait for by WhatsApp's own rules. */
const ruleWaitsSchema = z.strictObject({ why: z.enum(CAMPAIGNS_WAIT_REASONS), until: time, sentence: z.string() })

const laneSchema = z
  .strictObject({
    sender: z.int().describe('Of the sender and its lane.'),
    name: z.string().describe('Of the sender; its digits when it has no name.'),
    account: z.int(),
    state: z.enum(LANE_STATES).describe('Why it does not send, or that it does.'),
    reason: z.string().nullable().describe('The same in a sentence.'),
    by: z.string().nullable().describe('Who paused it.'),
    since: time.nullable().describe('Since when it is paused; null while it runs, and when not known.'),
    until: time.nullable().describe('When its cooldown ends, or the rest of its campaigns.'),
    drain_s: amount.nullable().describe('Seconds until all that waits has left, at its pace; null when none waits.'),
    waiting: z.strictObject({ transactional: count, campaign: count }),
    oldest_s: amount.nullable().describe('How long the next message has waited; null when none waits.'),
    rate_per_s: amount.describe('Messages per second that may leave.'),
    sent_per_s: amount.describe('Messages per second sent, over the last 10 s.'),
    spark: z.array(amount).length(SPARK_POINTS).describe('The same per 10 s of the last five minutes.'),
    dead_letters: count,
    in_flight: count.describe(
      'Being sent, as the workers that serve it said last, every 3 s. ' +
        'While none serves it, counted in Redis: above 64 in doubt at once, an estimate.',
    ),
    answer_p50_s: amount
      .nullable()
      .describe(
        'Half of the answers of the provider took no longer, in the last minute; of several workers the slowest. ' +
          'Null without an answer in that time.',
      ),
    answer_p99_s: amount.nullable().describe('The same of 99 in 100.'),
    bound: z.enum(LANE_BOUNDS).describe('What keeps it from having more in flight.'),
    campaigns_wait: ruleWaitsSchema
      .nullable()
      .describe(
        'Why its campaigns send nothing by a rule of WhatsApp, while other messages go on; null while they may.',
      ),
  })
  .meta({ id: 'ConsoleLane' })

const shares = {
  queued: count,
  sending: count,
  sent: count,
  delivered: count,
  read: count,
  failed: count,
  expired: count,
  cancelled: count,
  unconfirmed: count,
  unknown: count,
} satisfies Record<State, z.ZodType>

const campaignSchema = z
  .strictObject({
    id: z.string(),
    name: z.string().nullable(),
    account: z.int(),
    state: z.enum(CAMPAIGN_STATES),
    total: count.describe('Recipients: the sum of all states that follow, without `refused`.'),
    ...shares,
    delivered_total: count.describe('`delivered` and `read` together.'),
    replied: count.describe('People who have answered.'),
    capped: count.describe('Part of `failed`: these people have had enough marketing.'),
    held: count.describe('Part of `sent`: WhatsApp holds them back.'),
    refused: count.describe('Refused at preflight; not part of `total`.'),
    rate_per_s: amount,
    eta_s: amount.nullable(),
    paused_for: z.string().nullable().describe('Why it is paused, by a person or by its circuit breaker.'),
    waits: ruleWaitsSchema.nullable().describe('Why nothing of it leaves by a rule of WhatsApp although it runs.'),
    throttle: z.string().nullable().describe('To how much its provider holds it.'),
  })
  .meta({ id: 'ConsoleCampaign' })

/** A worker's report on itself; null or empty where it has not reported. */
const workerFields = {
  id: z.string(),
  host: z.string(),
  pid: z.int().nullable(),
  started_at: time.nullable(),
  version: z.string(),
}

/** A snapshot, exact. */
export const snapshotSchema = z
  .strictObject({
    at: time,
    totals: z.strictObject({
      accepted_per_s: amount,
      sent_per_s: amount,
      delivered_per_s: amount,
      failed_per_s: amount,
      waiting: count,
      oldest_waiting_s: amount.nullable(),
      unconfirmed: count,
    }),
    lanes: z.array(laneSchema).max(LANES_SHOWN),
    lanes_total: count,
    campaigns: z.array(campaignSchema).describe('Those that are not over, and the last few that are.'),
    failures: z
      .array(z.strictObject({ code: z.string(), meaning: z.string(), count }))
      .describe('Of the last hour, the most frequent first.'),
    workers: z.array(
      z.strictObject({
        ...workerFields,
        lanes: count.describe('That it has open.'),
        in_flight: count
          .nullable()
          .describe('Messages that it has claimed or in flight; null of one that has said nothing.'),
        max_in_flight: count.nullable().describe('How many it may have.'),
        seen_s: amount,
      }),
    ),
    lost_workers: z
      .array(z.strictObject({ ...workerFields, lost_s: amount.describe('Since its last report.') }))
      .describe('Those of the last hour that have stopped reporting without an orderly stop.'),
    node_problems: z
      .array(z.string())
      .describe('Why the Node of this producer or of a worker should be renewed, each reason once.'),
    redis: z.strictObject({
      used_bytes: count,
      max_bytes: count.nullable(),
      safety: z.array(z.strictObject({ name: z.string(), ok: z.boolean(), sentence: z.string() })),
    }),
  })
  .meta({ id: 'ConsoleSnapshot' })

export type Snapshot = z.infer<typeof snapshotSchema>
export type SnapshotLane = Snapshot['lanes'][number]
export type SnapshotCampaign = Snapshot['campaigns'][number]

/** Stretches of time up to now. */
export const SPANS = ['hour', 'week'] as const
export type Span = (typeof SPANS)[number]

/** A series, exact. */
export const seriesSchema = z
  .strictObject({
    step_s: z.int().positive().describe('Seconds that a point covers.'),
    points: z.array(
      z.strictObject({
        at: z.iso.datetime(),
        ...{ accepted: count, sent: count, delivered: count, read: count, failed: count, unknown: count },
        waiting: count.describe('The most that waited at once.'),
        oldest_s: count.describe('Age of the oldest of them, at most.'),
      }),
    ),
  })
  .meta({ id: 'ConsoleHistory' })
export type Series = z.infer<typeof seriesSchema>

/** Which figures to show: one account or, without one, all; `senders` narrows it, empty means all. */
export interface Scope {
  account: number | undefined
  senders: readonly number[]
}

/** Everything there is. */
export const SCOPE_OF_ALL: Scope = Object.freeze({ account: undefined, senders: [] })

/** A key that is the same for all viewers of the same scope. */
export const scopeKey = ({ account, senders }: Scope): string =>
  `${account ?? 'all'}${senders.length === 0 ? '' : ` ${[...senders].sort((one, other) => one - other).join()}`}`

/** Whether this lane of the scope's account is shown. */
export const isInScope = ({ senders }: Scope, lane: number): boolean => senders.length === 0 || senders.includes(lane)
