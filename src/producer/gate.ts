// What stands before every request of a process: who is let in and how often, whether there is room for it, what it costs
// to try keys, and what is told of it.
import type { IncomingMessage } from 'node:http'
import { UNLIMITED } from '../accounts/settings.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Redis } from '../redis/connect.ts'
import { createClientAddress } from './client-address.ts'
import { createRateLimits, createWrongKeys, type RateLimits, type WrongKeys } from './rate-limits.ts'
import { createReserve, type Reserve } from './reserve.ts'
import { createSecurityLog, type SecurityLog } from './security-log.ts'

/** Shared by all requests of a process. */
export interface Gate {
  redis: Redis
  security: SecurityLog
  wrongKeys: WrongKeys
  /** How often somebody may ask. */
  rates: RateLimits
  /** Whether there is room for what takes much of it. */
  reserve: Reserve
  /** Where a request comes from. */
  addressOf: (request: IncomingMessage) => string
  /** Where browsers reach the service, when that is set. */
  publicUrl: string | undefined
}

/** What of the settings it takes. */
type GateConfig = Pick<Config, 'trustedProxies' | 'publicUrl' | 'limits' | 'reserve' | 'dataDir'>

/** Nothing is limited. */
const OPEN: GateConfig = {
  trustedProxies: [],
  publicUrl: undefined,
  limits: UNLIMITED,
  reserve: { diskBytes: 0, redisPercent: 0 },
  dataDir: '',
}

/** One for each process. */
export function createGate(redis: Redis, log: Log, config: GateConfig = OPEN): Gate {
  const addressOf = createClientAddress(config.trustedProxies)
  return {
    redis,
    security: createSecurityLog(redis, log),
    wrongKeys: createWrongKeys(),
    rates: createRateLimits(redis, config.limits, addressOf),
    reserve: createReserve(redis, config),
    addressOf,
    publicUrl: config.publicUrl,
  }
}
