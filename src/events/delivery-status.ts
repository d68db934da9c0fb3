// The state of delivery, for the metrics of every process: only the relay has it.

import type { Redis } from '../redis/connect.ts'
import { rootKeys } from '../redis/keys.ts'
import { execOrThrow } from '../redis/records.ts'
import type { EndpointDelivery } from './endpoint-delivery.ts'

/** Older figures are not shown. */
const KEPT_MS = 30_000

/** Stores the figures; `nowMs` is Redis' time. */
export async function noteStatus(redis: Redis, deliveries: readonly EndpointDelivery[], nowMs: number): Promise<void> {
  const enabled = deliveries.filter(({ target }) => target.endpoint.enabled)
  const waiting = await Promise.all(deliveries.map((delivery) => delivery.waiting()))
  const since = Math.min(nowMs, ...enabled.map((delivery) => delivery.oldestWaiting() ?? nowMs))
  const status = {
    enabled: enabled.length,
    failing: enabled.filter(({ target }) => target.failures > 0).length,
    disabled: deliveries.length - enabled.length,
    retrying: waiting.reduce((sum, count) => sum + count, 0),
    oldest_seconds: Math.round((nowMs - since) / 1_000),
  }
  await execOrThrow(redis.multi().hset(rootKeys.eventStatus, status).pexpire(rootKeys.eventStatus, KEPT_MS))
}
