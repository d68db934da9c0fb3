// Tells of a request that was refused because a limit was reached: the counter of /metrics, and the security log.
import type { IncomingMessage } from 'node:http'
import { LIMIT_OF_CODE } from '../messages/accept/limit-codes.ts'
import { Refusal } from '../messages/accept/refusal.ts'
import { type Limit, observerOf } from '../observe.ts'
import { ApiError } from './errors.ts'
import type { Gate } from './gate.ts'
import { RateError } from './rate-gate.ts'
import type { Caller } from './route.ts'

/** Does nothing where the error is another one. */
export function tellLimit(
  { security, redis, addressOf }: Gate,
  error: unknown,
  { request, requestId, caller }: { request: IncomingMessage; requestId: string; caller?: Caller },
): void {
  const limit = limitOf(error)
  if (limit === undefined) return
  observerOf(redis).refusedBy(limit)
  security.limited({ key: caller, why: limit, requestId, address: addressOf(request) })
}

function limitOf(error: unknown): Limit | undefined {
  if (error instanceof RateError) return `${error.of}_rate`
  return error instanceof ApiError || error instanceof Refusal ? LIMIT_OF_CODE.get(error.code) : undefined
}
