// What an installation needs, from what one message costs. Pure: figures in, sizes out; docs/scale.md has the formula in
// words.

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
}

export interface Question {
  messagesPerDay: number
  /** Numbers to send from; each sends at its own pace. */
  senders: number
  retentionDays: number
  /** Busiest hour against the mean of the day. A day's work within eight hours, uneven, is about 5. */
  peakFactor: number
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
  /** What is kept, bytes, and the primaries that hold it and keep up with it. */
  redisBytes: number
  primaries: number
  /** Most connections to Redis in all. */
  connections: number
  /** US dollars a month, and for a million messages. */
  monthly: { compute: number; redis: number; disk: number }
  perMillion: number
}

/** What the chat product lets a number send a second, unless it has raised it. */
export const SENDER_PACE = 80
/** Of a core's time that is planned with: beyond it waits grow. */
export const TARGET = 0.6
/** Of a node's memory that may be filled: rewriting its append-only file takes a part of the rest. */
export const FILLED = 0.6
/** Memory of Redis besides records: campaigns, index, history, queues. Measured share, `npm run bench -- campaign find`. */
const BESIDES_RECORDS = 1.15
/**
 * Connections of a worker and of a producer to each primary; of each besides, a worker's that block on the queues of no
 * lane; and of a lane with work. Counted with one and with three primaries.
 */
const CONNECTIONS = { perNode: { worker: 2, producer: 1 }, besides: { worker: 8, producer: 1 }, perLane: 2 }
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
  const { messagesPerDay, senders, retentionDays, peakFactor } = question
  const meanPerSecond = messagesPerDay / SECONDS_A_DAY
  const peakPerSecond = meanPerSecond * peakFactor
  const cores = (us: number): number => (peakPerSecond * us) / 1e6 / TARGET
  const [producerCores, workerCores, redisCores] = [cores(cost.acceptUs), cores(cost.workerUs), cores(cost.redisUs)]
  const producers = Math.max(2, Math.ceil(producerCores))
  const workers = Math.max(2, Math.ceil(workerCores))
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
    redisBytes,
    primaries,
    connections: connectionsOf({ workers, producers, primaries, senders }),
    monthly,
    perMillion: sum / ((messagesPerDay * 30) / 1e6),
  }
}

function connectionsOf(of: { workers: number; producers: number; primaries: number; senders: number }): number {
  const { perNode, besides, perLane } = CONNECTIONS
  return (
    of.workers * (perNode.worker * of.primaries + besides.worker) +
    of.producers * (perNode.producer * of.primaries + besides.producer) +
    perLane * of.senders
  )
}
