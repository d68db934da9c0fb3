// The one way to open a BullMQ queue, to look at it or to write into it, and to ask something of it in time.
import { Queue as BullQueue } from 'bullmq'
import type { Redis } from '../redis/connect.ts'
import { RedisUnavailableError } from '../redis/errors.ts'
import { withTimeout } from '../redis/with-timeout.ts'

type Done = 'add' | 'addBulk' | 'pause' | 'resume' | 'promoteJobs' | 'remove' | 'obliterate' | 'setGlobalConcurrency'
type Asked = 'name' | 'getJob' | 'getJobs' | 'getJobCounts' | 'getJobState' | 'getRateLimitTtl'

/** What others do with a queue and ask of it. */
export type Queue<Payload = unknown> = Pick<BullQueue<Payload>, Done | Asked | 'rateLimit' | 'close'>

/** The last that BullMQ knows; the first one is 1. */
export const LAST_PRIORITY = 2_097_151

/** BullMQ cannot do without its event stream; nobody reads it, so it is kept as short as trimming allows. */
const EVENTS_KEPT = 100

/** `toLook`: the queue's settings are left to those who write into it. */
export const openQueue = openBullQueue as <Payload>(...given: Parameters<typeof openBullQueue>) => Queue<Payload>

/** The same with all that BullMQ has. */
export function openBullQueue<Payload = unknown>(
  redis: Redis,
  name: string,
  prefix: string,
  { toLook = false }: { toLook?: boolean } = {},
): BullQueue<Payload> {
  const queue = new BullQueue<Payload>(name, {
    connection: redis,
    prefix,
    streams: { events: { maxLen: EVENTS_KEPT } },
    skipMetasUpdate: toLook,
    // Otherwise a connection that breaks while the version is asked for breaks the queue for as long as the process
    // lives.
    skipVersionCheck: true,
  })
  // The connection reports its own errors once; each queue would report them again.
  queue.on('error', () => {})
  return queue
}

/** How long a queue may take before the caller is told that Redis is away. */
const LIMIT_MS = 2_500

/**
 * What is asked of a queue, or a RedisUnavailableError: BullMQ itself would wait for ever for a Redis that is away, and
 * for one that hangs as well.
 */
export async function inTime<T>(redis: Redis, ask: () => Promise<T>): Promise<T> {
  if (redis.status !== 'ready') throw new RedisUnavailableError('Redis is not connected')
  return withTimeout(LIMIT_MS, ask())
}
