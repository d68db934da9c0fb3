// One Laneway per data folder. `<data dir>/laneway.pid` names the process that has it; a process that finds the folder
// taken by the living ends with that reason, and takes over from the dead and the dying.
//
// The file is made by link, so that of two processes that start together one gets it. A stale file is moved away by
// rename and looked at again afterwards: if another process was faster, what was moved away is not what was read.
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { readJsonFile, writeJsonFile } from './data-folder.ts'
import { hasEnded, processAt, type RunningProcess, signal } from './processes.ts'
import { StartError, systemCode } from './start-error.ts'

const holderSchema = z.object({
  pid: z.number().int().positive(),
  /** With `command`, distinguishes the process from a later one with the same id. */
  started: z.string(),
  command: z.string(),
  /** The npm that started it; 0 when it was started without npm. */
  parent: z.number().int(),
  state: z.enum(['running', 'stopping']),
})
type Holder = z.infer<typeof holderSchema>

/** A stop takes 20 s at most; then the process hangs. */
const STOP_LIMIT_MS = 25_000

/** The folder is ours until `release`. */
export interface DataDirLock {
  /** From now on a new start waits for our end instead of refusing. */
  markStopping(): void
  release(): void
}

/**
 * Takes the folder. `parent` is the process whose end will end us, or 0. Waits for a holder that is stopping, or whose
 * npm was killed so that it is about to notice, and ends it when it does not end by itself. Throws a StartError when
 * another Laneway runs there.
 */
export async function lockDataDir(dataDir: string, parent: number, say: (line: string) => void): Promise<DataDirLock> {
  const path = join(dataDir, 'laneway.pid')
  const self = processAt(process.pid)
  const us: Holder = {
    pid: process.pid,
    started: self?.started ?? '',
    command: self?.command ?? '',
    parent,
    state: 'running',
  }
  while (!createIfAbsent(path, us)) {
    const holder = readJsonFile(path, holderSchema)
    if (holder === undefined) continue
    const alive = livingHolder(holder)
    if (alive !== undefined) await waitForEnd(holder, alive, dataDir, say)
    removeStale(path, holder)
  }
  return {
    markStopping: () => writeJsonFile(path, { ...us, state: 'stopping' }),
    release: () => rmSync(path, { force: true }),
  }
}

function livingHolder(holder: Holder): RunningProcess | undefined {
  const found = processAt(holder.pid)
  return found?.started === holder.started && found.command === holder.command ? found : undefined
}

async function waitForEnd(
  holder: Holder,
  alive: RunningProcess,
  dataDir: string,
  say: (line: string) => void,
): Promise<void> {
  const orphan = holder.parent !== 0 && alive.parent !== holder.parent
  if (holder.state === 'running' && !orphan) {
    throw new StartError(
      `Another Laneway is already running on the data folder ${dataDir} (process ${holder.pid}); ` +
        'stop it, or set LANEWAY_DATA_DIR to another folder.',
    )
  }
  say(`Waiting for the previous Laneway (process ${holder.pid}) to stop ...`)
  if (await hasEnded(alive, STOP_LIMIT_MS)) return
  signal(holder.pid, 'SIGKILL')
  await hasEnded(alive, STOP_LIMIT_MS)
}

function createIfAbsent(path: string, holder: Holder): boolean {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, JSON.stringify(holder), { mode: 0o600 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

function removeStale(path: string, stale: Holder): void {
  const aside = `${path}.stale.${process.pid}`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return
    throw error
  }
  const moved = readJsonFile(aside, holderSchema)
  if (moved !== undefined && (moved.pid !== stale.pid || moved.started !== stale.started)) linkSync(aside, path)
  rmSync(aside, { force: true })
}
