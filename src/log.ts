// The log of a process: JSON lines through pino. Message text, phone numbers and secrets never go into it: callers log
// ids, codes and counts, and of an error only what is safe goes in.
import { pino } from 'pino'
import type { Config } from './config.ts'

export type Log = pino.Logger

/** A log for one process. Lines carry `part`, so that several processes can share one output. */
export function createLog(config: Pick<Config, 'logLevel'>, part: string): Log {
  const output = pino.destination({ dest: 1, sync: true })
  // A closed terminal answers EIO. Pino forgives EPIPE only: every other error ended the process, and at its exit pino
  // tried to write the rest again, for ever.
  output.on('error', () => Object.assign(output, { write: nothing, flushSync: nothing, end: nothing }))
  const timestamp = pino.stdTimeFunctions.isoTime
  return pino({ level: config.logLevel, base: { part }, timestamp, serializers: { err: loggedError } }, output)
}

/**
 * What is logged of an error. Not its other fields: an error of ioredis holds the command that failed with all its
 * arguments, so a full Redis would write numbers and texts of the messages it refuses into the log.
 */
export function loggedError(error: Error): object {
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  return { type, message, stack, ...(code === undefined ? {} : { code }) }
}

const nothing = (): void => undefined
