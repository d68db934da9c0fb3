// What is told of each lane, and how it is written for Prometheus. By hand, where all else is prom-client's: of a thousand
// lanes there are 23,000 series, with those of served-series.ts, and keeping each by its labels only to write all of them
// took most of a scrape.
import type { MessageClass } from '../messages/content.ts'
import type { LaneGauges } from './store/lane-gauges.ts'

/** How lanes of one label are told together. */
type Together = 'sum' | 'max'

/** What is told of a lane. Without a class it has one series, otherwise one per class. */
interface LaneSeries {
  name: string
  help: string
  together: Together
  value: (lane: LaneGauges, of: MessageClass) => number
  byClass?: true
}

/** All of it. */
export const LANE_SERIES: readonly LaneSeries[] = [
  {
    name: 'laneway_lane_waiting',
    help: 'Messages that wait for their turn.',
    together: 'sum',
    value: ({ waiting }, of) => waiting[of],
    byClass: true,
  },
  {
    name: 'laneway_lane_oldest_waiting_seconds',
    help: 'Age of the message that is next; of a campaign message, since its campaign was started. 0: none waits.',
    together: 'max',
    value: ({ oldestSeconds }, of) => oldestSeconds[of],
    byClass: true,
  },
  {
    name: 'laneway_lane_delayed',
    help: 'Messages that wait for a time: a retry, or the cooldown of their recipient.',
    together: 'sum',
    value: ({ delayed }) => delayed,
  },
  {
    name: 'laneway_lane_active',
    help: 'Messages with a job of their own that a worker has claimed or in flight; most of a campaign have none.',
    together: 'sum',
    value: (l) => l.active,
  },
  {
    name: 'laneway_lane_seconds_to_drain',
    help: 'What waits, at the pace of the lane.',
    together: 'max',
    value: ({ waiting, rate }) => (rate === 0 ? 0 : (waiting.transactional + waiting.campaign) / rate),
  },
  {
    name: 'laneway_lane_pace_per_second',
    help: 'Messages per second that may leave.',
    together: 'sum',
    value: ({ rate }) => rate,
  },
  {
    name: 'laneway_lane_paused',
    help: '1 while it is paused.',
    together: 'max',
    value: ({ paused }) => Number(paused),
  },
  {
    name: 'laneway_lane_cooldown_seconds',
    help: 'Until its cooldown ends; 0 without one.',
    together: 'max',
    value: ({ cooldownSeconds }) => cooldownSeconds,
  },
  {
    name: 'laneway_lane_in_doubt',
    help: 'Messages that are being sent, or unconfirmed.',
    together: 'sum',
    value: ({ inDoubt }) => inDoubt,
  },
  {
    name: 'laneway_lane_requeueable',
    help: 'Messages that failed, expired, were cancelled or are unknown, and are still listed.',
    together: 'sum',
    value: ({ requeueable }) => requeueable,
  },
  {
    name: 'laneway_lane_dead_letters',
    help: 'Jobs that could not be processed.',
    together: 'sum',
    value: ({ deadLetters }) => deadLetters,
  },
  {
    name: 'laneway_lane_reopened',
    help: 'Times that a worker reopened it because nothing left it, lately.',
    together: 'sum',
    value: ({ reopened }) => reopened,
  },
  {
    name: 'laneway_lane_polls_waiting',
    help: 'Messages whose status is to be polled.',
    together: 'sum',
    value: ({ pollsWaiting }) => pollsWaiting,
  },
  {
    name: 'laneway_lane_polls_late_seconds',
    help: 'How late the next status poll is; its budget is used up, or its provider is slow.',
    together: 'max',
    value: ({ pollsLateSeconds }) => pollsLateSeconds,
  },
  {
    name: 'laneway_campaign_remaining',
    help: 'Recipients of its active campaigns that have no outcome yet.',
    together: 'sum',
    value: ({ campaignRemaining }) => campaignRemaining,
  },
  {
    name: 'laneway_campaign_seconds_to_finish',
    help: 'These recipients, at the pace of the lane.',
    together: 'max',
    value: ({ campaignRemaining, rate }) => (rate === 0 ? 0 : campaignRemaining / rate),
  },
]

const CLASSES = ['transactional', 'campaign'] as const

/** How lanes stand, by the label that they are told under; several may share one. */
export type LabelledLanes = ReadonlyMap<string, readonly [LaneGauges, ...LaneGauges[]]>

/** The text of one metric of these lanes; its head alone when there are none. Labels are numbers, or a word of ours. */
export function textOfSeries({ name, help, together, value, byClass }: LaneSeries, lanes: LabelledLanes): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
  for (const [label, [first, ...others]] of lanes) {
    for (const of of byClass ? CLASSES : CLASSES.slice(0, 1)) {
      let shown = value(first, of)
      for (const other of others)
        shown = together === 'sum' ? shown + value(other, of) : Math.max(shown, value(other, of))
      text += byClass ? `${name}{lane="${label}",class="${of}"} ${shown}\n` : `${name}{lane="${label}"} ${shown}\n`
    }
  }
  return text
}
