// A private Redis for a scenario, with the settings that Laneway asks of any Redis: every write is on disk before it is
// acknowledged. It can be killed, come back on the same port and files, and be short of memory.
import type { ChildProcess } from 'node:child_process'
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { endChild, startChild } from './children.ts'
import { freePort } from './free-port.ts'

const READY = 'Ready to accept connections'
const START_LIMIT_MS = 60_000

export interface RedisServer {
  port: number
  url: string
  dir: string
  /** Starts it, again if need be, and waits until it has loaded its files. */
  start(): Promise<void>
  kill9(): Promise<void>
  stop(): Promise<void>
  /** Stops it in mid-step, as a disk that does not get to syncing does. */
  freeze(): void
  wake(): void
}

/** `before`: a command to run the server under, such as strace. `settings` win over ours. */
export async function createRedisServer(
  dir: string,
  options: { settings?: Record<string, string>; before?: readonly string[] } = {},
): Promise<RedisServer> {
  mkdirSync(dir, { recursive: true })
  const port = await freePort()
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    'hash-max-listpack-value': '1024',
    ...options.settings,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const [command = '', ...rest] = [...(options.before ?? []), redisBinary(), ...args]
  let child: ChildProcess | undefined
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    dir,
    async start() {
      child = startChild(command, rest, { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] })
      await ready(child, join(dir, 'appendonlydir'))
    },
    kill9: async () => child && endChild(child, 'SIGKILL'),
    stop: async () => child && endChild(child, 'SIGTERM'),
    freeze: () => void child?.kill('SIGSTOP'),
    wake: () => void child?.kill('SIGCONT'),
  }
}

function redisBinary(): string {
  const found = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
  if (found === undefined) throw new Error('There is no redis-server or valkey-server on the PATH.')
  return found
}

function ready(child: ChildProcess, files: string): Promise<void> {
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  return new Promise((resolve, reject) => {
    const said: string[] = []
    const fail = (why: string) => reject(new Error(`Redis on ${files} ${why}:\n${said.slice(-10).join('\n')}`))
    const limit = setTimeout(() => fail(`was not ready after ${START_LIMIT_MS} ms`), START_LIMIT_MS)
    const ended = () => {
      clearTimeout(limit)
      fail('ended before it was ready')
    }
    child.once('exit', ended)
    lines.on('line', (line) => {
      if (said.length < 1_000) said.push(line)
      if (!line.includes(READY)) return
      clearTimeout(limit)
      child.off('exit', ended)
      resolve()
    })
  })
}
