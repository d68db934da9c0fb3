// How every process opens a BullMQ queue to look at it or to write into it.
import { Queue } from 'bullmq'
import type { Redis } from './connect.ts'

/** BullMQ cannot do without its event stream; nobody reads it, so it is kept as short as trimming allows. */
const EVENTS_KEPT = 100

/** `toLook`: the queue's settings are left to those who write into it. */
export function openQueue<Payload = unknown>(
  redis: Redis,
  name: string,
  prefix: string,
  { toLook = false }: { toLook?: boolean } = {},
): Queue<Payload> {
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix,
    streams: { events: { maxLen: EVENTS_KEPT } },
    skipMetasUpdate: toLook,
    // Otherwise a connection that breaks while the version is asked for leaves the queue unusable for good.
    skipVersionCheck: true,
  })
  // The connection reports its own errors once; each queue would report them again.
  queue.on('error', () => {})
  return queue
}
