// Ending a child process of `npm start`: asked first, killed when it does not listen.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Ends a child with SIGTERM, after `limitMs` with SIGKILL, and resolves when it is gone. One that has ended is left. */
export async function endChild(child: ChildProcess, limitMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  const killer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  child.kill('SIGTERM')
  await gone
  clearTimeout(killer)
}
