// Waiting for other processes, looking them up and ending them. A process id alone proves nothing, because the system
// reuses it: before an earlier run's process is ended, its start time and command are compared as well.
import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { systemCode } from './start-error.ts'

const CHECK_AGAIN_MS = 50

/** Polls until `done` holds; false when it does not within `limitMs`. */
export async function waitUntil(done: () => boolean | Promise<boolean>, limitMs: number): Promise<boolean> {
  const end = Date.now() + limitMs
  while (!(await done())) {
    if (Date.now() >= end) return false
    await wait(CHECK_AGAIN_MS)
  }
  return true
}

/** Ends a child with SIGTERM, after `limitMs` with SIGKILL, and resolves when it is gone. */
export async function endChild(child: ChildProcess, limitMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  const killer = setTimeout(() => child.kill('SIGKILL'), limitMs)
  child.kill('SIGTERM')
  await gone
  clearTimeout(killer)
}

/** What the system's process table says of a living process. */
export interface RunningProcess {
  pid: number
  /** Process id of the parent; the system changes it when the parent dies. */
  parent: number
  /** Start time in the system's own notation: equal text means the same process. */
  started: string
  /** Program and arguments, separated by spaces. */
  command: string
}

const HAS_PROC = existsSync('/proc/self/stat')

/** The process, or undefined when there is none. A zombie counts as none: it neither runs nor holds anything. */
export function processAt(pid: number): RunningProcess | undefined {
  return HAS_PROC ? fromProc(pid) : fromPs(pid)
}

function fromProc(pid: number): RunningProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // `pid (name) state parent …`, field 22 is the start; the name may hold spaces and brackets itself.
    const [state, parent, ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    return { pid, parent: Number(parent), started: rest[17] ?? '', command }
  } catch {
    return undefined
  }
}

/** For systems without /proc. `lstart` is 24 characters wide. */
function fromPs(pid: number): RunningProcess | undefined {
  const ps = spawnSync('ps', ['-o', 'ppid=,stat=,lstart=,command=', '-p', String(pid)], { encoding: 'utf8' })
  const fields = /^\s*(\d+)\s+(\S+)\s+(.{24})\s+(.*)$/m.exec(ps.stdout ?? '')
  if (fields === null) return undefined
  const [, parent, state = '', started = '', command = ''] = fields
  return state.startsWith('Z') ? undefined : { pid, parent: Number(parent), started, command }
}

/** Whether this very process (not another one under its id) has ended within `limitMs`. */
export function hasEnded(process: RunningProcess, limitMs: number): Promise<boolean> {
  return waitUntil(() => processAt(process.pid)?.started !== process.started, limitMs)
}

/** Sends a signal; a process that has just ended is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
