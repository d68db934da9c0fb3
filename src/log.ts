// The log of a process: JSON lines through pino. Message text, phone numbers and secrets never go into it, so nothing
// here redacts: callers log ids, codes and counts.
import { pino } from 'pino'
import type { Config } from './config.ts'

export type Log = pino.Logger

/** A log for one process. Lines carry `part`, so that several processes can share one output. */
export function createLog(config: Pick<Config, 'logLevel'>, part: string): Log {
  const output = pino.destination({ dest: 1, sync: true })
  // A closed terminal answers EIO. Pino forgives EPIPE only: every other error ended the process, and at its exit pino
  // tried to write the rest again, for ever.
  output.on('error', () => Object.assign(output, { write: nothing, flushSync: nothing, end: nothing }))
  return pino({ level: config.logLevel, base: { part }, timestamp: pino.stdTimeFunctions.isoTime }, output)
}

const nothing = (): void => undefined
