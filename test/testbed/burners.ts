// Processes that compute all the time: a machine that does other things too.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Starts so many; `stop` resolves once all of them are gone. They end with this process as well. */
export function startBurners(count: number): { stop: () => Promise<void> } {
  // It computes in stretches, so that it notices when whoever started it has died.
  const code = 'const parent = process.ppid; while (process.ppid === parent) for (let i = 0; i < 1e8; i += 1);'
  const running = Array.from({ length: count }, () => spawn(process.execPath, ['-e', code], { stdio: 'ignore' }))
  const stop = async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  return { stop: async () => void (await Promise.all(running.map(stop))) }
}
