// How often somebody may ask: whoever comes too often is answered 429, and everybody who has a limit is told in every
// answer how much of it is left.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientOf } from '../accounts/networks.ts'
import type { AccountLimits, InstallationLimits } from '../accounts/settings.ts'
import type { Redis } from '../redis/connect.ts'
import { ApiError } from './errors.ts'
import { tellRate } from './rate-headers.ts'
import { createLimitsOfAccounts } from './rate-limits/account-limits.ts'
import { createRates, type RateVerdict } from './rate-limits/rates.ts'
import type { Caller } from './route.ts'

/** Addresses of the service that count for nobody: probes, and webhooks, which the chat product sends as they come. */
const UNCOUNTED = /^\/(?:healthz|readyz|webhooks\/.*)(?:\?|$)/

/** Whether requests to this path count. */
export const isCounted = ({ path }: { path: string }): boolean => !UNCOUNTED.test(path)

/** A request that came too often. */
export class RateError extends ApiError {
  override name = 'RateError'
  readonly of: RateVerdict['of']

  constructor({ of, rate }: RateVerdict) {
    const whose = { key: 'this key', account: 'this account', address: 'this address' }[of]
    // A bucket of at least one a second has its next one within a second.
    super(429, 'rate_limited', `Too many requests: at most ${rate} a second for ${whose}. Try again in a second.`, {
      headers: { 'Retry-After': '1' },
    })
    this.of = of
  }
}

export type RateGate = ReturnType<typeof createRateGate>

/** The limits of a process; `addressOf` tells where a request comes from. */
export function createRateGate(
  redis: Redis,
  installation: InstallationLimits,
  addressOf: (request: IncomingMessage) => string,
) {
  const rates = createRates(redis)
  const limits = createLimitsOfAccounts(redis, installation)

  /** Counts a request for the key and the account whose limits are these. */
  function count({ id, account }: Caller, of: AccountLimits, response: ServerResponse): undefined | Promise<void> {
    const ofAccount = (): undefined | Promise<void> =>
      of.accountRate > 0 ? obey(rates.take('account', String(account), of.accountRate), response) : undefined
    const ofKey = of.keyRate > 0 ? obey(rates.take('key', id, of.keyRate), response) : undefined
    return ofKey === undefined ? ofAccount() : ofKey.then(ofAccount)
  }

  return {
    /** Counts a request for its address. Throws a RateError, or rejects with it where Redis must be asked first. */
    ofAddress(request: IncomingMessage, response: ServerResponse): undefined | Promise<void> {
      const rate = installation.addressRate
      if (rate === 0 || !isCounted({ path: request.url ?? '' })) return undefined
      return obey(rates.take('address', bucketOf(addressOf(request)), rate), response)
    },

    /** The same for its key and its account. */
    ofCaller(caller: Caller, response: ServerResponse): undefined | Promise<void> {
      const known = limits.of(caller.account)
      if (known instanceof Promise) return known.then((of) => count(caller, of, response))
      return count(caller, known, response)
    },
  }
}

function obey(verdict: RateVerdict | Promise<RateVerdict>, response: ServerResponse): undefined | Promise<void> {
  if (verdict instanceof Promise) return verdict.then((known) => obey(known, response))
  tellRate(response, verdict)
  if (!verdict.isWithin) throw rateError(verdict)
}

/** Without a stack, which says nothing here and is most of what a refusal costs: somebody who floods us must cost little. */
function rateError(verdict: RateVerdict): RateError {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return new RateError(verdict)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** An IPv4 address as it is written by everybody, which needs no second look. */
const PLAIN = /^(?:\d{1,3}\.){3}\d{1,3}$/

/** Whose bucket it is: what a proxy writes that is no address becomes part of a key all the same. */
function bucketOf(address: string): string {
  if (PLAIN.test(address)) return address
  return clientOf(address)
    .replaceAll(/[^\da-f.:]/gi, '')
    .slice(0, 45)
}
