// A real S3 server for tests: OpenStack Swift from Debian's packages with its S3 interface, in a folder and on ports of
// its own. Its daemons read one file that is not in that folder, /etc/swift/swift.conf, which is made when it is missing.
import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CreateBucketCommand, HeadBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { endChild, startChild } from './children.ts'
import { freePort } from './free-port.ts'

/** The only account there is, as AWS' own tools name it. */
export const S3_KEYS = { AWS_ACCESS_KEY_ID: 'test:tester', AWS_SECRET_ACCESS_KEY: 'testing' }
/** Four programs in Python, beside whatever else runs. */
const START_LIMIT_MS = 240_000
const BUCKET = 'laneway-files'
const RINGS = ['object', 'container', 'account'] as const

export interface S3Server {
  endpoint: string
  /** The name of the bucket that it has. */
  bucket: string
  /** Ends what clients talk to; the files stay. */
  stop(): Promise<void>
  /** Starts that again, at the same address. */
  start(): Promise<void>
  /** Ends all of it. */
  close(): Promise<void>
}

/** Starts a server that keeps its files in `dir` and waits until it has made a bucket. */
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
  makeRings(settings, ports)
  for (const ring of RINGS) {
    const lines = ['[DEFAULT]', ...common(ports[ring]), `devices = ${join(dir, 'srv')}`, 'mount_check = false']
    const app = ['[pipeline:main]', `pipeline = ${ring}-server`, `[app:${ring}-server]`, `use = egg:swift#${ring}`]
    writeFileSync(join(settings, `${ring}-server.conf`), [...lines, ...app, ''].join('\n'))
  }
  writeFileSync(join(settings, 'proxy-server.conf'), proxySettings(common(proxy), cache))

  const said = openSync(join(dir, 'said.log'), 'a')
  const daemon = (name: string, ...args: string[]) =>
    startChild(name, args, { cwd: dir, stdio: ['ignore', said, said] })
  const conf = (name: string) => join(settings, `${name}-server.conf`)
  const below = [
    daemon('memcached', '-u', 'root', '-l', '127.0.0.1', '-p', String(cache)),
    ...RINGS.map((ring) => daemon(`swift-${ring}-server`, conf(ring))),
  ]
  const endpoint = `http://127.0.0.1:${proxy}`
  let front = daemon('swift-proxy-server', conf('proxy'))
  await takes(endpoint, (client) => client.send(new CreateBucketCommand({ Bucket: BUCKET })))
  return {
    endpoint,
    bucket: BUCKET,
    stop: () => endChild(front, 'SIGKILL'),
    async start() {
      front = daemon('swift-proxy-server', conf('proxy'))
      await takes(endpoint, (client) => client.send(new HeadBucketCommand({ Bucket: BUCKET })))
    },
    async close() {
      await Promise.all([front, ...below].map((child) => endChild(child, 'SIGKILL')))
      closeSync(said)
    },
  }
}

/** Which of the daemons holds what: one device, all of it. Written by Debian's own Python, which has Swift's modules. */
function makeRings(settings: string, ports: Readonly<Record<(typeof RINGS)[number], number>>): void {
  const script = [
    'import json, sys',
    'from swift.common.ring import RingBuilder',
    'for name, port in json.loads(sys.argv[1]).items():',
    '    ring = RingBuilder(4, 1, 1)',
    "    place = {'ip': '127.0.0.1', 'port': port, 'replication_ip': '127.0.0.1', 'replication_port': port}",
    "    ring.add_dev({'region': 1, 'zone': 1, 'device': 'd1', 'weight': 1.0, **place})",
    '    ring.rebalance()',
    "    ring.get_ring().save(name + '.ring.gz')",
  ]
  const args = ['-c', script.join('\n'), JSON.stringify(ports)]
  const done = spawnSync('/usr/bin/python3', args, { cwd: settings, encoding: 'utf8' })
  if (done.status !== 0) throw new Error(`no rings for Swift: ${done.stderr || String(done.error)}`)
}

function proxySettings(common: readonly string[], cache: number): string {
  const plain = ['catch_errors', 'listing_formats', 'copy', 'slo', 'dlo', 'proxy-logging']
  return [
    ...['[DEFAULT]', ...common, '[pipeline:main]'],
    'pipeline = catch_errors proxy-logging cache listing_formats s3api tempauth copy slo dlo proxy-logging proxy-server',
    ...['[app:proxy-server]', 'use = egg:swift#proxy', 'allow_account_management = true', 'account_autocreate = true'],
    // A device that does not answer within half a second, or is not started yet, would not be asked for a minute, and all
    // of that minute every request be a 503: it is the only one.
    ...['conn_timeout = 30', 'node_timeout = 60', 'error_suppression_interval = 0.1'],
    ...['[filter:tempauth]', 'use = egg:swift#tempauth', 'user_test_tester = testing .admin'],
    ...['[filter:s3api]', 'use = egg:swift#s3api', 's3_acl = no', 'location = us-east-1'],
    ...['[filter:cache]', 'use = egg:swift#memcache', `memcache_servers = 127.0.0.1:${cache}`],
    ...plain.flatMap((filter) => [`[filter:${filter}]`, `use = egg:swift#${filter.replace('-', '_')}`]),
    '',
  ].join('\n')
}

/**
 * Sends something until it is taken: the front answers before the daemons behind it listen. A bucket that is there already is a bucket.
 */
async function takes(endpoint: string, send: (client: S3Client) => Promise<unknown>): Promise<void> {
  const credentials = { accessKeyId: S3_KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: S3_KEYS.AWS_SECRET_ACCESS_KEY }
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials, maxAttempts: 1 })
  try {
    for (const end = Date.now() + START_LIMIT_MS; ; await new Promise((resolve) => setTimeout(resolve, 250))) {
      const refusal: unknown = await send(client).then(
        () => undefined,
        (error: unknown) => error,
      )
      if (refusal === undefined || (refusal instanceof Error && refusal.name === 'BucketAlreadyOwnedByYou')) return
      if (Date.now() > end) throw new Error('the S3 server did not take a bucket in time', { cause: refusal })
    }
  } finally {
    client.destroy()
  }
}
