// Pins: the private Redis of `npm start` is reached by its owner only, on a socket, wherever the data folder is; and what
// stands in a data folder that others could write to is not believed. Real: Redis, files, sockets.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { bareEnvironment } from '../../src/kernel/config.ts'
import { socketPath } from '../../src/kernel/redis-address.ts'
import { SecretKeyError, secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { openDataFolder } from '../../src/start/data-folder.ts'
import {
  type EmbeddedRedis,
  SOCKET_PATH_MAX_BYTES,
  socketPathIn,
  startEmbeddedRedis,
} from '../../src/start/embedded-redis.ts'
import { silentLog } from '../support/app.ts'
import { eventually } from '../support/wait.ts'
import { startChild } from '../testbed/children.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'laneway-private-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const pidOf = (dataDir: string): number => Number(readFileSync(join(dataDir, 'redis/redis.pid'), 'utf8'))

/** Inodes of the TCP sockets that listen on this machine. */
const listening = (): Set<string | undefined> =>
  new Set(
    ['tcp', 'tcp6'].flatMap((table) =>
      readFileSync(`/proc/net/${table}`, 'utf8')
        .split('\n')
        .map((line) => line.trim().split(/\s+/))
        .filter((fields) => fields[3] === '0A')
        .map((fields) => fields[9]),
    ),
  )

function listensOnTcp(pid: number): boolean {
  const ports = listening()
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
  return open.some((target) => ports.has(/^socket:\[(\d+)\]$/.exec(target)?.[1]))
}

async function answers({ url }: EmbeddedRedis): Promise<string> {
  const redis = connectWithRetry(url)
  redis.on('error', () => {})
  return redis.ping().finally(() => redis.disconnect())
}

describe('the private Redis', () => {
  test('listens on no port, and its socket is open only to its owner', async () => {
    const redis = await startEmbeddedRedis(folder, silentLog)
    try {
      expect(await answers(redis)).toBe('PONG')
      const path = socketPath(redis.url) ?? ''
      expect(path).toBe(join(folder, 'redis/redis.sock'))
      expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o700, 0o700])
      expect(listensOnTcp(pidOf(folder))).toBe(false)
      if (!isRoot) return
      // Even where the folder above is open.
      chmodSync(folder, 0o755)
      const other = spawnSync('redis-cli', ['-s', path, 'ping'], { uid: NOBODY, gid: NOBODY, encoding: 'utf8' })
      expect(other.stdout + other.stderr).toContain('Permission denied')
    } finally {
      await redis.stop()
    }
  })

  test('that an earlier start left running is ended, also when the path is too long for a socket', async () => {
    const deep = join(folder, 'a folder'.repeat(12), 'ünd einer')
    const first = await startEmbeddedRedis(deep, silentLog)
    const path = socketPath(first.url) ?? ''
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(SOCKET_PATH_MAX_BYTES)
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
    await first.stop()
    // As a start leaves it that was killed.
    const leftOver = startChild('redis-server', [join(deep, 'redis/redis.conf')], { cwd: join(deep, 'redis') })
    await eventually(async () => (existsSync(path) && pidOf(deep) === leftOver.pid) || undefined, 'it runs')
    const second = await startEmbeddedRedis(deep, silentLog)
    try {
      expect(leftOver.exitCode).toBe(0)
      expect(second.url).toBe(first.url)
      expect(await answers(second)).toBe('PONG')
    } finally {
      await second.stop()
      rmSync(dirname(path), { recursive: true, force: true })
    }
  })
})

test('a child process gets neither our settings nor the secrets in them', () => {
  vi.stubEnv('LANEWAY_SECRET_KEY', 'a secret key that is none of its business')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'nor is this one')
  vi.stubEnv('SIMULATOR_READ_MS', '5')
  const names = Object.keys(bareEnvironment({ SIMULATOR_PORT: '4010' }))
  vi.unstubAllEnvs()
  expect(names).toEqual(expect.arrayContaining(['PATH', 'SIMULATOR_READ_MS', 'SIMULATOR_PORT']))
  expect(names.filter((name) => /LANEWAY|AWS/.test(name))).toEqual([])
})

describe('a folder for the socket in the temporary directory', () => {
  const long = `/${'x'.repeat(SOCKET_PATH_MAX_BYTES)}`

  test('is refused when somebody put a link or, as another user, a folder of its name there', () => {
    const place = dirname(socketPathIn(long, folder))
    rmSync(place, { recursive: true })
    mkdirSync(join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), place)
    expect(() => socketPathIn(long, folder)).toThrow('belongs to somebody else')
    rmSync(place)
    if (!isRoot) return
    mkdirSync(place)
    chownSync(place, NOBODY, NOBODY)
    expect(() => socketPathIn(long, folder)).toThrow('belongs to somebody else')
  })

  test('is closed to others when it was open, and one with too long a path is refused by name', () => {
    const place = dirname(socketPathIn(long, folder))
    chmodSync(place, 0o777)
    expect(dirname(socketPathIn(long, folder))).toBe(place)
    expect(statSync(place).mode & 0o777).toBe(0o700)
    expect(() => socketPathIn(long, long)).toThrow('LANEWAY_DATA_DIR')
  })
})

describe('a data folder', () => {
  test('that others could write to is closed to them', () => {
    chmodSync(folder, 0o777)
    openDataFolder(folder)
    expect(statSync(folder).mode & 0o777).toBe(0o755)
  })

  test('of another user is refused', () => {
    const spied = vi.spyOn(process, 'getuid').mockReturnValue(NOBODY)
    expect(() => openDataFolder(folder)).toThrow('belongs to another user')
    spied.mockRestore()
  })

  test.each(['', 'short', '\n'])('whose secret.key contains no key (%j) is refused instead of used', (text) => {
    writeFileSync(join(folder, 'secret.key'), text)
    expect(() => secretKeysOf({ secretKeys: [], dataDir: folder })).toThrow(SecretKeyError)
  })
})
