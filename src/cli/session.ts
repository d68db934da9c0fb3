// What commands share while they run: the connection to Redis, by the address that is set or that a running `npm start` names; the
// accounts and senders that people name; questions before something that cannot be taken back; and the record of who did what.
import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { z } from 'zod'
import { type Account, findAccount, findKeptAccount, type KeptAccount } from '../accounts/accounts.ts'
import { appendToAuditLog } from '../accounts/audit-log.ts'
import { findNamedSender, notASender } from '../accounts/named-senders.ts'
import type { Sender } from '../accounts/senders.ts'
import { openFiles } from '../files/open.ts'
import type { Config } from '../kernel/config.ts'
import { isRedisAddress, shownRedis } from '../kernel/redis-address.ts'
import { useDataKeys } from '../kernel/sealed.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { useOptOutSecrets } from '../people/opt-outs/erased.ts'
import { openOrThrow, type Redis } from '../redis/connect.ts'
import { noteDataKeys } from '../redis/data-keys.ts'
import { migrate } from '../redis/migrations.ts'
import { requireReplicas } from '../redis/replication.ts'
import { CliFailure, reasonOf } from './failure.ts'
import type { Acted, CommandContext } from './verb.ts'

/** A cluster, or Sentinel, has others to ask when the first server is gone. */
const OPEN_LIMIT_MS = 10_000

/** Runs `work` with a connection to Redis that answers, and closes everything that was opened afterwards. */
export async function inSession<T>(
  config: Config,
  terminal: Pick<CommandContext, 'stdin' | 'stderr'>,
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const url = redisUrlOf(config)
  // Trouble after that is reported by the command that it hits.
  const redis = await openOrThrow(url, OPEN_LIMIT_MS).catch((error: unknown) => {
    throw new CliFailure(`Redis at ${shownRedis(url)} cannot be used: ${reasonOf(error)}.`, 3)
  })
  requireReplicas(redis, config.redisMinReplicas)
  const opened: { close(): Promise<unknown> }[] = []
  try {
    await migrate(redis)
    await noteDataKeys(redis, config.dataKeys, { retentionMs: config.retentionMs, nowMs: Date.now() })
    useDataKeys(config.dataKeys)
    useOptOutSecrets(() => secretKeysOf(config))
    const files = await openFiles(config)
    opened.push({ close: async () => files.close() })
    return await work({
      ...{ redis, stdin: terminal.stdin, stderr: terminal.stderr },
      config: { ...config, files },
      use(resource) {
        opened.push(resource)
        return resource
      },
    })
  } finally {
    // Whatever one of them says, the connection would keep the process alive.
    for (const each of opened.reverse()) await each.close().catch(() => undefined)
    redis.disconnect()
  }
}

const demoFile = z.object({ redis_url: z.string().refine(isRedisAddress) })

/** REDIS_URL, else the private Redis that a running `npm start` names in its data folder. */
function redisUrlOf(config: Config): string {
  if (config.redisUrl !== undefined) return config.redisUrl
  const path = join(config.dataDir, 'demo.json')
  const demo = demoFile.safeParse(readJson(path))
  if (demo.success) return demo.data.redis_url
  throw new CliFailure(`No Redis configured: set REDIS_URL, or run \`npm start\`, which writes its address to ${path}.`)
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

/** The queues of all lanes. BullMQ takes longer to load than all that most commands need, so it is loaded only here. */
export async function laneQueues({ redis, config, use }: CommandContext): Promise<LaneQueues> {
  const { openLaneQueues } = await import('../lanes/queues.ts')
  return use(openLaneQueues(redis, config.retentionMs))
}

/** The account, or a failure that names it. */
export async function existingAccount(redis: Redis, id: number): Promise<Account> {
  const account = await findAccount(redis, id)
  if (account === undefined) throw noAccount(id)
  return account
}

/** The same, or a removed one that something is kept of. */
export async function keptAccount(redis: Redis, id: number): Promise<KeptAccount> {
  const account = await findKeptAccount(redis, id)
  if (account === undefined) throw noAccount(id)
  return account
}

const noAccount = (id: number) => new CliFailure(`Account ${id} does not exist, see \`accounts list\`.`)

/** The one sender that is named so by number, name or id; a CliFailure when none or several are. */
export async function senderNamed(redis: Redis, name: string): Promise<Sender> {
  const sender = await findNamedSender(redis, name)
  if (sender === undefined) throw new CliFailure(`${notASender(name)}, see \`senders list\`.`)
  return sender
}

/**
 * Asks a person before something that cannot be taken back. Returns once they agreed to `sentence`. A CliFailure with
 * `otherwise`, which names the option that agrees, when nobody can be asked, as in a script; one with `declined` when they refuse.
 */
export async function confirm(
  { stdin, stderr }: Pick<CommandContext, 'stdin' | 'stderr'>,
  {
    sentence,
    declined,
    otherwise = 'Confirm with --yes.',
  }: { sentence: string; declined: string; otherwise?: string | undefined },
): Promise<void> {
  if (!('isTTY' in stdin && stdin.isTTY)) throw new CliFailure(`${sentence}. ${otherwise}`, 2)
  const asking = createInterface({ input: stdin, output: stderr })
  const answer = await asking.question(`${sentence}. Continue? [y/N] `)
  asking.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliFailure(declined)
}

/** The name of the person who is logged in. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that has no name.
    return String(process.getuid?.() ?? '')
  }
}

/** The same as the sentence of a pause has it. */
export const personHere = (): string => `${userName()} on the command line`

/** Writes into the activity what was done; rejects when Redis does not take it. */
export async function recordActs(
  redis: Redis,
  action: string | undefined,
  acted: Acted | readonly Acted[] | undefined,
): Promise<void> {
  if (action === undefined || acted === undefined) return
  const all = 'account' in acted ? [acted] : acted
  for (const each of all) await appendToAuditLog(redis, { actor: { cli: userName() }, action, ...each }, Date.now())
}
