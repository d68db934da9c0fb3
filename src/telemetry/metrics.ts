// What a process counts and times by itself, as Prometheus takes it. Made once per process; producer and worker of one
// process share it. What is true of the whole installation is in gauges.ts.
import { Counter, Histogram, Registry } from 'prom-client'
import type { Observer } from '../observe.ts'
import { countedCode, enteredStates } from './history-buffer.ts'

/** Accepting and sending: milliseconds when all is well, seconds when it is not. */
const SHORT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Waiting for a turn, and the way to the recipient: until an hour. */
const LONG_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600]

/** The counters and histograms of a process in a registry of their own, and the observer that feeds them. */
export function createMetrics(labelOf: LaneLabels): { registry: Registry; observer: Observer } {
  const registry = new Registry()
  const registers = [registry]
  const messages = new Counter({
    name: 'laneway_messages_total',
    help: 'Messages that were accepted, and their changes of state; of what this process wrote.',
    labelNames: ['lane', 'class', 'state'] as const,
    registers,
  })
  const attempts = new Counter({
    name: 'laneway_attempts_total',
    help: 'Attempts to send, by outcome and code; of this worker.',
    labelNames: ['lane', 'outcome', 'code'] as const,
    registers,
  })
  const polls = new Counter({
    name: 'laneway_polls_total',
    help: 'Status polls by what the provider answered; of this worker.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const intake = new Counter({
    name: 'laneway_intake_jobs_total',
    help: 'Jobs of the intake queue that were done or refused; of this worker.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const autoPaused = new Counter({
    name: 'laneway_campaigns_auto_paused_total',
    help: 'Campaigns that were paused, and not by a person; of this worker.',
    registers,
  })
  const accept = new Histogram({
    name: 'laneway_accept_seconds',
    help: 'From reading a send to its message being durable in Redis, for one message or a batch.',
    labelNames: ['kind'] as const,
    buckets: SHORT_BUCKETS,
    registers,
  })
  const queueWait = new Histogram({
    name: 'laneway_queue_wait_seconds',
    help: 'From acceptance, or the start of its campaign, to the request that was sent; of messages that were sent.',
    labelNames: ['class'] as const,
    buckets: LONG_BUCKETS,
    registers,
  })
  const send = new Histogram({
    name: 'laneway_send_seconds',
    help: 'From the request that sends a message to the answer of the provider.',
    labelNames: ['provider'] as const,
    buckets: SHORT_BUCKETS,
    registers,
  })
  const delivery = new Histogram({
    name: 'laneway_delivery_seconds',
    help: 'From sent to delivered, or to read where nobody reported the delivery.',
    buckets: LONG_BUCKETS,
    registers,
  })

  const eventsOut = new Counter({
    name: 'laneway_events_total',
    help: 'Events that endpoints took, and that they did not take at a try; of this worker.',
    labelNames: ['outcome'] as const,
    registers,
  })
  const deliveredAfter = new Histogram({
    name: 'laneway_events_delivery_seconds',
    help: 'From the change to the answer of the endpoint that took its event.',
    buckets: LONG_BUCKETS,
    registers,
  })
  const refused = new Counter({
    name: 'laneway_limit_refusals_total',
    help: 'Requests that were refused because they met a limit; of this process.',
    labelNames: ['limit'] as const,
    registers,
  })

  const observer: Observer = {
    accepted({ lane, class: of, count }) {
      if (count > 0) messages.inc({ lane: labelOf(lane), class: of, state: 'accepted' }, count)
    },
    acceptTook: (kind, ms) => accept.observe({ kind }, ms / 1_000),
    changed({ lane, class: of, from, to, sinceSentMs, count = 1 }) {
      for (const state of enteredStates(from, to)) {
        messages.inc({ lane: labelOf(lane), class: of, state }, count)
        if (state === 'delivered' && sinceSentMs !== undefined) delivery.observe(Math.max(0, sinceSentMs) / 1_000)
      }
    },
    attempted({ lane, class: of, provider, outcome, code, waitedMs, tookMs }) {
      attempts.inc({ lane: labelOf(lane), outcome, code: countedCode(code) })
      if (tookMs !== undefined) send.observe({ provider }, tookMs / 1_000)
      if (outcome === 'sent') queueWait.observe({ class: of }, waitedMs / 1_000)
    },
    polled: (outcome) => polls.inc({ outcome }),
    tookIn: (outcome) => intake.inc({ outcome }),
    campaignPaused: () => autoPaused.inc(),
    eventDelivered(ms) {
      eventsOut.inc({ outcome: 'taken' })
      deliveredAfter.observe(Math.max(0, ms) / 1_000)
    },
    eventsNotTaken: (count) => eventsOut.inc({ outcome: 'not_taken' }, count),
    refusedBy: (limit) => refused.inc({ limit }),
  }
  return { registry, observer }
}

/**
 * Lanes with series of their own; those that are seen after them share the label `other`. A lane costs some thirty series, in
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
