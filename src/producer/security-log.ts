// The security log: refused keys, forbidden requests, reached limits, and acts of administrators. Each is one line with the ids of the key
// and the request, and an entry of the audit log. Bounded: a flood of refusals must neither flood the log, nor push acts out of the audit
// log.
import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import { appendToAuditLog } from '../accounts/audit-log.ts'
import { KeyRefusal } from '../accounts/check-key.ts'
import { createLineLimit, type Log } from '../kernel/log.ts'
import { mostEntries } from '../kernel/most-entries.ts'
import { LIMIT_OF_CODE, type Limit, Refusal } from '../kernel/refusal.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import type { AuditEvent } from '../model/accounts/audit-log.ts'
import type { Redis } from '../redis/connect.ts'
import { observerOf } from '../redis/observe.ts'
import { ApiError } from './errors.ts'
import { RateError } from './rate-limits.ts'
import type { Caller } from './route.ts'

/** The audit log gets the same refusal of a key this often. */
const REPORTED_EVERY_MS = HOUR_MS
/** Pairs of key and reason in the cache. */
const MOST_REPORTED = 10_000

/** Who was refused, and why: a word, or the missing permission. */
export interface Refused {
  key: { id: string; name: string; account: number } | undefined
  why: string
  requestId: string
  /** Where the request came from. */
  address: string
}

export type SecurityLog = ReturnType<typeof createSecurityLog>

/** The security log of a process. */
export function createSecurityLog(redis: Redis, log: Log) {
  const lines = {
    keys: createLineLimit(),
    forbidden: createLineLimit(),
    limited: createLineLimit(),
    acts: createLineLimit(),
  }
  /** Entries that the audit log got within the hour. */
  const reported = new LRUCache<string, true>({
    ...mostEntries(MOST_REPORTED),
    ttl: REPORTED_EVERY_MS,
    perf: performance,
  })

  const record = (act: AuditEvent): Promise<void> =>
    appendToAuditLog(redis, act, Date.now()).catch((error: unknown) => {
      log.warn({ action: act.action, request_id: act.requestId, err: error }, 'activity.lost')
    })

  function report(action: string, { key, why, requestId }: Refused): void {
    const what = `${action} ${key?.id ?? ''} ${why}`
    if (reported.has(what)) return
    reported.set(what, true)
    const actor = { key_id: key?.id ?? null, key_name: key?.name ?? '' }
    // Not awaited: the answer is the same.
    void record({ actor, account: key?.account ?? 0, action, detail: why, requestId })
  }

  return {
    /** A key that is unknown, expired or revoked. */
    keyRefused(refused: Refused): void {
      const dropped = lines.keys()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.key_refused')
      report('key.refused', refused)
    },
    /** A good key that may not do this. */
    forbidden(refused: Refused): void {
      const dropped = lines.forbidden()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.forbidden')
      report('access.refused', refused)
    },
    /** A limit was reached. */
    limited(refused: Refused): void {
      const dropped = lines.limited()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.limited')
      // Without a key there is no actor.
      if (refused.key !== undefined) report('limit.met', refused)
    },
    /** Records an act. Resolves once it is in the audit log, or a log line says that it could not be written. */
    async appendAudit(act: AuditEvent): Promise<void> {
      const dropped = lines.acts()
      if (dropped !== undefined) {
        const { actor, requestId, ...what } = act
        log.info({ ...actor, ...what, request_id: requestId, dropped }, 'security.act')
      }
      await record(act)
    },
  }
}

const lineOf = ({ key, why, requestId, address }: Refused): object => ({
  key_id: key?.id ?? null,
  account: key?.account ?? null,
  why,
  address,
  request_id: requestId,
})

interface Reporting {
  security: SecurityLog
  redis: Redis
  addressOf: (request: IncomingMessage) => string
}

/**
 * Logs a refusal: a reached limit, which /metrics counts as well, a refused key, a forbidden request. Ignores any other error.
 */
export function reportRefusal(
  { security, redis, addressOf }: Reporting,
  error: unknown,
  { request, requestId, caller }: { request: IncomingMessage; requestId: string; caller?: Caller },
): void {
  const refused = (key: Refused['key'], why: string): Refused => ({ key, why, requestId, address: addressOf(request) })
  const limit = limitOf(error)
  if (limit !== undefined) {
    observerOf(redis).refusedBy(limit)
    security.limited(refused(caller, limit))
  } else if (error instanceof KeyRefusal) {
    security[error.kind === 'unauthorized' ? 'keyRefused' : 'forbidden'](refused(error.key, error.why))
  } else if (error instanceof ApiError && error.code === 'bad_signature') {
    security.keyRefused(refused(undefined, error.code))
  } else if (error instanceof ApiError && error.status === 403) {
    security.forbidden(refused(caller, error.code))
  }
}

function limitOf(error: unknown): Limit | undefined {
  if (error instanceof RateError) return `${error.of}_rate`
  return error instanceof ApiError || error instanceof Refusal ? LIMIT_OF_CODE.get(error.code) : undefined
}
