// The log of a process: JSON lines through pino, or on a terminal lines for people. Message text, phone numbers and secrets never go into it: callers log
// ids, codes and counts, and of an error only what is safe goes in.
import debug from 'debug'
import { pino } from 'pino'
import type { Config } from './config.ts'
import { createLogOutput } from './log-output.ts'
import { prettyLine } from './log-pretty.ts'
import { traceOfLog } from './tracing.ts'

export type Log = pino.Logger

/** A log for one process. Lines carry `part`, so that several processes can share one output. */
export function createLog(config: Pick<Config, 'logLevel'>, part: string): Log {
  // With DEBUG set, libraries would print what they send to Redis, numbers and texts included.
  debug.disable()
  const timestamp = pino.stdTimeFunctions.isoTime
  const serializers = { err: loggedError }
  const options = { level: config.logLevel, base: { part }, timestamp, serializers, mixin: traceOfLog }
  if (config.logLevel === 'silent') return pino(options, { write: () => undefined })
  // Node sets it to not block when it opens it.
  const { fd, isTTY } = process.stdout
  const output = createLogOutput(fd, (lines) => log.warn({ lines }, 'log.dropped'))
  const hasColours = isTTY && process.stdout.hasColors()
  const log: Log = pino(options, isTTY ? { write: (line) => output.write(prettyLine(line, hasColours)) } : output)
  return log
}

/**
 * What is logged of an error. Not its other fields: an error of ioredis holds the command that failed with all its
 * arguments, so a full Redis would write numbers and texts of the messages it refuses into the log.
 */
export function loggedError(error: Error): object {
  const { type, message, stack, code } = pino.stdSerializers.err(error)
  return { type, message, stack, ...(code === undefined ? {} : { code }) }
}
