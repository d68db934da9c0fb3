// The log of a process: JSON lines through pino to standard output, readable lines on a terminal. It never blocks on its reader: a
// slow or stopped one would block the event loop, and the locks of all work in progress would lapse.
//
// Message text, phone numbers and secrets never go into it: callers log ids, codes and counts, and of an error only the safe
// parts are written.
import { writeSync } from 'node:fs'
import { pino } from 'pino'
import type { Config } from './config.ts'
import { traceOfLog } from './tracing.ts'

/** Characters that wait for the reader at most; further lines are dropped and counted. */
const MOST_HELD = 1024 * 1024
const TRY_AGAIN_MS = 20
/** How long the exit waits for a reader that reads nothing, and for a slow one. */
const NO_READER_MS = 500
const SLOW_READER_MS = 2_000

export type Log = pino.Logger

/** A log for one process. Lines carry `part`, so that several processes can share one output. */
export function createLog(config: Pick<Config, 'logLevel'>, part: string): Log {
  const timestamp = pino.stdTimeFunctions.isoTime
  const serializers = { err: loggedError }
  const options = { level: config.logLevel, base: { part }, timestamp, serializers, mixin: traceOfLog }
  if (config.logLevel === 'silent') return pino(options, { write: () => undefined })
  // Node makes it non-blocking when it opens it.
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

/** Where pino writes its lines. Never blocks and never throws. */
interface LogOutput {
  write(line: string): void
}

/**
 * An output on a non-blocking file descriptor, as standard output is once Node has opened it for a pipe. Terminals and files
 * are written synchronously. `dropped` is called with the number of dropped lines once the reader goes on.
 */
function createLogOutput(fd: number, dropped: (lines: number) => void): LogOutput {
  const held: string[] = []
  let heldLength = 0
  let droppedLines = 0
  /** The rest of the current line, which the system has not taken yet. */
  let begun: Buffer | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let writtenBytes = 0

  /** Writes as much as the system takes; false when something is left. */
  function pump(): boolean {
    while (!isClosed) {
      if (begun === undefined) {
        const line = held.shift()
        if (line === undefined) return true
        heldLength -= line.length
        begun = Buffer.from(line)
      }
      try {
        const written = writeSync(fd, begun)
        writtenBytes += written
        begun = written < begun.length ? begun.subarray(written) : undefined
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return false
        // A closed terminal answers EIO, a closed pipe EPIPE: nobody will ever read this.
        isClosed = true
      }
    }
    return true
  }

  function later(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      if (!pump()) return later()
      const lines = droppedLines
      droppedLines = 0
      if (lines > 0 && !isClosed) dropped(lines)
    }, TRY_AGAIN_MS).unref()
  }

  // Runs at any exit but by SIGKILL. Nothing can be awaited here.
  process.on('exit', () => {
    const end = performance.now() + SLOW_READER_MS
    let taken = writtenBytes
    let takenAt = performance.now()
    while (!pump()) {
      const now = performance.now()
      if (writtenBytes > taken) [taken, takenAt] = [writtenBytes, now]
      if (now > end || now > takenAt + NO_READER_MS) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_AGAIN_MS)
    }
  })

  return {
    write(line) {
      if (isClosed) return
      if (heldLength + line.length > MOST_HELD) {
        droppedLines += 1
        return
      }
      held.push(line)
      heldLength += line.length
      if (timer === undefined && !pump()) later()
    },
  }
}

const LEVELS: Readonly<Record<number, readonly [word: string, colour: number]>> = {
  20: ['DEBUG', 90],
  30: ['INFO', 32],
  40: ['WARN', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
}
const DIM = 90

/**
 * A line of the log for a person at a terminal; one that is no JSON object stays as it is.
 *
 *   03:12:44.123 WARN  laneway lane.cooldown lane=3 code=timeout failures=2
 */
export function prettyLine(line: string, hasColours: boolean): string {
  const fields = parse(line)
  if (fields === undefined) return line
  const { level, time, part, msg, err, ...rest } = fields
  const paint = (text: string, colour: number): string => (hasColours ? `\u001b[${colour}m${text}\u001b[0m` : text)
  const [word, colour] = LEVELS[Number(level)] ?? [String(level), DIM]
  const pairs = Object.entries(rest).map(([name, value]) => `${paint(`${name}=`, DIM)}${shown(value)}`)
  const head = [
    paint(String(time).slice(11, 23), DIM),
    paint(word.padEnd(5), colour),
    shown(part),
    shown(msg),
    ...pairs,
  ]
  return `${head.join(' ')}\n${stackOf(err)}`
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const fields: unknown = JSON.parse(line)
    return typeof fields === 'object' && fields !== null ? { ...fields } : undefined
  } catch {
    return undefined
  }
}

/** A word as it is, everything else as JSON: no logged value can move the cursor. */
const shown = (value: unknown): string =>
  typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : (JSON.stringify(value) ?? '')

/** The stack of an error below its line, without control characters. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const stack = 'stack' in error ? error.stack : 'message' in error ? error.message : ''
  if (typeof stack !== 'string' || stack === '') return ''
  const lines = stack.split('\n').map((each) => `    ${each.replace(/\p{Cc}/gu, ' ')}`)
  return `${lines.join('\n')}\n`
}

/** Lines of one kind that clients may cause in a second. */
const LINES_A_SECOND = 20

/**
 * Limits the lines of one kind. Called before each line: undefined if there were enough this second, else how many were
 * dropped since the last one.
 */
export function createLineLimit(most = LINES_A_SECOND, clock = () => performance.now()): () => number | undefined {
  let since = Number.NEGATIVE_INFINITY
  let written = 0
  let dropped = 0
  return () => {
    const now = clock()
    if (now - since >= 1_000) {
      since = now
      written = 0
    }
    if (written >= most) {
      dropped += 1
      return undefined
    }
    written += 1
    const left = dropped
    dropped = 0
    return left
  }
}
