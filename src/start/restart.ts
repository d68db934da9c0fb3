// `npm start` after an error that nobody caught: every part has been stopped in order, and a fresh process takes over.
// This one stays behind as its parent with nothing left in it but signals, because npm, or the terminal, waits for it.
import { spawn } from 'node:child_process'
import { environmentWith } from '../config.ts'

/** A process that lived shorter would only fall over again, and again. */
const LIVED_SECONDS = 60
/** How soon the death of npm is noticed. */
const PARENT_CHECK_MS = 250

/** Runs the same command again and ends with its exit code; ends with 1 when this process has just begun to live. */
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
