// What a process counts and times by itself, as Prometheus takes it. Made once per process; producer and worker of one
// process share it. Those of the whole installation are in gauges.ts, those of
// each lane in lane-measures.ts.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { HAD_ENOUGH } from '../model/messages/provider-codes.ts'
import type { Observer } from '../redis/observe.ts'
import { countedCode, enteredStates } from './codes.ts'
import { ALERTED, countedNotice } from './notice-labels.ts'

/** Accepting and sending: milliseconds when all is well, seconds when it is not. */
const SHORT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Waiting for a turn, and the way to the recipient: until an hour. */
const LONG_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600]

/** The observer that feeds the counters and histograms of a process in this registry. */
export function createMetrics(registry: Registry, labelOf: LaneLabels): Observer {
  const registers = [registry]
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ) => new Histogram({ name, help, buckets, labelNames, registers })

  const messages = counter(
    'laneway_messages_total',
    'Messages that were accepted, and their changes of state; of what this process wrote.',
    ...(['lane', 'class', 'state'] as const),
  )
  const attempts = counter(
    'laneway_attempts_total',
    'Attempts to send, by outcome and code; of this worker.',
    ...(['lane', 'outcome', 'code'] as const),
  )
  const polls = counter('laneway_polls_total', 'Status polls by what the provider answered; of this worker.', 'outcome')
  const intake = counter(
    'laneway_intake_jobs_total',
    'Jobs of the intake queue that were done or refused; of this worker.',
    'outcome',
  )
  const autoPaused = counter(
    'laneway_campaigns_auto_paused_total',
    'Campaigns that were paused, and not by a person: `template`, WhatsApp stops it, or `failures`; of this process.',
    'why',
  )
  const capped = counter(
    'laneway_capped_total',
    'Messages that failed because their person has had enough marketing (131049); of what this process wrote.',
    'lane',
  )
  const ruleWaits = counter(
    'laneway_rule_waits_total',
    "Times that a message was not claimed because of WhatsApp's own rules, by rule; of this worker.",
    ...(['lane', 'class', 'why'] as const),
  )
  const dropped = counter(
    'laneway_held_dropped_total',
    'Messages that WhatsApp held and then dropped; of what this process wrote.',
  )
  const probes = counter(
    'laneway_probes_total',
    'Single messages that asked whether a lane may send again, by outcome; of this worker.',
    ...(['lane', 'outcome'] as const),
  )
  const notices = counter(
    'laneway_notices_total',
    'Notices of WhatsApp besides messages, by field of its webhook and its own word; of this process.',
    ...(['field', 'event'] as const),
  )
  // Prometheus registers an increase only of a series that was there before.
  for (const labels of ALERTED) notices.inc(labels, 0)
  for (const why of ['template', 'failures'] as const) autoPaused.inc({ why }, 0)
  const events = counter(
    'laneway_events_total',
    'Events that endpoints took, and that they did not take at a try; of this worker.',
    'outcome',
  )
  const refused = counter(
    'laneway_limit_refusals_total',
    'Requests that were refused because they met a limit; of this process.',
    'limit',
  )
  const accept = histogram(
    'laneway_accept_seconds',
    'From reading a send to its message being durable in Redis, for one message or a batch.',
    SHORT_BUCKETS,
    'kind',
  )
  const queueWait = histogram(
    'laneway_queue_wait_seconds',
    'From acceptance, or the start of its campaign, to the request that was sent; of messages that were sent.',
    LONG_BUCKETS,
    'class',
  )
  const send = histogram(
    'laneway_send_seconds',
    'From the request that sends a message to the answer of the provider.',
    SHORT_BUCKETS,
    'provider',
  )
  const delivery = histogram(
    'laneway_delivery_seconds',
    'From sent to delivered, or to read where nobody reported the delivery.',
    LONG_BUCKETS,
  )
  const deliveredAfter = histogram(
    'laneway_events_delivery_seconds',
    'From the change to the answer of the endpoint that took its event.',
    LONG_BUCKETS,
  )

  return {
    accepted({ lane, class: of, count }) {
      if (count > 0) messages.inc({ lane: labelOf(lane), class: of, state: 'accepted' }, count)
    },
    acceptTook: (kind, ms) => accept.observe({ kind }, ms / 1_000),
    changed({ lane, class: of, from, to, code, sinceSentMs, count = 1 }) {
      if (to === 'failed' && from !== to && code === HAD_ENOUGH) capped.inc({ lane: labelOf(lane) }, count)
      for (const state of enteredStates(from, to)) {
        messages.inc({ lane: labelOf(lane), class: of, state }, count)
        if (state === 'delivered' && sinceSentMs !== undefined) delivery.observe(Math.max(0, sinceSentMs) / 1_000)
      }
    },
    attempted({ lane, class: of, provider, outcome, code, waitedMs, tookMs, isProbe }) {
      attempts.inc({ lane: labelOf(lane), outcome, code: countedCode(code) })
      if (tookMs !== undefined) send.observe({ provider }, tookMs / 1_000)
      if (isProbe) probes.inc({ lane: labelOf(lane), outcome })
      if (outcome === 'sent') queueWait.observe({ class: of }, waitedMs / 1_000)
    },
    polled: (outcome) => polls.inc({ outcome }),
    tookIn: (outcome) => intake.inc({ outcome }),
    campaignPaused: (why) => autoPaused.inc({ why }),
    ruleWaits: ({ lane, class: of, why }) => ruleWaits.inc({ lane: labelOf(lane), class: of, why }),
    heldDropped: () => dropped.inc(),
    noticed: (of) => notices.inc(countedNotice(of)),
    eventDelivered(ms) {
      events.inc({ outcome: 'taken' })
      deliveredAfter.observe(Math.max(0, ms) / 1_000)
    },
    eventsNotTaken: (count) => events.inc({ outcome: 'not_taken' }, count),
    refusedBy: (limit) => refused.inc({ limit }),
  }
}

/** Messages of a worker that are claimed or in flight. */
export interface InFlight {
  inFlight: number
  maxInFlight: number
}

/** Connections of one kind that are open. */
interface OpenConnections {
  origin: string
  protocol: string
  count: number
}

/** The gauges of what workers of this process hold, counted when Prometheus asks. Each `watch` returns what ends it. */
export function createWorkerGauges(registry: Registry) {
  const inFlight = new Set<() => InFlight>()
  const connections = new Set<() => OpenConnections[]>()
  const gauge = (name: string, help: string, value: (of: InFlight) => number) =>
    new Gauge({
      ...{ name, help, registers: [registry] },
      collect() {
        // Without a worker it is not exported: a reset would leave a 0.
        this.remove()
        for (const count of inFlight) this.inc(value(count()))
      },
    })
  gauge(
    'laneway_worker_in_flight',
    'Messages of all lanes that are claimed or in flight; of this worker.',
    (of) => of.inFlight,
  )
  gauge(
    'laneway_worker_in_flight_max',
    'How many may be, LANEWAY_MAX_IN_FLIGHT; of this worker.',
    (of) => of.maxInFlight,
  )
  new Gauge({
    name: 'laneway_provider_connections',
    help: 'Connections to providers that are open, by protocol; of this worker.',
    labelNames: ['origin', 'protocol'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const counts of connections) {
        for (const { origin, protocol, count } of counts()) this.inc({ origin, protocol }, count)
      }
    },
  })
  const watching =
    <Counted>(all: Set<Counted>) =>
    (count: Counted): (() => void) => {
      all.add(count)
      return () => void all.delete(count)
    }
  return { watchInFlight: watching(inFlight), watchConnections: watching(connections) }
}

/**
 * Lanes with series of their own; those that come after them share the label `other`. A lane costs some thirty series, in
 * each process and in the monitoring system, so their number is bounded whatever the installation grows to.
 */
const LANES_MAX = 1_000
/** The label of all lanes beyond LANES_MAX. */
const OTHER_LANES = 'other'

/** The label of a lane. */
export type LaneLabels = (lane: number) => string

/** Labels of a process: once a lane has one of its own, it keeps it. */
export function createLaneLabels(most = LANES_MAX): LaneLabels {
  const labels = new Map<number, string>()
  return (lane) => {
    const known = labels.get(lane)
    if (known !== undefined) return known
    if (labels.size >= most) return OTHER_LANES
    labels.set(lane, String(lane))
    return String(lane)
  }
}
