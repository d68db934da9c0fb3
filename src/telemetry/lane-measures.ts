// The table of metrics of each lane, and how it is written for Prometheus. Written by hand, where all else is
// prom-client's: of a thousand lanes there are 23,000 series, and keeping each by its labels only to write all of them
// took most of a scrape.

import type { LaneStats } from '../lanes/stats.ts'
import { CAMPAIGNS_WAIT_REASONS } from '../model/portfolio.ts'
import { boundOf, type LaneBound, type Served, together } from './lane-bound.ts'
import type { RestReason } from './store/provider-rules.ts'

/** A lane with work: its figures, and those of its sender. */
export interface LaneGauges extends LaneStats {
  /** Messages per second; 0 when the sender is gone. */
  rate: number
  /** WhatsApp warns of its quality; it lets it send nothing. */
  isFlagged: boolean
  isRestricted: boolean
  /** How many of its campaigns send nothing for a rule of WhatsApp. */
  resting: Partial<Record<RestReason, number>>
}

/** The lanes that share one label; mostly it is one. */
interface Labelled {
  lanes: LaneGauges[]
  /** Undefined when no worker has any of them open. */
  served: Served | undefined
  /** How many of them are bound by what; only lanes with work. */
  bounds: Map<LaneBound, number>
  /** Messages in doubt that no worker has in flight. */
  unconfirmed: number
}
export type LabelledLanes = ReadonlyMap<string, Labelled>

type Class = 'transactional' | 'campaign'

/** One metric: of lanes with work the sum or the highest of a value, or else whatever values a label has. */
interface LaneMeasure {
  name: string
  help: string
  /** A label besides `lane`. */
  label?: 'class' | 'quantile' | 'by' | 'why'
  sum?: (lane: LaneGauges, of: Class) => number
  highest?: (lane: LaneGauges, of: Class) => number
  /** Values by that label, which is empty where there is none. */
  values?: (of: Labelled) => readonly (readonly [label: string, value: number])[]
}

const CLASSES: readonly Class[] = ['transactional', 'campaign']
const secondsSince = (lane: LaneStats, at: number | undefined): number =>
  at === undefined ? 0 : Math.max(0, lane.nowMs - at) / 1_000
const waitingOf = ({ waiting }: LaneStats): number => waiting.transactional + waiting.campaign
const remainingOf = ({ campaigns }: LaneStats): number => campaigns.reduce((sum, { remaining }) => sum + remaining, 0)
const atRate = (count: number, { rate }: LaneGauges): number => (rate === 0 ? 0 : count / rate)

/** All of it. */
export const LANE_MEASURES: readonly LaneMeasure[] = [
  {
    name: 'laneway_lane_waiting',
    help: 'Messages that wait for their turn.',
    label: 'class',
    sum: ({ waiting }, of) => waiting[of],
  },
  {
    name: 'laneway_lane_oldest_waiting_seconds',
    help: 'Age of the message that is next; of a campaign message, since its campaign was started. 0: none waits.',
    label: 'class',
    highest: (lane, of) => secondsSince(lane, lane.oldest[of]),
  },
  {
    name: 'laneway_lane_delayed',
    help: 'Messages that wait for a time: a retry, or the cooldown of their recipient.',
    sum: ({ delayed }) => delayed,
  },
  {
    name: 'laneway_lane_active',
    help: 'Messages with a job of their own that a worker has claimed or in flight; most of a campaign have none.',
    sum: ({ active }) => active,
  },
  {
    name: 'laneway_lane_seconds_to_drain',
    help: 'How long it takes to send what waits, at the pace of the lane.',
    highest: (lane) => atRate(waitingOf(lane), lane),
  },
  {
    name: 'laneway_lane_pace_per_second',
    help: 'Messages per second that may leave.',
    sum: ({ rate }) => rate,
  },
  { name: 'laneway_lane_paused', help: '1 while it is paused.', highest: ({ isPaused }) => Number(isPaused) },
  {
    name: 'laneway_lane_cooldown_seconds',
    help: 'Until its cooldown ends; 0 without one.',
    highest: ({ cooldown, nowMs }) => (cooldown === undefined ? 0 : (cooldown.until - nowMs) / 1_000),
  },
  {
    name: 'laneway_lane_in_doubt',
    help: 'Messages that are being sent, or unconfirmed.',
    sum: ({ inDoubt }) => inDoubt,
  },
  {
    name: 'laneway_lane_requeueable',
    help: 'Messages that failed, expired, were cancelled or are unknown, and are still listed.',
    sum: ({ requeueable }) => requeueable,
  },
  {
    name: 'laneway_lane_dead_letters',
    help: 'Jobs that could not be processed.',
    sum: ({ deadLetters }) => deadLetters,
  },
  {
    name: 'laneway_lane_reopened',
    help: 'Times that a worker reopened it because nothing left it, lately.',
    sum: ({ reopened }) => reopened,
  },
  {
    name: 'laneway_lane_polls_waiting',
    help: 'Messages whose status is to be polled.',
    sum: ({ pollsWaiting }) => pollsWaiting,
  },
  {
    name: 'laneway_lane_polls_late_seconds',
    help: 'How late the next status poll is; its budget is used up, or its provider is slow.',
    highest: (lane) => secondsSince(lane, lane.firstPollAt || undefined),
  },
  {
    name: 'laneway_campaign_remaining',
    help: 'Recipients of its active campaigns that have no outcome yet.',
    sum: remainingOf,
  },
  {
    name: 'laneway_campaign_seconds_to_finish',
    help: 'How long it takes to send to these recipients, at the pace of the lane.',
    highest: (lane) => atRate(remainingOf(lane), lane),
  },
  {
    name: 'laneway_campaigns_resting',
    help: "Running campaigns that send nothing because of WhatsApp's own rules, by rule.",
    label: 'why',
    values: ({ lanes }) => {
      const all = new Map<string, number>()
      for (const { resting } of lanes) {
        for (const [why, count] of Object.entries(resting)) all.set(why, (all.get(why) ?? 0) + count)
      }
      return [...all]
    },
  },
  {
    name: 'laneway_lane_flagged',
    help: '1 while WhatsApp warns that people dislike what the number sends; else missing.',
    values: ({ lanes }) => (lanes.some(({ isFlagged }) => isFlagged) ? [['', 1]] : []),
  },
  {
    name: 'laneway_lane_restricted',
    help: '1 while WhatsApp lets the number send nothing, by its webhooks; else missing.',
    values: ({ lanes }) => (lanes.some(({ isRestricted }) => isRestricted) ? [['', 1]] : []),
  },
  {
    name: 'laneway_lane_in_flight',
    help: 'Messages that are claimed or in flight, of campaigns too, by the latest reports of its workers.',
    values: ({ served }) => (served === undefined ? [] : [['', served.inFlight]]),
  },
  {
    name: 'laneway_unconfirmed',
    help: 'Unconfirmed messages: those in doubt that no worker has in flight.',
    values: ({ unconfirmed }) => [['', unconfirmed]],
  },
  {
    name: 'laneway_lane_answer_seconds',
    help: 'How long the provider takes to answer, in the last minute; of several workers the slowest.',
    label: 'quantile',
    values({ served }) {
      const { answerSeconds } = served ?? {}
      if (answerSeconds === undefined) return []
      return [
        ['0.5', answerSeconds.p50],
        ['0.99', answerSeconds.p99],
      ]
    },
  },
  {
    name: 'laneway_lane_bound',
    help: '1 for what keeps the lane from having more in flight; of lanes with work.',
    label: 'by',
    values: ({ bounds }) => [...bounds],
  },
]

/** Joins the figures of lanes with work and the workers' figures of the lanes that they serve, by label. */
export function labelled(
  lanes: readonly LaneGauges[],
  served: ReadonlyMap<number, Served>,
  labelOf: (lane: number) => string,
): LabelledLanes {
  const byLabel = new Map<string, Labelled>()
  const at = (lane: number): Labelled => {
    const label = labelOf(lane)
    const known = byLabel.get(label) ?? { lanes: [], served: undefined, bounds: new Map(), unconfirmed: 0 }
    byLabel.set(label, known)
    return known
  }
  for (const lane of lanes) {
    const known = at(lane.lane)
    const here = served.get(lane.lane)
    known.lanes.push(lane)
    const bound = boundOf({
      isPaused: lane.isPaused,
      isCoolingDown: lane.cooldown !== undefined,
      isResting:
        lane.waiting.transactional === 0 && CAMPAIGNS_WAIT_REASONS.some((why) => lane.resting[why] !== undefined),
      // Messages that wait as places of campaigns are among those that remain.
      waiting: waitingOf(lane) + remainingOf(lane),
      isAtPace: false,
      byWorkers: here?.bound,
    })
    known.bounds.set(bound, (known.bounds.get(bound) ?? 0) + 1)
    // A campaign's messages have no jobs, and what a worker said is some seconds old.
    known.unconfirmed += Math.max(0, lane.inDoubt - Math.max(lane.active, here?.inFlight ?? 0))
  }
  for (const [lane, here] of served) {
    const known = at(lane)
    known.served = together(known.served, here)
  }
  return byLabel
}

/** The text of one measure of these lanes; its head alone when there are none. Labels are numbers, or words of ours. */
export function textOfMeasure({ name, help, label, sum, highest, values }: LaneMeasure, lanes: LabelledLanes): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
  for (const [lane, of] of lanes) {
    const add = (labelled: string, value: number): void => {
      text += `${name}{lane="${lane}"${label === undefined ? '' : `,${label}="${labelled}"`}} ${value}\n`
    }
    for (const [labelled, value] of values?.(of) ?? []) add(labelled, value)
    if (of.lanes.length === 0) continue
    for (const each of label === 'class' ? CLASSES : CLASSES.slice(0, 1)) {
      if (sum)
        add(
          each,
          of.lanes.reduce((all, one) => all + sum(one, each), 0),
        )
      if (highest) add(each, Math.max(...of.lanes.map((one) => highest(one, each))))
    }
  }
  return text
}
