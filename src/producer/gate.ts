// What stands before every request of a process: who is let in, what it costs to try keys, and what is told of it.
import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import type { Redis } from '../redis/connect.ts'
import { createClientAddress } from './client-address.ts'
import { createSecurityLog, type SecurityLog } from './security-log.ts'
import { createWrongKeys, type WrongKeys } from './wrong-keys.ts'

/** Shared by all requests of a process. */
export interface Gate {
  redis: Redis
  security: SecurityLog
  wrongKeys: WrongKeys
  /** Where a request comes from. */
  addressOf: (request: IncomingMessage) => string
  /** Where browsers reach the service, when that is set. */
  publicUrl: string | undefined
}

/** One for each process. */
export const createGate = (
  redis: Redis,
  log: Log,
  { trustedProxies, publicUrl }: Pick<Config, 'trustedProxies' | 'publicUrl'> = {
    trustedProxies: [],
    publicUrl: undefined,
  },
): Gate => ({
  redis,
  security: createSecurityLog(redis, log),
  wrongKeys: createWrongKeys(),
  addressOf: createClientAddress(trustedProxies),
  publicUrl,
})
