// Looks a process up in the system's process table. A process id alone proves nothing, because the system gives it out
// again: who wants to end a process that an earlier run left over compares its start and its command, too.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { waitUntil } from './wait-until.ts'

/** What the system knows of a living process. */
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

/** The process, or undefined when there is none. A zombie counts as none: nothing of it runs or holds anything. */
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

/** Whether the very same process (not another one under its id) has ended within `limitMs`. */
export function hasEnded(process: RunningProcess, limitMs: number): Promise<boolean> {
  return waitUntil(() => processAt(process.pid)?.started !== process.started, limitMs)
}

/** Sends a signal; a process that has just ended is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
