// A private Redis for a test: its own process, port and folder, with the settings that Laneway asks of any Redis.
import type { ChildProcess } from 'node:child_process'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A Redis server of one's own. */
export interface TestRedis {
  url: string
  port: number
  /** Ends it and removes its files. Stopping twice does no harm. */
  stop(): Promise<void>
  /** Kills it as a crash would; the files stay. */
  kill9(): Promise<void>
  /** Starts it again on the same port and files, ending it first when it runs. */
  restart(): Promise<void>
}

const READY = 'Ready to accept connections'
const START_LIMIT_MS = 20_000
const PORT_TRIES = 10

/** Starts a Redis and waits until it takes connections. */
export async function startRedis(): Promise<TestRedis> {
  const binary = findBinary()
  const dir = mkdtempSync(join(tmpdir(), 'laneway-redis-'))
  let { child, port } = await launchOnFreePort(binary, dir)
  let stopped = false
  // A test run that ends without stop(), as after a failed hook, must leave no server behind.
  const killAtExit = () => child.kill('SIGKILL')
  process.on('exit', killAtExit)

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    async stop() {
      if (stopped) return
      stopped = true
      await end(child, 'SIGTERM')
      process.off('exit', killAtExit)
      rmSync(dir, { recursive: true, force: true })
    },
    kill9: () => end(child, 'SIGKILL'),
    async restart() {
      await end(child, 'SIGTERM')
      child = await launch(binary, dir, port)
    },
  }
}

function findBinary(): string {
  const found = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
  if (found === undefined) throw new Error('The tests need redis-server or valkey-server on the PATH.')
  return found
}

/** Another process may take the free port before Redis does; then another one is tried. */
async function launchOnFreePort(binary: string, dir: string): Promise<{ child: ChildProcess; port: number }> {
  for (let tries = 1; ; tries += 1) {
    const port = await freePort()
    try {
      return { child: await launch(binary, dir, port), port }
    } catch (error) {
      if (tries >= PORT_TRIES || !String(error).includes('Address already in use')) throw error
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}

async function launch(binary: string, dir: string, port: number): Promise<ChildProcess> {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
    'maxmemory-policy': 'noeviction',
    'hash-max-listpack-value': '1024',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await ready(child)
  return child
}

/** Resolves when the server says that it is ready; rejects with its log when it ends first or takes too long. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = ''
    const limit = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`Redis was not ready after ${START_LIMIT_MS} ms:\n${log}`))
    }, START_LIMIT_MS)
    const onExit = () => {
      clearTimeout(limit)
      reject(new Error(`Redis ended before it was ready:\n${log}`))
    }
    child.once('exit', onExit)
    child.once('error', reject)
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000)
      if (!log.includes(READY)) return
      clearTimeout(limit)
      child.off('exit', onExit)
      // From here on the log is read and dropped, so that a full pipe never blocks the server.
      child.stdout?.removeAllListeners('data').resume()
      resolve()
    })
  })
}

async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}
