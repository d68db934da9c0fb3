// What stands before every request of a process: who is let in, what it costs to try keys, and what is told of it.
import type { IncomingMessage } from 'node:http'
import type { Log } from '../log.ts'
import type { Redis } from '../redis/connect.ts'
import { createSecurityLog, type SecurityLog } from './security-log.ts'

/** Shared by all requests of a process. */
export interface Gate {
  redis: Redis
  security: SecurityLog
  /** Where a request comes from. */
  addressOf: (request: IncomingMessage) => string
}

/** One for each process. */
export const createGate = (redis: Redis, log: Log): Gate => ({
  redis,
  security: createSecurityLog(redis, log),
  addressOf: ({ socket }) => socket.remoteAddress ?? '',
})
