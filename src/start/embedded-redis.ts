// The embedded Redis of `npm start`: a child in its own process group (Ctrl-C in the terminal must not reach it before
// the service has drained), on a socket that only its owner can reach and on no port, its files under the data folder,
// every write on disk before it is acknowledged. When it dies it is started again. One that an earlier run left behind is
// ended first: two servers on the same files would destroy them.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { bareEnvironment } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { socketUrl } from '../kernel/redis-address.ts'
import { endChild, hasEnded, processAt, signal, waitUntil } from './processes.ts'
import { StartError, systemCode } from './start-error.ts'

/** A running private Redis. */
export interface EmbeddedRedis {
  url: string
  /** Ends it and waits. */
  stop(): Promise<void>
  /** Tells it to end and does not wait. */
  abandon(): void
}

/** Redis needs no more than its last write; a longer wait means that the disk hangs. */
const END_LIMIT_MS = 10_000
/** A server that lived this long was healthy: its next death is repaired at once again. */
const HEALTHY_MS = 10_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** Only a process that is there but never answers gets this far; loading a large file does not count. */
const ANSWER_LIMIT_MS = 600_000

/** Ends what was left behind, starts the server and waits until it has loaded its data. */
export async function startEmbeddedRedis(dataDir: string, log: Log): Promise<EmbeddedRedis> {
  const dir = join(dataDir, 'redis')
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const binary = findBinary()
  await endLeftOver(dir, log)
  const socket = socketPathIn(dir)
  const config = writeConfig(dir, socket)

  let child = launch(binary, config, dir)
  let launchedAt = Date.now()
  let pauseMs = 0
  let stopping = false
  let relaunch: NodeJS.Timeout | undefined
  const died = (how: object) => {
    if (stopping) return
    pauseMs = Date.now() - launchedAt > HEALTHY_MS ? 0 : Math.min(pauseMs * 2 || FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
    log.error({ ...how, restart_in_ms: pauseMs }, 'redis.died')
    relaunch = setTimeout(() => {
      child = launch(binary, config, dir)
      launchedAt = Date.now()
      watch()
    }, pauseMs)
  }
  // One of the two comes: a launch that the system refuses has an error and no exit.
  const watch = () => {
    child.once('exit', (code, killedBy) => died({ code, signal: killedBy }))
    child.once('error', (error) => died({ err: error }))
  }

  try {
    await loaded(child, socket, dir)
  } catch (error) {
    await endChild(child, END_LIMIT_MS)
    throw error
  }
  watch()
  log.info({ pid: child.pid }, 'redis.started')
  return {
    url: socketUrl(socket),
    async stop() {
      stopping = true
      clearTimeout(relaunch)
      await endChild(child, END_LIMIT_MS)
    },
    abandon() {
      stopping = true
      clearTimeout(relaunch)
      child.kill('SIGTERM')
    },
  }
}

function findBinary(): string {
  const found = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0)
  if (found === undefined) {
    throw new StartError('There is no redis-server or valkey-server on the PATH; install one, or set REDIS_URL.')
  }
  return found
}

/** Ends the server of an earlier run: its process id is in the file that it writes itself, its socket or file in its title. */
async function endLeftOver(dir: string, log: Log): Promise<void> {
  const pid = Number(textOf(join(dir, 'redis.pid')))
  const found = pid > 0 ? processAt(pid) : undefined
  if (found === undefined) return
  const isOurs = [join(dir, 'redis.conf'), socketPathIn(dir)].some((mark) => found.command.includes(mark))
  if (!isOurs || !/redis|valkey/.test(found.command)) return
  log.warn({ pid }, 'redis.left_over')
  signal(pid, 'SIGTERM')
  if (await hasEnded(found, END_LIMIT_MS)) return
  signal(pid, 'SIGKILL')
  if (await hasEnded(found, END_LIMIT_MS)) return
  // Two servers that append to the same files would destroy them.
  throw new StartError(`The Redis of an earlier run (process ${pid}) does not end; end it by hand and start again.`)
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ''
    throw error
  }
}

/**
 * What Laneway asks of any Redis: every write on disk before it is acknowledged, and nothing evicted. Those are promises;
 * the others are economy. `hash-max-ziplist-value` is the older name of `hash-max-listpack-value` and known to every
 * version; at 1024 a waiting job takes 31 to 39 % less memory. `aof-load-truncated` lets the server come back after a
 * power cut in mid-write.
 */
export const REDIS_SETTINGS: Readonly<Record<string, string>> = {
  save: '',
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'aof-load-truncated': 'yes',
  'maxmemory-policy': 'noeviction',
  'hash-max-ziplist-value': '1024',
}

function writeConfig(dir: string, socket: string): string {
  const settings = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
    dir,
    pidfile: join(dir, 'redis.pid'),
    logfile: join(dir, 'redis.log'),
    daemonize: 'no',
    // Without a limit the system would decide who dies for want of memory; a full Redis refuses new messages instead.
    maxmemory: String(Math.floor(memoryBytes() / 2)),
    ...REDIS_SETTINGS,
  }
  const path = join(dir, 'redis.conf')
  const lines = Object.entries(settings).map(([name, value]) => `${name} ${JSON.stringify(value)}\n`)
  writeFileSync(path, `# Written by Laneway at every start.\n${lines.join('')}`, { mode: 0o600 })
  return path
}

/** What this machine, or the container, lets us have. */
function memoryBytes(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/** No stream is shared with the child: a reader of our output must see its end when we die, not when Redis does. */
function launch(binary: string, config: string, dir: string): ChildProcess {
  const options = { cwd: dir, env: bareEnvironment({}), detached: true, stdio: 'ignore' } as const
  return spawn(binary, [config], options).on('error', () => undefined)
}

/** Resolves when this very child (not another server on its socket) answers and has loaded its data. */
async function loaded(child: ChildProcess, socket: string, dir: string): Promise<void> {
  const redis = new Redis({ path: socket, lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: 0 })
  redis.on('error', () => undefined)
  try {
    const answered = await waitUntil(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return true
      const info = await redis.info().catch(() => '')
      return info.includes(`process_id:${child.pid}\r`) && info.includes('loading:0')
    }, ANSWER_LIMIT_MS)
    if (answered && child.exitCode === null && child.signalCode === null) return
  } finally {
    redis.disconnect()
  }
  const lastLines = textOf(join(dir, 'redis.log')).trim().split('\n').slice(-3).join('\n')
  throw new StartError(`The private Redis did not start; the end of ${join(dir, 'redis.log')}:\n${lastLines}`)
}

/** What every system takes: Linux 107 bytes, others 103. A longer one would be cut off without a word. */
export const SOCKET_PATH_MAX_BYTES = 103

const NAME = 'redis.sock'

/**
 * Where the socket is: in the folder of Redis, which only its owner may enter, or where the folder's path is too long for the
 * address of a socket, in one of its own among the temporary files.
 *
 * The path of the socket for the Redis whose files are in `dir`, the same at every start; its folder is there and for its
 * owner only. Throws a StartError where such a folder cannot be had.
 */
export function socketPathIn(dir: string, temporary = tmpdir()): string {
  const near = join(dir, NAME)
  if (fits(near)) return ownFolder(dir, near)
  const digest = createHash('sha256').update(dir).digest('hex').slice(0, 16)
  const folder = join(temporary, `laneway-${digest}`)
  const far = join(folder, NAME)
  if (fits(far)) return ownFolder(folder, far)
  throw new StartError(
    `The path ${near} is too long for a socket (at most ${SOCKET_PATH_MAX_BYTES} bytes); set LANEWAY_DATA_DIR to a shorter one.`,
  )
}

const fits = (path: string): boolean => Buffer.byteLength(path) <= SOCKET_PATH_MAX_BYTES

/** Among the temporary files anybody may have made a folder of this name, or a link, before us. */
function ownFolder(folder: string, path: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  const isOurs = process.getuid === undefined || found.uid === process.getuid()
  if (!found.isDirectory() || !isOurs) {
    throw new StartError(`${folder} belongs to somebody else, so the private Redis cannot have its socket there.`)
  }
  if ((found.mode & 0o077) !== 0) chmodSync(folder, 0o700)
  return path
}
