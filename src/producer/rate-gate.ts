// How often somebody may ask: whoever comes too often is answered 429, and everybody who has a limit is told in every
// answer how much of it is left, by the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { InstallationLimits } from '../accounts/limits.ts'
import { clientOf } from '../accounts/networks.ts'
import { createLimitsOfAccounts } from '../limits/account-limits.ts'
import { createRates, type RateVerdict } from '../limits/rates.ts'
import type { Redis } from '../redis/connect.ts'
import { ApiError } from './errors.ts'
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

  return {
    /** Counts a request for its address. Throws a RateError, or rejects with it where Redis must be asked first. */
    ofAddress(request: IncomingMessage, response: ServerResponse): undefined | Promise<void> {
      const rate = installation.addressRate
      if (rate === 0 || !isCounted({ path: request.url ?? '' })) return undefined
      const verdict = rates.take('address', bucketOf(addressOf(request)), rate)
      if (verdict instanceof Promise) return verdict.then((known) => obey(known, response))
      return obey(verdict, response)
    },

    /** The same for its key and its account. */
    ofCaller(caller: Caller, response: ServerResponse): undefined | Promise<void> {
      const { id, account } = caller
      const known = limits.of(account)
      if (known instanceof Promise || known.keyRate > 0 || known.accountRate > 0) return count()
      return undefined

      async function count(): Promise<void> {
        const { keyRate, accountRate } = await known
        if (keyRate > 0) obey(await rates.take('key', id, keyRate), response)
        if (accountRate > 0) obey(await rates.take('account', String(account), accountRate), response)
      }
    },
  }
}

function obey(verdict: RateVerdict, response: ServerResponse): undefined {
  const { of, rate, left, isWithin } = verdict
  if (!response.headersSent) {
    list(response, 'RateLimit-Policy', `"${of}";q=${rate};w=1`)
    list(response, 'RateLimit', `"${of}";r=${isWithin ? left : 0};t=1`)
  }
  if (!isWithin) throw new RateError(verdict)
}

/** One more of a list, in one line: Node takes several times as long to write a header of many lines. */
function list(response: ServerResponse, name: string, item: string): void {
  const before = response.getHeader(name)
  response.setHeader(name, before === undefined ? item : `${before}, ${item}`)
}

/** Whose bucket it is: what a proxy writes that is no address becomes part of a key all the same. */
const bucketOf = (address: string): string =>
  clientOf(address)
    .replaceAll(/[^\da-f.:]/gi, '')
    .slice(0, 45)
