// What an installation needs, from what one message costs and how long the provider takes to answer. Pure: figures in,
// sizes out; docs/how-it-works/scale.md has the formula in words.
import { STREAMS } from '../../src/providers/http-contract.ts'
import { between, lineThrough } from './lines.ts'

/** What one message costs, as the bench measured it. */
export interface MessageCost {
  /** CPU of the producer and Redis for accepting one single message, µs. */
  acceptUs: number
  /** CPU of a worker for one message, µs. */
  workerUs: number
  /** CPU of Redis for one message from fan-out to settled, µs. */
  redisUs: number
  /** Memory of Redis for one finished message, bytes. */
  recordBytes: number
  /** The same of many numbers with a provider that takes its time, as far as that was measured. */
  sending: readonly SendingCost[]
}

/** How requests leave, both over TLS. */
export const PROTOCOLS = ['h1', 'h2'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** What `npm run bench -- numbers` came to with one worker over one protocol. */
export interface SendingCost {
  protocol: Protocol
  /** Mean of the time until the answer, ms. */
  answerMs: number
  /** Messages a second. */
  perSecond: number
  workerUs: number
  redisUs: number
  /** Memory of the worker, MB. */
  workerMb: number
  /** Most at once. */
  inFlight: number
  connections: number
}

export interface Question {
  messagesPerDay: number
  /** Numbers to send from; each sends at its own pace. */
  senders: number
  retentionDays: number
  /** Busiest hour against the mean of the day. A day's work within eight hours, uneven, is about 5. */
  peakFactor: number
  /** How long the provider takes to answer, ms. */
  answerMs: number
  protocol: Protocol
}

export interface Capacity {
  meanPerSecond: number
  peakPerSecond: number
  /** What the senders can send a second at `SENDER_PACE` each, and whether that is enough for the peak. */
  sendersPerSecond: number
  sendersSuffice: boolean
  /** Cores at the peak, at `TARGET` of their time. */
  producerCores: number
  workerCores: number
  redisCores: number
  /** Processes: one core each, at least two of a kind, so that one may die. */
  producers: number
  workers: number
  /** Messages in flight at the peak, over all workers, and the connections to providers that carry them. */
  inFlight: number
  providerConnections: number
  /** Memory of each worker, MB; undefined while it was not measured over the protocol. */
  workerMb: number | undefined
  /** Whether the CPU time of workers and Redis is that of the protocol; else it is that of a campaign in clear. */
  isMeasured: boolean
  /** What is kept, bytes, and the primaries that hold it and keep up with it. */
  redisBytes: number
  primaries: number
  /** Connections to Redis in all. */
  connections: number
  /** US dollars a month, and for a million messages. */
  monthly: { compute: number; redis: number; disk: number }
  perMillion: number
}

/** What WhatsApp lets a number send a second, unless it has raised it. */
export const SENDER_PACE = 80
/** Of a core's time that is planned with: beyond it waits grow. */
const TARGET = 0.6
/** Of a node's memory that may be filled: rewriting its append-only file takes a part of the rest. */
const FILLED = 0.6
/** Memory of Redis besides records: campaigns, index, history, queues. Measured share, `npm run bench -- campaign find`. */
const BESIDES_RECORDS = 1.15
/**
 * Connections of a worker and of a producer to each primary; of each besides, a worker's that block on the queues of no
 * lane. Counted with one and with three primaries.
 */
export const CONNECTIONS = { perNode: { worker: 2, producer: 1 }, besides: { worker: 7 } }
/**
 * Messages in flight that a worker is planned with: half of LANEWAY_MAX_IN_FLIGHT. With more, busy lanes are held to equal
 * parts; and of two workers one can take all when the other dies.
 */
export const IN_FLIGHT_EACH = 3_000
/** By HTTP/2 a connection is opened ahead when so few further requests find a place (src/providers/http-agent.ts). */
const ROOM_AHEAD = 25
const SECONDS_A_DAY = 86_400
const HOURS_A_MONTH = 730

/**
 * Assumed list prices of Amazon Web Services, us-east-1, on demand, in US dollars, written down in November 2026 and not
 * compared with the price list on that day; nodes are the sizes that the formula counts with. Change them here.
 */
const PRICES = {
  /** c7g.large: 2 cores, 4 GB. */
  computeCoreHour: 0.0725 / 2,
  /** r7g.xlarge: 4 cores, 32 GB; a primary and its replica. */
  redisNodeHour: 0.2142,
  redisNodeBytes: 32 * 2 ** 30,
  copies: 2,
  /** gp3; the append-only file grows to twice the memory before it is rewritten. */
  diskGbMonth: 0.08,
  diskFactor: 3,
}

/** What `question` needs at `cost` a message. */
export function capacityOf(cost: MessageCost, question: Question): Capacity {
  const { messagesPerDay, senders, retentionDays, peakFactor, answerMs, protocol } = question
  const meanPerSecond = messagesPerDay / SECONDS_A_DAY
  const peakPerSecond = meanPerSecond * peakFactor
  const cores = (us: number): number => (peakPerSecond * us) / 1e6 / TARGET
  const sending = sendingAt(cost, protocol, answerMs)
  const [producerCores, workerCores, redisCores] = [
    cores(cost.acceptUs),
    cores(sending.workerUs),
    cores(sending.redisUs),
  ]
  const inFlight = inFlightOf(peakPerSecond, answerMs)
  const producers = Math.max(2, Math.ceil(producerCores))
  const workers = Math.max(2, Math.ceil(workerCores), Math.ceil(inFlight / IN_FLIGHT_EACH))
  const redisBytes = messagesPerDay * retentionDays * cost.recordBytes * BESIDES_RECORDS
  // One thread serves a primary: cores of Redis are primaries.
  const primaries = Math.max(1, Math.ceil(redisCores), Math.ceil(redisBytes / (PRICES.redisNodeBytes * FILLED)))
  const monthly = {
    compute: (producers + workers) * PRICES.computeCoreHour * HOURS_A_MONTH,
    redis: primaries * PRICES.copies * PRICES.redisNodeHour * HOURS_A_MONTH,
    disk: (redisBytes / 2 ** 30) * PRICES.diskFactor * PRICES.copies * PRICES.diskGbMonth,
  }
  const sum = monthly.compute + monthly.redis + monthly.disk
  return {
    meanPerSecond,
    peakPerSecond,
    sendersPerSecond: senders * SENDER_PACE,
    sendersSuffice: senders * SENDER_PACE >= peakPerSecond,
    producerCores,
    workerCores,
    redisCores,
    producers,
    workers,
    inFlight,
    providerConnections: workers * providerConnections(protocol, inFlight / workers),
    workerMb: workerMb(cost, protocol, inFlight / workers),
    isMeasured: sending.isMeasured,
    redisBytes,
    primaries,
    connections: connectionsOf({ workers, producers, primaries }),
    monthly,
    perMillion: sum / ((messagesPerDay * 30) / 1e6),
  }
}

/** Messages in flight of so many a second: Little's law. */
export const inFlightOf = (perSecond: number, answerMs: number): number => (perSecond * answerMs) / 1_000

/** Connections of one worker with so many messages in flight: by HTTP/1.1 one for each. */
export const providerConnections = (protocol: Protocol, inFlight: number): number =>
  Math.ceil(protocol === 'h1' ? inFlight : (inFlight + ROOM_AHEAD) / STREAMS)

/** Memory of a worker with so many messages in flight, MB: a line through what was measured. */
export function workerMb({ sending }: MessageCost, protocol: Protocol, inFlight: number): number | undefined {
  const points = sending.filter((each) => each.protocol === protocol)
  return lineThrough(
    points.map((each) => ({ x: each.inFlight, y: each.workerMb })),
    inFlight,
  )
}

/** CPU time of a message over the protocol: between the answer times that were measured, else as in a campaign in clear. */
export function sendingAt(
  cost: MessageCost,
  protocol: Protocol,
  answerMs: number,
): { workerUs: number; redisUs: number; isMeasured: boolean } {
  const points = cost.sending.filter((each) => each.protocol === protocol)
  const at = (value: (each: SendingCost) => number): number | undefined =>
    between(
      points.map((each) => ({ x: each.answerMs, y: value(each) })),
      answerMs,
    )
  const [workerUs, redisUs] = [at((each) => each.workerUs), at((each) => each.redisUs)]
  if (workerUs === undefined || redisUs === undefined) {
    return { workerUs: cost.workerUs, redisUs: cost.redisUs, isMeasured: false }
  }
  return { workerUs, redisUs, isMeasured: true }
}

function connectionsOf(of: { workers: number; producers: number; primaries: number }): number {
  const { perNode, besides } = CONNECTIONS
  return of.workers * (perNode.worker * of.primaries + besides.worker) + of.producers * perNode.producer * of.primaries
}
