// The processes that a run has started, so that none outlives it: whoever starts one here ends it, or the run's own end
// does. A run that is killed (-9) cannot; parts of Laneway notice that by themselves, see test/prove/part.ts.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'

const running = new Set<ChildProcess>()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
// A signal that nobody handles ends a process without that event, as vitest ends its workers: what a test had left running
// went on, held the error output that it had been given, and kept vitest from ending.
process.on('SIGTERM', () => {
  if (process.listenerCount('SIGTERM') === 1) process.exit(143)
})

/** Starts a process that ends with this one at the latest. */
export function startChild(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options)
  running.add(child)
  child.once('exit', () => running.delete(child))
  // One that the system refuses to start has no exit.
  child.once('error', () => running.delete(child))
  return child
}

export const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Sends the signal and waits for the end; one that does not end within `limitMs` is killed. */
export async function endChild(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL', limitMs = 30_000): Promise<void> {
  if (hasEnded(child)) return
  const gone = once(child, 'exit')
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  child.kill(signal)
  await gone
  clearTimeout(limit)
}
