// What a power cut would have left of an append-only file: strace tells every write and every fdatasync, and what was
// written after the last fdatasync that had returned is what the disk need not have.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Whether strace is installed and may trace here; else why not. */
export function whyNoTrace(): string | undefined {
  const tried = spawnSync('strace', ['-D', '-o', '/dev/null', 'true'], { encoding: 'utf8' })
  if (tried.error) return 'strace is not installed (apt-get install strace)'
  return tried.status === 0 ? undefined : `strace cannot trace here: ${tried.stderr.trim().split('\n')[0]}`
}

/** The command to run a server under; -D keeps the server our own child. Times are of the wall clock. */
export const underTrace = (file: string): string[] => [
  ...['strace', '-D', '-f', '-qq', '-ttt', '-T', '-y', '-s', '0'],
  ...['-e', 'trace=write,fdatasync', '-o', file],
]

/** From this moment on (epoch ms) so many bytes of the file are safe. */
export interface Synced {
  atMs: number
  bytes: number
}

const CALL = /^(\d+) +(\d+\.\d+) (.*)$/
const OF_THE_FILE = /^(write|fdatasync)\(\d+<[^>]*\.incr\.aof>/
/** The value that a call returned and how long it took, also of one that other threads interrupted in the trace. */
const RETURNED = /\) += (-?\d+).* <(\d+\.\d+)>$/
const RESUMED = /^<\.\.\. (write|fdatasync) resumed>/

/** Reads the trace of a Redis whose append-only file was empty at the start and is never rewritten. */
export function readTrace(file: string): Synced[] {
  const synced: Synced[] = []
  let written = 0
  /** Thread → its call under way, when it began, and how much was written by then. */
  const underWay = new Map<string, { call: string; begunMs: number; before: number }>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, thread = '', seconds = '', text = ''] = CALL.exec(line) ?? []
    const begun = OF_THE_FILE.exec(text)?.[1]
    if (begun !== undefined) underWay.set(thread, { call: begun, begunMs: Number(seconds) * 1_000, before: written })
    const resumed = RESUMED.exec(text)?.[1]
    const open = underWay.get(thread)
    const [, returned, took] = RETURNED.exec(text) ?? []
    if (!open || returned === undefined || (begun === undefined && resumed !== open.call)) continue
    underWay.delete(thread)
    if (open.call === 'write') written += Number(returned)
    else if (returned === '0') synced.push({ atMs: open.begunMs + Number(took) * 1_000, bytes: open.before })
  }
  return synced
}
