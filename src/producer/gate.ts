// The checks that all requests of a process share: client addresses, rate limits, the reserve, delays for wrong keys, and the security
// log.
import type { IncomingMessage } from 'node:http'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { insideOf, plainAddress } from '../kernel/networks.ts'
import type { Redis } from '../redis/connect.ts'
import { createRateLimits, type RateLimits } from './rate-limits.ts'
import { createReserve, type Reserve } from './reserve.ts'
import { createSecurityLog, type SecurityLog } from './security-log.ts'
import { createWrongKeys, type WrongKeys } from './wrong-keys.ts'

/** Shared by all requests of a process. */
export interface Gate {
  redis: Redis
  security: SecurityLog
  wrongKeys: WrongKeys
  /** Rate limits. */
  rates: RateLimits
  /** The reserve of disk and memory. */
  reserve: Reserve
  /** The client address of a request. */
  addressOf: (request: IncomingMessage) => string
  /** The same, computed only when called: behind proxies it is some work. */
  addressLater: (request: IncomingMessage) => () => string
  /** Where browsers reach the service, when that is set. */
  publicUrl: string | undefined
}

type GateConfig = Pick<Config, 'trustedProxies' | 'publicUrl' | 'limits' | 'reserve' | 'dataDir'>

/** One for each process. */
export function createGate(redis: Redis, log: Log, config: GateConfig): Gate {
  const addressOf = createClientAddress(config.trustedProxies)
  return {
    redis,
    security: createSecurityLog(redis, log),
    wrongKeys: createWrongKeys(),
    rates: createRateLimits(redis, config.limits, addressOf),
    reserve: createReserve(redis, config),
    addressOf,
    addressLater: (request) => () => addressOf(request),
    publicUrl: config.publicUrl,
  }
}

/** Most entries that are read, since clients choose the length of the header. */
const HOPS_MAX = 20

/**
 * The address of a client: the other end of its connection or, behind trusted proxies, what the last of them names.
 * `X-Forwarded-For` is read from its end up to the first address that is not a trusted proxy's; everything before that the client
 * wrote itself.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = trustedProxies.length === 0 ? () => false : insideOf(trustedProxies)
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(address)) return address
    const hops = String(headers['x-forwarded-for'] ?? '').split(',')
    for (const hop of hops.slice(-HOPS_MAX).reverse()) {
      const before = plainAddress(withoutPort(hop.trim()))
      if (before === '') break
      address = before
      if (!isTrusted(address)) break
    }
    return address
  }
}

/** Some proxies append the client's port, which differs for every connection. */
const withoutPort = (hop: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? []
  return bracketed ?? plain ?? hop
}
