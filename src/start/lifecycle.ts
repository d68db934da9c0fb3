// The life of a process: parts are started in order and stopped in reverse, whatever moment the stop comes at.
//
//   first SIGINT or SIGTERM, or the npm that started us is gone   stop every part, last one first, exit 0
//   second signal, or the stop takes too long                     exit at once, not 0; `abandon` of what still runs
//   an error that nobody caught                                   logged once; stop every part, exit 1 or `afterFault`
//   a warning of Node                                             logged
import { spawn } from 'node:child_process'
import { environmentWith } from '../kernel/config.ts'
import { createLineLimit, type Log } from '../kernel/log.ts'

/** Below the 20 s that a stop may take in all. */
const STOP_LIMIT_MS = 19_000
/** How soon the death of npm is noticed; reading the parent's id is one system call. */
const PARENT_CHECK_MS = 250
/** One Ctrl-C comes twice: from the terminal to the whole process group, and from npm, which passes its own one on. */
const SAME_SIGNAL_MS = 500
/** One error can throw again at each request until the stop is through. */
const FAULTS_LOGGED = 5
/** A process that lived shorter would only fall over again, and again. */
const LIVED_SECONDS = 60
/** Exit code of a process that a person interrupted: 128 + SIGINT. */
const INTERRUPTED = 130

/** Thrown out of `start` when a stop came in between; nobody needs to know. */
export class StopRequested extends Error {
  override name = 'StopRequested'
}

/** How a part ends. */
export interface Ending {
  /** Called when a stop begins, whatever else is still to be stopped. */
  announce?: () => void
  stop: () => unknown
  /** Called at exit when `stop` did not get to finish. Cannot wait for anything. */
  abandon?: () => void
}

export type Lifecycle = ReturnType<typeof createLifecycle>

/**
 * Listens for the signals and for errors that nobody caught from now on. `parent`: the process whose end ends us, 0 for
 * none. `afterFault` is called in place of the exit when such an error has stopped every part, and must end the process.
 */
export function createLifecycle(log: Log, parent: number, afterFault?: () => void) {
  const parts: (Ending & { name: string })[] = []
  let starting: Promise<unknown> = Promise.resolve()
  const stopSignal = new AbortController()
  let stopping = false
  let stopBeganMs = 0
  let faults = 0

  async function stop(reason: string, exitCode: number, end: () => void = () => process.exit(exitCode)): Promise<void> {
    if (stopping) return
    stopping = true
    stopBeganMs = Date.now()
    stopSignal.abort()
    log.info({ reason }, 'stop.began')
    const limit = setTimeout(() => {
      log.error({ waiting_for: parts.at(-1)?.name }, 'stop.took_too_long')
      process.exit(1)
    }, STOP_LIMIT_MS).unref()
    for (const part of parts) part.announce?.()
    await starting.catch(() => undefined)
    for (let part = parts.at(-1); part !== undefined; part = parts.at(-1)) {
      try {
        await part.stop()
      } catch (error) {
        log.error({ part: part.name, err: error }, 'stop.failed')
      }
      parts.pop()
    }
    clearTimeout(limit)
    end()
  }

  /** Nobody can know what such an error has left half done, so nothing new is begun on it: others take over. */
  function fault(error: unknown): void {
    if (faults >= FAULTS_LOGGED) return
    faults += 1
    log.fatal({ err: error instanceof Error ? error : new Error(String(error)) }, 'process.fault')
    void stop('an error that nobody caught', 1, afterFault)
  }

  // The reader of our output may be gone; that is no reason to end without stopping.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping && Date.now() - stopBeganMs > SAME_SIGNAL_MS) process.exit(INTERRUPTED)
      void stop(signal, 0)
    })
  }
  logWarnings(log)
  process.on('uncaughtException', fault)
  process.on('unhandledRejection', fault)
  if (parent !== 0) {
    // A closed terminal kills npm; the check below then stops us cleanly, where the signal itself would kill us.
    process.on('SIGHUP', () => undefined)
    setInterval(() => {
      if (process.ppid !== parent) void stop('the npm that started this process is gone', 0)
    }, PARENT_CHECK_MS).unref()
  }
  process.on('exit', () => {
    for (const part of parts.reverse()) part.abandon?.()
  })

  return {
    /** Calls back when a stop begins: for a start that may wait for something that does not come. */
    onStop(begun: () => void): void {
      stopSignal.signal.addEventListener('abort', begun)
    },
    /** Starts a part and remembers how to stop it. */
    async start<T>(name: string, begin: () => Promise<T>, end: (part: T) => Ending): Promise<T> {
      if (stopping) throw new StopRequested()
      const begun = begin()
      starting = begun.then((part) => parts.push({ name, ...end(part) }))
      await starting
      if (stopping) throw new StopRequested()
      return begun
    },
    /** Stops every part, then ends the process. Stopping twice is stopping once. */
    stop,
  }
}

/** Logs what Node warns of, which it would print as text between the lines of JSON. */
function logWarnings(log: Log): void {
  const mayLog = createLineLimit()
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    const dropped = mayLog()
    if (dropped !== undefined) log.warn({ err: warning, ...(dropped > 0 && { dropped }) }, 'process.warning')
  })
}

/**
 * `npm start` after an uncaught error: every part has been stopped, and a fresh process takes over with the same command.
 * This one stays as its parent, passing signals on, because npm or the terminal waits for it; it ends with the exit code of
 * the new one, or with 1 when it has only just begun to live itself.
 */
export function restartProcess(parent: number, say: (line: string) => void): void {
  if (process.uptime() < LIVED_SECONDS) {
    say(
      'Laneway stopped because of an internal error, too soon after its start to be restarted; process.fault in the log',
    )
    say('above has the cause. Nothing that was accepted is lost: start it with npm start.')
    process.exit(1)
  }
  say('Laneway stopped because of an internal error (process.fault in the log above) and is restarting.')
  // With npm's variable set it ends by itself when this process is gone, however that happened.
  const env = environmentWith({ npm_lifecycle_event: 'start' })
  const next = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.removeAllListeners(signal)
    process.on(signal, () => next.kill(signal))
  }
  if (parent !== 0) {
    setInterval(() => {
      if (process.ppid !== parent) next.kill('SIGTERM')
    }, PARENT_CHECK_MS).unref()
  }
  next.on('error', (error) => {
    say(`Laneway could not start again: ${error.message}`)
    process.exit(1)
  })
  next.on('exit', (code) => process.exit(code ?? 1))
}
