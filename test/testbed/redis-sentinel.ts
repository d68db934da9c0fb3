// A private primary with replicas and three Sentinels that watch over it, on loopback.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { endChild, startChild } from './children.ts'
import { freePort } from './free-port.ts'
import { type RedisServer, startRedisServer } from './redis-server.ts'

/** A primary is taken for dead after this. */
const DOWN_AFTER_MS = 2_000
const START_LIMIT_MS = 60_000
const NAME = 'laneway'

export interface RedisWithSentinels {
  url: string
  /** The one that began as the primary comes first. */
  servers: RedisServer[]
  /** The server that the Sentinels name. */
  primary(): Promise<RedisServer>
  /** Waits until the Sentinels name a running primary, and all other servers that run follow it. */
  settled(): Promise<void>
  /** Cuts a server off from the others and from the Sentinels; clients reach it still. */
  cutOff(server: RedisServer): Promise<void>
  heal(server: RedisServer): Promise<void>
  stop(): Promise<void>
}

/** Users of their own for replicas and Sentinels, so that they can be locked out. */
const OTHERS = ['replica', 'sentinel'] as const
const PASSWORD = 'x'

/** Starts it with so many replicas, and waits until they follow. */
export async function startRedisWithSentinels(
  dir: string,
  options: { replicas?: number; settings?: Record<string, string> } = {},
): Promise<RedisWithSentinels> {
  // They come back as the users that can be locked out, after a restart as well.
  const users = join(dir, 'users.acl')
  mkdirSync(dir, { recursive: true })
  const lines = OTHERS.map((user) => `user ${user} on >${PASSWORD} ~* &* +@all`)
  writeFileSync(users, `${['user default on nopass ~* &* +@all', ...lines].join('\n')}\n`)
  const settings = {
    // Replication that is repeated at once: a failover is not to wait for it.
    ...{ 'repl-diskless-sync-delay': '0', 'repl-ping-replica-period': '1' },
    ...{ aclfile: users, masteruser: 'replica', masterauth: PASSWORD },
    ...options.settings,
  }
  const first = await startRedisServer(join(dir, 'server-0'), { settings })
  const replicas = await Promise.all(
    Array.from({ length: options.replicas ?? 1 }, (_, i) =>
      startRedisServer(join(dir, `server-${i + 1}`), {
        settings: { ...settings, replicaof: `127.0.0.1 ${first.port}` },
      }),
    ),
  )
  const servers = [first, ...replicas]
  const sentinels = await Promise.all([0, 1, 2].map((i) => startSentinel(join(dir, `sentinel-${i}`), first.port)))
  const named = async (): Promise<number | undefined> => {
    for (const { port } of sentinels) {
      const answer: unknown = await ask(port, (node) => node.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)).catch(
        () => undefined,
      )
      if (Array.isArray(answer)) return Number(answer[1])
    }
    return undefined
  }
  const found: RedisWithSentinels = {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`,
    servers,
    async primary() {
      const port = await named()
      const server = servers.find((each) => each.port === port)
      if (!server) throw new Error('the Sentinels name no primary of ours')
      return server
    },
    async settled() {
      const end = performance.now() + START_LIMIT_MS
      for (;;) {
        const port = await named()
        const roles = await Promise.all(servers.filter((each) => each.isRunning()).map((each) => roleOf(each.port)))
        const primary = roles.find((role) => role.port === port)
        const others = roles.filter((role) => role.port !== port)
        if (primary?.isPrimary && others.every((role) => role.follows === port)) {
          if ((await othersKnown(sentinels.map((each) => each.port))) && primary.replicas === others.length) return
        }
        if (performance.now() > end) throw new Error('the Sentinels did not settle')
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    cutOff: ({ port }) =>
      ask(port, async (node) => {
        for (const user of OTHERS) {
          await node.call('ACL', 'SETUSER', user, 'off')
          await node.call('CLIENT', 'KILL', 'USER', user)
        }
      }),
    heal: ({ port }) =>
      ask(port, async (node) => {
        for (const user of OTHERS) await node.call('ACL', 'SETUSER', user, 'on')
      }),
    async stop() {
      await Promise.all([...sentinels, ...servers].map((each) => each.stop()))
    },
  }
  await found.settled()
  return found
}

async function startSentinel(dir: string, primary: number) {
  const port = await freePort()
  mkdirSync(dir, { recursive: true })
  const file = join(dir, 'sentinel.conf')
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, `sentinel monitor ${NAME} 127.0.0.1 ${primary} 2`],
    ...[`sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`, `sentinel failover-timeout ${NAME} 6000`],
    ...[`sentinel parallel-syncs ${NAME} 5`, `sentinel auth-user ${NAME} sentinel`],
    `sentinel auth-pass ${NAME} ${PASSWORD}`,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const child = startChild('redis-server', [file, '--sentinel'], { cwd: dir, stdio: 'ignore' })
  const end = performance.now() + START_LIMIT_MS
  while (
    !(await ask(port, (node) => node.ping()).then(
      () => true,
      () => false,
    ))
  ) {
    if (performance.now() > end) throw new Error('a Sentinel did not start')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return {
    port,
    stop: () => endChild(child, 'SIGTERM'),
    freeze: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
  }
}

/** Whether each Sentinel knows the two others and agrees that the primary is up. */
async function othersKnown(ports: readonly number[]): Promise<boolean> {
  const answers = await Promise.all(
    ports.map((port) => ask(port, (node) => node.call('INFO', 'sentinel')).catch(() => '')),
  )
  return answers.every((answer) => String(answer).includes('status=ok') && String(answer).includes('sentinels=3'))
}

async function roleOf(port: number) {
  const info = await ask(port, (node) => node.info('replication')).catch(() => '')
  const of = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
  return {
    port,
    isPrimary: of('role') === 'master',
    follows: of('master_link_status') === 'up' ? Number(of('master_port')) : undefined,
    replicas: Number(of('connected_slaves') ?? 0),
  }
}

async function ask<T>(port: number, question: (node: Redis) => Promise<T>): Promise<T> {
  const node = new Redis(port, '127.0.0.1', { protocol: 2, retryStrategy: () => null, commandTimeout: 5_000 })
  node.on('error', () => {})
  try {
    return await question(node)
  } finally {
    node.disconnect()
  }
}
