// How telling stands, for the metrics of every process: only the relay knows.
import type { Redis } from '../../../redis/connect.ts'
import { rootKeys } from '../../../redis/keys.ts'
import { execOrThrow } from '../../../redis/transaction.ts'
import type { Telling } from './telling.ts'

/** What was true a while ago is not told as if it still were. */
const KEPT_MS = 30_000

/** Writes it down; `nowMs` is Redis' time. */
export async function noteStatus(redis: Redis, tellings: readonly Telling[], nowMs: number): Promise<void> {
  const enabled = tellings.filter(({ target }) => target.endpoint.enabled)
  const waiting = await Promise.all(tellings.map((telling) => telling.waiting()))
  const since = Math.min(nowMs, ...enabled.map((telling) => telling.oldestWaiting() ?? nowMs))
  const status = {
    enabled: enabled.length,
    failing: enabled.filter(({ target }) => target.failures > 0).length,
    disabled: tellings.length - enabled.length,
    retrying: waiting.reduce((sum, count) => sum + count, 0),
    oldest_seconds: Math.round((nowMs - since) / 1_000),
  }
  await execOrThrow(redis.multi().hset(rootKeys.eventStatus, status).pexpire(rootKeys.eventStatus, KEPT_MS))
}
