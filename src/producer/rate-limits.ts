// Rate limits: 429 for requests that exceed them, and the remaining quota in every answer (rate-headers.ts). The counters are in Redis,
// so that a limit holds over all producers: rate-limiter-flexible counts in windows of a second. Refusals need no Redis, since a reached
// limit is cached until its window ends.
//
// Without Redis each producer applies the rate by itself: an outage of the counters must not shut everybody out, and requests that need
// Redis get 503 anyway.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { accountLimits, limitsOf } from '../accounts/accounts.ts'
import { clientOf } from '../kernel/networks.ts'
import type { AccountLimits, InstallationLimits } from '../model/accounts/limits.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { rateKey } from '../redis/keys.ts'
import { ApiError } from './errors.ts'
import { noteRate } from './rate-headers.ts'
import type { Caller } from './route.ts'

/** What requests are counted by. */
type RateOf = 'key' | 'account' | 'address'

/** Whether a request is within its limit, and the remaining quota. */
interface RateVerdict {
  of: RateOf
  isWithin: boolean
  rate: number
  left: number
}

/** Paths that are not counted: probes, and webhooks, which WhatsApp sends as they come. */
const UNCOUNTED = /^\/(?:healthz|readyz|webhooks\/.*)(?:\?|$)/

/** Whether requests to this path count. */
export const isCounted = ({ path }: { path: string }): boolean => !UNCOUNTED.test(path)

/** A request above its limit. */
export class RateError extends ApiError {
  override name = 'RateError'
  readonly of: RateOf

  constructor({ of, rate }: RateVerdict) {
    const whose = { key: 'this key', account: 'this account', address: 'this address' }[of]
    super(429, 'rate_limited', `Too many requests: at most ${rate} a second for ${whose}. Try again in a second.`, {
      headers: { 'Retry-After': '1' },
    })
    this.of = of
  }
}

/**
 * The counter of the current window, and how long it lasts. The library's own script trusts the expiry of the key, which
 * becomes hours when Redis' clock is set back.
 */
const COUNT = `
  redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
  local consumed = redis.call('INCRBY', KEYS[1], ARGV[1])
  local ttl = redis.call('PTTL', KEYS[1])
  if ttl < 0 or ttl > ARGV[2] * 1000 then
    redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
    consumed, ttl = tonumber(ARGV[1]), ARGV[2] * 1000
  end
  return {consumed, ttl}
`

/** Counts requests against a rate; how one producer sees the counters. */
export function createRates(redis: Redis) {
  const limiters = new Map<number, RateLimiterRedis>()
  function limiterFor(rate: number): RateLimiterRedis {
    const known = limiters.get(rate)
    if (known !== undefined) return known
    const limiter = new RateLimiterRedis({
      ...{ storeClient: redis, keyPrefix: '', points: rate, duration: 1 },
      ...{ inMemoryBlockOnConsumed: rate, customIncrTtlLuaScript: COUNT },
      insuranceLimiter: new RateLimiterMemory({ points: rate, duration: 1 }),
    })
    limiters.set(rate, limiter)
    return limiter
  }

  return {
    /** Counts a request against `rate` (more than 0) requests a second. */
    async take(of: RateOf, who: string, rate: number): Promise<RateVerdict> {
      const { isWithin, left } = await consume(limiterFor(rate), rateKey(of, who))
      return { of, isWithin, rate, left }
    },
  }
}

/** Takes one request off what is left. Also when it is refused, its answer says how long the window lasts. */
export async function consume(
  limiter: RateLimiterRedis | RateLimiterMemory,
  key: string,
): Promise<{ isWithin: boolean; left: number; waitMs: number }> {
  try {
    return { isWithin: true, left: (await limiter.consume(key)).remainingPoints, waitMs: 0 }
  } catch (refused) {
    if (!(refused instanceof RateLimiterRes)) throw refused
    return { isWithin: false, left: 0, waitMs: refused.msBeforeNext }
  }
}

export type RateLimits = ReturnType<typeof createRateLimits>

/** The limits of a process; `addressOf` returns the client address of a request. */
export function createRateLimits(
  redis: Redis,
  installation: InstallationLimits,
  addressOf: (request: IncomingMessage) => string,
) {
  const rates = createRates(redis)

  async function obey(of: RateOf, who: string, rate: number, response: ServerResponse): Promise<void> {
    const verdict = await rates.take(of, who, rate)
    noteRate(response, verdict)
    if (!verdict.isWithin) throw new RateError(verdict)
  }
  /** An operator that acts for nobody has no account; limits that cannot be read are the installation's. */
  const limitsFor = async (account: number): Promise<AccountLimits> =>
    account === NO_ACCOUNT
      ? { ...installation, accountRate: 0 }
      : accountLimits(redis, account, installation).catch(() => limitsOf(undefined, installation))

  return {
    /** Counts a request for its address, and rejects with a RateError. Undefined where addresses have no limit. */
    ofAddress(request: IncomingMessage, response: ServerResponse): undefined | Promise<void> {
      const rate = installation.addressRate
      if (rate === 0 || !isCounted({ path: request.url ?? '' })) return undefined
      return obey('address', bucketOf(addressOf(request)), rate, response)
    },

    /** The same for its key and its account. */
    async ofCaller({ id, account }: Caller, response: ServerResponse): Promise<void> {
      const { keyRate, accountRate } = await limitsFor(account)
      if (keyRate > 0) await obey('key', id, keyRate, response)
      if (accountRate > 0) await obey('account', String(account), accountRate, response)
    },
  }
}

/** The name of its counter. It becomes part of a Redis key, and a proxy may write anything as an address. */
const bucketOf = (address: string): string =>
  clientOf(address)
    .replaceAll(/[^\da-f.:]/gi, '')
    .slice(0, 45)
