// Who wants to know what happens. A lane writes events only while it has an outbox, a stream that this file makes and
// takes away: for an account that has an endpoint, or has pulled events lately. Nobody else pays for them.
import { keptLanes } from '../../accounts/store/kept-lanes.ts'
import { listSenders } from '../../accounts/store/senders.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys, outboxKey, rootKeys } from '../../redis/keys.ts'
import { ENTRY_FIELD } from '../outbox-entry.ts'

/** What concerns no lane of an account stands in an outbox of its own, which goes by this number. */
export const ACCOUNT_SOURCE = 0

/** An account whose last listener has gone is written for so long after that: somebody may be changing endpoints. */
const LINGER_MS = 60_000
/** How often it is noted that somebody pulls. */
const NOTED_EVERY_MS = 60_000

/** Where the events of a source of the account stand. */
export const sourceKey = (account: number, source: number): string =>
  source === ACCOUNT_SOURCE ? eventKeys(account).outbox : outboxKey(source)

/** The outboxes of the account: its own and those of its lanes, of removed senders too while anything is kept. */
export async function sourcesOf(redis: Redis, account: number): Promise<number[]> {
  return [ACCOUNT_SOURCE, ...(await keptLanes(redis, account))]
}

/**
 * From now on what happens to the account is written down. Dying in between leaves some lanes without an outbox; the
 * relay makes up for that (`tend`).
 */
export async function listen(redis: Redis, account: number): Promise<void> {
  await redis.sadd(rootKeys.eventAccounts, account)
  await redis.hdel(eventKeys(account).listening, 'nobody_since')
  await openOutboxes(redis, account)
}

/**
 * An empty stream is there as soon as one entry was; the entry itself tells of nothing. None is opened for a removed
 * sender: it would stay when the lane is forgotten at this moment.
 */
async function openOutboxes(redis: Redis, account: number): Promise<void> {
  const sources = [ACCOUNT_SOURCE, ...(await listSenders(redis, account)).map(({ id }) => id)]
  await Promise.all(sources.map((source) => openOutbox(redis, sourceKey(account, source))))
}

async function openOutbox(redis: Redis, key: string): Promise<void> {
  if ((await redis.exists(key)) === 0) await redis.xadd(key, '*', ENTRY_FIELD, '')
}

/** Nobody listens to the account any more, and what was written for it is deleted. Doing it again changes nothing. */
export async function forgetEvents(redis: Redis, account: number): Promise<void> {
  await redis.srem(rootKeys.eventAccounts, account)
  for (const source of await sourcesOf(redis, account)) await redis.del(sourceKey(account, source))
  await redis.del(eventKeys(account).listening)
}

/** Somebody pulls events of the account: they are written down for as long after that as events are kept. */
export async function notePull(redis: Redis, account: number): Promise<void> {
  const key = eventKeys(account).listening
  const now = await redisNowMs(redis)
  const last = Number((await redis.hget(key, 'pulled_at')) ?? 0)
  if (now - last < NOTED_EVERY_MS) return
  await redis.hset(key, 'pulled_at', now)
  await listen(redis, account)
}

/** All accounts that are written for. */
export async function listeningAccounts(redis: Redis): Promise<number[]> {
  return (await redis.smembers(rootKeys.eventAccounts)).map(Number).sort((a, b) => a - b)
}

/**
 * Sees that each lane of the account has an outbox, also one that was added since, and trims them to `retentionMs`. Ends
 * all of it when nobody has wanted to know for a minute.
 */
export async function tend(redis: Redis, account: number, retentionMs: number): Promise<void> {
  const keys = eventKeys(account)
  const [now, endpoints, [pulledAt, nobodySince]] = await Promise.all([
    redisNowMs(redis),
    redis.zcard(keys.endpoints),
    redis.hmget(keys.listening, 'pulled_at', 'nobody_since'),
  ])
  if (endpoints > 0 || Number(pulledAt ?? 0) > now - retentionMs) {
    await openOutboxes(redis, account)
    const oldest = String(now - retentionMs)
    const sources = await sourcesOf(redis, account)
    await Promise.all(sources.map((source) => redis.xtrim(sourceKey(account, source), 'MINID', '~', oldest)))
    return
  }
  if (!nobodySince) {
    await redis.hset(keys.listening, 'nobody_since', now)
  } else if (Number(nobodySince) < now - LINGER_MS) {
    await forgetEvents(redis, account)
  }
}
