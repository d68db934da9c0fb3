// Real processes for a test: started as people start them, their output kept, none left behind.
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { startChild } from '../testbed/children.ts'
import { freePort } from '../testbed/free-port.ts'
import { eventually } from './wait.ts'

/** How a process ended. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface TestProcess {
  pid: number
  /** Everything it has written so far. */
  stdout(): string
  stderr(): string
  kill(signal: NodeJS.Signals): void
  /** Resolves when it has ended and its output is complete. */
  ended: Promise<Ended>
}

/** Starts a command with exactly these variables and what a program needs to run at all. */
export function startProcess(command: string, args: readonly string[], env: Record<string, string>): TestProcess {
  const child = startChild(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = once(child, 'close').then(() => ({ code: child.exitCode, signal: child.signalCode }))
  return {
    pid: child.pid ?? 0,
    stdout: () => stdout,
    stderr: () => stderr,
    kill: (signal) => void child.kill(signal),
    ended,
  }
}

/** Ids of all living processes that name this folder in their command, environment or working folder. Needs /proc. */
export function processesNaming(folder: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && pid !== process.pid && namesFolder(pid, folder))
}

function namesFolder(pid: number, folder: string): boolean {
  try {
    // A zombie has neither environment nor working folder.
    const texts = ['cmdline', 'environ'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
    return [...texts, readlinkSync(`/proc/${pid}/cwd`)].some((text) => text.includes(folder))
  } catch {
    return false
  }
}

/** Waits until no process names the folder any more. */
export async function nothingLeft(folder: string): Promise<void> {
  await eventually(async () => processesNaming(folder).length === 0, `no process of ${folder}`, 25_000)
}

/** Kills whatever names the folder until nothing does: what is killed last may have started another process meanwhile. */
export async function killAllNaming(folder: string): Promise<void> {
  await eventually(
    async () => {
      const left = processesNaming(folder)
      for (const pid of left) kill(pid)
      return left.length === 0
    },
    `no process of ${folder}`,
    25_000,
  )
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

/** Holds a loopback port, as another program would. Nothing else gets it once it is released: no connection has such a one. */
export async function takePort(): Promise<{ port: number; release(): Promise<void> }> {
  const server = createServer()
  const port = await freePort()
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port,
    async release() {
      server.close()
      await once(server, 'close')
    },
  }
}
