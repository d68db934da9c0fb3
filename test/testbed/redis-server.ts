// A private Redis server for tests, proof and bench: its own process, port and folder, with the settings that Laneway
// asks of any Redis. It can be killed, come back on the same port and files, stand still, and be short of memory.
import type { ChildProcess } from 'node:child_process'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { REDIS_SETTINGS } from '../../src/start/embedded-redis.ts'
import { endChild, hasEnded, startChild } from './children.ts'
import { freePort } from './free-port.ts'

const READY = 'Ready to accept connections'
/** It takes 50 ms; a busy machine and a long file to load take more. */
const START_LIMIT_MS = 60_000
const PORT_TRIES = 10

export interface RedisServer {
  port: number
  url: string
  dir: string
  /** Process id of what was started: of the server, or of the command that it runs under. */
  pid(): number
  isRunning(): boolean
  /** Kills it as a crash would; the files stay. */
  kill9(): Promise<void>
  /** Ends it in order; the files stay. Stopping twice does no harm. */
  stop(): Promise<void>
  /** Starts it again on the same port and files, ending it first when it runs, and waits until it has loaded them. */
  restart(): Promise<void>
  /** Stops it in mid-step, as a disk that does not get to syncing does. */
  freeze(): void
  wake(): void
}

/**
 * Starts a server on the files of `dir` and waits until it takes connections. `before`: a command to run it under, such
 * as strace. `settings` win over ours. Rejects with its last words when it ends or is not ready in time.
 */
export async function startRedisServer(
  dir: string,
  options: { settings?: Record<string, string>; before?: readonly string[] } = {},
): Promise<RedisServer> {
  mkdirSync(dir, { recursive: true })
  const launch = (port: number) => {
    const settings = { port: String(port), bind: '127.0.0.1', dir, ...REDIS_SETTINGS, ...options.settings }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
    const [command = '', ...rest] = [...(options.before ?? []), redisBinary(), ...args]
    const child = startChild(command, rest, { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] })
    return ready(child, dir)
  }
  let { child, port } = await launchOnFreePort(launch)
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    dir,
    pid: () => child.pid ?? 0,
    isRunning: () => !hasEnded(child),
    kill9: () => endChild(child, 'SIGKILL'),
    stop: () => endChild(child, 'SIGTERM'),
    async restart() {
      await endChild(child, 'SIGTERM')
      child = await launch(port)
    },
    freeze: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
  }
}

/** Another process may take the free port before the server does; then another one is tried. */
async function launchOnFreePort(launch: (port: number) => Promise<ChildProcess>) {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort()
    try {
      return { child: await launch(port), port }
    } catch (error) {
      if (tries >= PORT_TRIES || !String(error).includes('Address already in use')) throw error
    }
  }
}

let binary: string | undefined
function redisBinary(): string {
  binary ??= ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
  if (binary === undefined) throw new Error('There is no redis-server or valkey-server on the PATH.')
  return binary
}

/** Resolves with the server when it says that it is ready; rejects with its log when it ends first or takes too long. */
function ready(child: ChildProcess, dir: string): Promise<ChildProcess> {
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  return new Promise((resolve, reject) => {
    const said: string[] = []
    const fail = (why: string) => {
      clearTimeout(limit)
      reject(new Error(`Redis on ${dir} ${why}:\n${said.join('\n')}`))
    }
    const limit = setTimeout(() => {
      child.kill('SIGKILL')
      fail(`was not ready after ${START_LIMIT_MS} ms`)
    }, START_LIMIT_MS)
    const ended = () => fail('ended before it was ready')
    // After its output is complete, which says why.
    child.once('close', ended)
    child.once('error', (error) => fail(`could not be started (${error.message})`))
    // The log is read to its end, so that a full pipe never blocks the server.
    lines.on('line', (line) => {
      said.push(line)
      if (said.length > 50) said.shift()
      if (!line.includes(READY)) return
      clearTimeout(limit)
      child.off('close', ended)
      resolve(child)
    })
  })
}
