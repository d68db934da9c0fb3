// The security log: keys that were refused, requests that were forbidden or met a limit, and what administrators did, each one line
// with the key's id and the request's, and in the activity. Bounded: a flood of refusals must not become one of lines,
// nor push the acts out of the activity.
import type { IncomingMessage } from 'node:http'
import type { AuditEvent } from '../accounts/audit-log.ts'
import { appendToAuditLog } from '../accounts/store/audit-log.ts'
import { createLineLimit, type Log } from '../log.ts'
import { KeyRefusal } from '../messages/accept/check-key.ts'
import { LIMIT_OF_CODE, Refusal } from '../messages/accept/refusal.ts'
import { type Limit, observerOf } from '../observe.ts'
import type { Redis } from '../redis/connect.ts'
import { ApiError } from './errors.ts'
import { RateError } from './rate-limits.ts'
import type { Caller } from './route.ts'

/** Of each key and reason, the activity tells so often that it was refused. */
const REPORTED_EVERY_MS = 3_600_000
/** Keys and reasons that are remembered; beyond it all are forgotten. */
const MOST_REPORTED = 10_000

/** Who was refused, and why: a word or the permission that lacks. */
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
  const reported = new Map<string, number>()

  /** Whether the activity has not reported of it within the hour. */
  function isNews(what: string, nowMs: number): boolean {
    if (nowMs - (reported.get(what) ?? 0) < REPORTED_EVERY_MS) return false
    if (reported.size >= MOST_REPORTED) reported.clear()
    reported.set(what, nowMs)
    return true
  }

  const record = (act: AuditEvent): Promise<void> =>
    appendToAuditLog(redis, act, Date.now()).catch((error: unknown) => {
      log.warn({ action: act.action, request_id: act.requestId, err: error }, 'activity.lost')
    })

  function tell(action: string, { key, why, requestId }: Refused): void {
    if (!isNews(`${action} ${key?.id ?? ''} ${why}`, Date.now())) return
    const actor = { key_id: key?.id ?? null, key_name: key?.name ?? '' }
    // Nobody waits for it: the answer is the same.
    void record({ actor, account: key?.account ?? 0, action, detail: why, requestId })
  }

  return {
    /** A key that is unknown, expired or revoked. */
    keyRefused(refused: Refused): void {
      const dropped = lines.keys()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.key_refused')
      tell('key.refused', refused)
    },
    /** A good key that may not do this. */
    forbidden(refused: Refused): void {
      const dropped = lines.forbidden()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.forbidden')
      tell('access.refused', refused)
    },
    /** A limit was met. */
    limited(refused: Refused): void {
      const dropped = lines.limited()
      if (dropped !== undefined) log.warn({ ...lineOf(refused), dropped }, 'security.limited')
      // What comes from an address without a key is nobody's act.
      if (refused.key !== undefined) tell('limit.met', refused)
    },
    /** Something was done. Resolves once it is written down, or cannot be, which the log then tells. */
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
 * Reports a refusal that is of interest: a limit that was reached, which /metrics counts as well, a key that was turned
 * away, and what a caller may not do. Does nothing where the error is another one.
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
