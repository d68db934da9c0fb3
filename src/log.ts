// The log of a process: JSON lines through pino. Message text, phone numbers and secrets never go into it, so nothing
// here redacts: callers log ids, codes and counts.
import { pino } from 'pino'
import type { Config } from './config.ts'

export type Log = pino.Logger

/** A log for one process. Lines carry `part`, so that several processes can share one output. */
export function createLog(config: Pick<Config, 'logLevel'>, part: string): Log {
  return pino({ level: config.logLevel, base: { part }, timestamp: pino.stdTimeFunctions.isoTime })
}
