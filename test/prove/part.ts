// One process of Laneway or of the simulator, started as its users start it: `node <build>/start/worker.js`. The
// nemesis kills, freezes and starts it again.
import type { ChildProcess } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { endChild, hasEnded, startChild } from '../testbed/children.ts'
import { TooSlow } from './wait.ts'

/** A start takes 0.6 s on an idle machine of two cores. */
const START_LIMIT_MS = 300_000

const ENTRIES = {
  producer: { file: 'start/producer.js', started: 'producer.started' },
  worker: { file: 'start/worker.js', started: 'worker.started' },
  simulator: { file: 'simulator/main.js', started: 'simulator.listening' },
} as const

/** The line that says a part is ready; the simulator calls it `event`, the others log it. */
const readyLine = z.object({ msg: z.string().optional(), event: z.string().optional(), url: z.string().default('') })

export interface Part {
  name: string
  /** Where it listens; empty for workers. */
  url: string
  /** Its process id; 0 before it is started. */
  pid(): number
  isRunning(): boolean
  /** Whether it runs and has said that it is ready. */
  isReady(): boolean
  /** Starts it, again if need be, and waits until it is ready. */
  start(): Promise<void>
  kill9(): Promise<void>
  /** Stops it in mid-step, as a long pause of a virtual machine does. */
  freeze(): void
  wake(): void
  /** Asks it to end and waits. Gives the exit code, null when it had to be killed. */
  terminate(): Promise<number | null>
}

/** `died` is called when the process ends although nobody of the run ended it. */
export function createPart(options: {
  kind: keyof typeof ENTRIES
  name: string
  build: string
  env: Record<string, string>
  logs: string
  died: (how: string) => void
}): Part {
  const { file, started } = ENTRIES[options.kind]
  let child: ChildProcess | undefined
  let wanted = false
  let isReady = false

  const part: Part = {
    name: options.name,
    url: '',
    pid: () => child?.pid ?? 0,
    isRunning: () => child !== undefined && !hasEnded(child),
    isReady: () => isReady,
    async start() {
      wanted = true
      const begun = startChild(process.execPath, [join(options.build, file)], {
        // With npm's variable set a part ends by itself when the process that started it is gone, however that happened.
        env: { PATH: process.env.PATH, npm_lifecycle_event: 'prove', ...options.env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = begun
      begun.once('exit', () => {
        if (child === begun) isReady = false
      })
      begun.once('exit', (code, signal) => {
        if (wanted && child === begun) options.died(`${options.name} ended by itself (${signal ?? `exit ${code}`})`)
      })
      part.url = await ready(begun)
      isReady = part.isRunning()
    },
    async kill9() {
      wanted = false
      if (child) await endChild(child, 'SIGKILL')
    },
    freeze: () => void child?.kill('SIGSTOP'),
    wake: () => void child?.kill('SIGCONT'),
    async terminate() {
      wanted = false
      if (child) await endChild(child, 'SIGTERM')
      return child?.exitCode ?? null
    },
  }
  return part

  /** Copies the output to the log and resolves with the address in the line that says it is ready. */
  function ready(begun: ChildProcess): Promise<string> {
    const log = createWriteStream(join(options.logs, `${options.name.replace(/\W+/g, '-')}.log`), { flags: 'a' })
    begun.stderr?.pipe(log, { end: false })
    begun.once('close', () => log.end())
    const lines = createInterface({ input: begun.stdout ?? process.stdin })
    return new Promise((resolve, reject) => {
      const told = (why: string) => `${options.name} ${why}; see ${options.logs}`
      const late = () => reject(new TooSlow(told(`was not ready after ${START_LIMIT_MS} ms`)))
      const limit = setTimeout(late, START_LIMIT_MS)
      begun.once('exit', () => {
        clearTimeout(limit)
        // Killed while it started is what a nemesis does; nothing need wait for its start any longer.
        if (wanted) reject(new Error(told('ended before it was ready')))
        else resolve('')
      })
      lines.on('line', (line) => {
        log.write(`${line}\n`)
        if (!line.includes(started)) return
        clearTimeout(limit)
        resolve(readyLine.parse(JSON.parse(line)).url)
      })
    })
  }
}
