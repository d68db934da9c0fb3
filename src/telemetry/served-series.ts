// What is told of each lane from what its workers say, and how it is written for Prometheus: by hand, as lane-series.ts.
import { boundOf, type LaneBound } from './lane-bound.ts'
import { type Served, together } from './served-lanes.ts'
import type { LaneGauges } from './store/lane-gauges.ts'

/** The lanes of one label together. */
interface Labelled {
  /** Undefined when no worker has any of them open. */
  served: Served | undefined
  /** How many of them are bound by what; only lanes with work. */
  bounds: Map<LaneBound, number>
  /** Messages in doubt that no worker has in flight. */
  unconfirmed: number
}

/** What is known of lanes, by the label that they are told under. */
export type LabelledServed = ReadonlyMap<string, Labelled>

interface ServedSeries {
  name: string
  help: string
  /** A label besides `lane`. */
  label?: 'quantile' | 'by'
  /** The value of that label, and of the series. */
  values: (of: Labelled) => readonly (readonly [string, number])[]
}

/** All of it. */
export const SERVED_SERIES: readonly ServedSeries[] = [
  {
    name: 'laneway_lane_in_flight',
    help: 'Messages that are claimed or in flight, of campaigns too, as its workers said last.',
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
    values: ({ served }) => {
      const { answerSeconds } = served ?? {}
      return answerSeconds === undefined
        ? []
        : [
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

/** Brings together what is told of lanes with work and of lanes that workers serve. */
export function labelled(
  lanes: readonly LaneGauges[],
  served: ReadonlyMap<number, Served>,
  labelOf: (lane: number) => string,
): LabelledServed {
  const byLabel = new Map<string, Labelled>()
  const at = (lane: number): Labelled => {
    const label = labelOf(lane)
    const known = byLabel.get(label) ?? { served: undefined, bounds: new Map(), unconfirmed: 0 }
    byLabel.set(label, known)
    return known
  }
  for (const gauges of lanes) {
    const known = at(gauges.lane)
    const here = served.get(gauges.lane)
    const bound = boundIn(gauges, here)
    known.bounds.set(bound, (known.bounds.get(bound) ?? 0) + 1)
    // A campaign's messages have no jobs, and what a worker said is some seconds old.
    known.unconfirmed += Math.max(0, gauges.inDoubt - Math.max(gauges.active, here?.inFlight ?? 0))
  }
  for (const [lane, here] of served) {
    const known = at(lane)
    known.served = known.served === undefined ? here : together(known.served, here)
  }
  return byLabel
}

const boundIn = (lane: LaneGauges, served: Served | undefined): LaneBound =>
  boundOf({
    isPaused: lane.paused,
    isCoolingDown: lane.cooldownSeconds > 0,
    // What waits in chunks of campaigns is not counted by itself.
    waiting: lane.waiting.transactional + lane.waiting.campaign + lane.campaignRemaining,
    isAtPace: false,
    byWorkers: served?.bound,
  })

/** The text of one metric of these lanes; its head alone when there are none. */
export function textOfServed({ name, help, label, values }: ServedSeries, lanes: LabelledServed): string {
  let text = `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
  for (const [lane, of] of lanes) {
    for (const [labelled, value] of values(of)) {
      text += `${name}{lane="${lane}"${label === undefined ? '' : `,${label}="${labelled}"`}} ${value}\n`
    }
  }
  return text
}
