// A real S3 server for tests: OpenStack Swift from Debian's packages with its S3 interface, in a folder and on ports of
// its own. Its daemons read one file that is not in that folder, /etc/swift/swift.conf, which is made when it is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endChild, startChild } from './children.ts'
import { freePort } from './free-port.ts'

/** The only account there is, as AWS' own tools name it. */
export const S3_KEYS = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' }
const START_LIMIT_MS = 60_000
const RINGS = ['object', 'container', 'account'] as const

export interface S3Server {
  endpoint: string
  /** Ends what clients talk to; the files stay. */
  stop(): Promise<void>
  /** Starts that again, at the same address. */
  start(): Promise<void>
  /** Ends all of it. */
  close(): Promise<void>
}

/** Starts a server that keeps its files in `dir` and waits until it answers. */
export async function startS3Server(dir: string): Promise<S3Server> {
  const ports = { object: await freePort(), container: await freePort(), account: await freePort() }
  const [proxy, cache] = [await freePort(), await freePort()]
  const settings = join(dir, 'etc')
  mkdirSync(join(dir, 'srv/d1'), { recursive: true })
  mkdirSync(settings, { recursive: true })
  if (!existsSync('/etc/swift/swift.conf')) {
    mkdirSync('/etc/swift', { recursive: true })
    const policy = '[storage-policy:0]\nname = one\ndefault = yes\n'
    writeFileSync(
      '/etc/swift/swift.conf',
      `[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n${policy}`,
    )
  }
  const common = (port: number) => [
    `bind_ip = 127.0.0.1`,
    `bind_port = ${port}`,
    'workers = 0',
    'user = root',
    `swift_dir = ${settings}`,
    'log_level = ERROR',
  ]
  for (const ring of RINGS) {
    makeRing(settings, ring, ports[ring])
    const lines = ['[DEFAULT]', ...common(ports[ring]), `devices = ${join(dir, 'srv')}`, 'mount_check = false']
    const app = ['[pipeline:main]', `pipeline = ${ring}-server`, `[app:${ring}-server]`, `use = egg:swift#${ring}`]
    writeFileSync(join(settings, `${ring}-server.conf`), [...lines, ...app, ''].join('\n'))
  }
  writeFileSync(join(settings, 'proxy-server.conf'), proxySettings(common(proxy), cache))

  const daemon = (name: string, ...args: string[]) => startChild(name, args, { cwd: dir, stdio: 'ignore' })
  const conf = (name: string) => join(settings, `${name}-server.conf`)
  const below = [
    daemon('memcached', '-u', 'root', '-l', '127.0.0.1', '-p', String(cache)),
    ...RINGS.map((ring) => daemon(`swift-${ring}-server`, conf(ring))),
  ]
  const endpoint = `http://127.0.0.1:${proxy}`
  let front = daemon('swift-proxy-server', conf('proxy'))
  await answers(endpoint)
  return {
    endpoint,
    stop: () => endChild(front, 'SIGKILL'),
    async start() {
      front = daemon('swift-proxy-server', conf('proxy'))
      await answers(endpoint)
    },
    async close() {
      await Promise.all([front, ...below].map((child) => endChild(child, 'SIGKILL')))
    },
  }
}

/** Which of the daemons holds what: one device, all of it. */
function makeRing(settings: string, ring: string, port: number): void {
  const builder = join(settings, `${ring}.builder`)
  for (const args of [['create', '4', '1', '1'], ['add', `r1z1-127.0.0.1:${port}/d1`, '1'], ['rebalance']]) {
    const done = spawnSync('swift-ring-builder', [builder, ...args], { encoding: 'utf8' })
    // It ends with 1 when it has something to remark.
    if (done.status !== 0 && done.status !== 1)
      throw new Error(`swift-ring-builder ${args[0]}: ${done.stdout}${done.stderr}`)
  }
}

function proxySettings(common: readonly string[], cache: number): string {
  const plain = ['catch_errors', 'listing_formats', 'copy', 'slo', 'dlo', 'proxy-logging']
  return [
    ...['[DEFAULT]', ...common, '[pipeline:main]'],
    'pipeline = catch_errors proxy-logging cache listing_formats s3api tempauth copy slo dlo proxy-logging proxy-server',
    ...['[app:proxy-server]', 'use = egg:swift#proxy', 'allow_account_management = true', 'account_autocreate = true'],
    ...['[filter:tempauth]', 'use = egg:swift#tempauth', 'user_test_tester = testing .admin'],
    ...['[filter:s3api]', 'use = egg:swift#s3api', 's3_acl = no', 'location = us-east-1'],
    ...['[filter:cache]', 'use = egg:swift#memcache', `memcache_servers = 127.0.0.1:${cache}`],
    ...plain.flatMap((filter) => [`[filter:${filter}]`, `use = egg:swift#${filter.replace('-', '_')}`]),
    '',
  ].join('\n')
}

async function answers(endpoint: string): Promise<void> {
  for (const end = Date.now() + START_LIMIT_MS; ; ) {
    const answer = await fetch(`${endpoint}/info`).catch(() => undefined)
    if (answer !== undefined) return
    if (Date.now() > end) throw new Error('the S3 server did not answer in time')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
