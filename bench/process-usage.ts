// CPU time and memory of processes, from /proc.
import { readdirSync, readFileSync } from 'node:fs'

/** The kernel counts CPU time in hundredths of a second, on every common Linux. */
const TICK_MS = 10

/** CPU time, user and system, of the processes since they began, in ms. */
export const cpuMs = (pids: readonly number[]): number => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0)

function cpuMsOf(pid: number): number {
  // utime and stime are fields 14 and 15 of all.
  const fields = statOf(pid)
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** What follows the name, which is in brackets and may hold spaces: field 3 and on. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Resident memory in MB. */
export function rssMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb ?? 0) / 1_024
}

/** The process and all that it has started. */
export function familyOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children.split(' ').filter(Boolean).map(Number).flatMap(familyOf)]
}

/** All processes of the session that the process leads, as a browser that was started apart from its parent. */
export function sessionOf(leader: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return Number(statOf(pid)[3]) === leader
      } catch {
        return false // it has ended since the folder was read
      }
    })
}
