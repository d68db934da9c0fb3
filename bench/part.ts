// A part of Laneway as its own process, started the way `npm run producer` and `npm run worker` start it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { environmentWith } from '../src/kernel/config.ts'
import { NODE_FLAGS, WORKER_FLAGS } from './child.ts'
import type { Closing } from './closing.ts'

/** The copy of dist/ beside the compiled bench, see scripts/run-aside.mjs. */
export const dist = new URL('../../dist/', import.meta.url)

export interface Part {
  pid: number
  stop(): Promise<void>
}

export function startPart(
  script: string,
  settings: Record<string, string>,
  closing: Closing,
  nodeFlags: readonly string[] = [],
  build = fileURLToPath(dist),
): Part {
  const flags = [...(script === 'start/worker.js' ? WORKER_FLAGS : NODE_FLAGS), ...nodeFlags]
  const child = spawn(process.execPath, [...flags, join(build, script)], {
    env: environmentWith(settings),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const stop = () => endProcess(child)
  closing.add(stop)
  return { pid: child.pid ?? 0, stop }
}

/** Asks a process to end and waits. */
export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

/** Asks until the answer is yes. Throws when it has not come after `limitMs`. */
export async function until(what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > end) throw new Error(`not within ${limitMs / 1_000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
