// The outboxes of lanes. A lane writes events only while it has an outbox, a stream that this file creates and removes: for
// an account that has an endpoint, or has pulled events lately. Other accounts pay nothing for events.

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { retainedLanes } from '../../accounts/retained-lanes.ts'
import { laneIdsOf } from '../../accounts/senders.ts'
import { ENTRY } from '../../model/events/outbox-entry.ts'
import { redisNowMs, trustedRedisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys, outboxClosingKey, outboxKey, rootKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'

/** The number of the outbox for events of an account that concern no lane. */
export const ACCOUNT_SOURCE = 0

/** How long outboxes stay open after the last listener has gone: somebody may be changing endpoints. */
const LINGER_MS = 60_000
/** How often a pull is recorded. */
const NOTED_EVERY_MS = 60_000

/** Accounts whose endpoints are counted at once. */
const ACCOUNTS_AT_ONCE = 100

const stateScript = defineScript(import.meta.url, 'listening-state')
const openScript = defineScript(import.meta.url, 'outbox-open', { names: { ENTRY } })
const closeScript = defineScript(import.meta.url, 'outbox-close')

/** The key of an outbox of the account. */
export const sourceKey = (account: number, source: number): string =>
  source === ACCOUNT_SOURCE ? eventKeys(account).outbox : outboxKey(source)

/** The outboxes of the account: its own and those of its lanes, of removed senders too while anything is kept. */
export async function sourcesOf(redis: Redis, account: number): Promise<number[]> {
  return [ACCOUNT_SOURCE, ...(await retainedLanes(redis, account))]
}

/**
 * Opens the outboxes of an account. Call it after the endpoint or the pull was written: a relay that is about to close them then finds
 * that, or marked the outboxes before they are opened here. Dying in between leaves some lanes without an outbox, or the account off the
 * list; the relay repairs that (`maintainOutboxes`, `listenAgain`).
 */
export async function listen(redis: Redis, account: number): Promise<void> {
  await openOutboxes(redis, account)
  await redis.sadd(rootKeys.eventAccounts, account)
}

/** None is opened for a removed sender: it would stay when the lane is forgotten at this moment. */
async function openOutboxes(redis: Redis, account: number): Promise<void> {
  const sources = [ACCOUNT_SOURCE, ...(await laneIdsOf(redis, account))]
  await Promise.all(sources.map((source) => openScript(redis, keysOf(account, source))))
}

/** Marks outboxes as about to be closed; the returned function closes those that nobody has opened since. */
async function markOutboxes(redis: Redis, account: number, sources: readonly number[]): Promise<() => Promise<void>> {
  const by = randomBytes(9).toString('base64url')
  const all = sources.map((source) => keysOf(account, source))
  await Promise.all(all.map(({ closing }) => redis.set(closing, by, 'PX', LINGER_MS)))
  return async () => {
    await Promise.all(all.map((keys) => closeScript(redis, keys, { by })))
  }
}

/** An outbox, and the mark that it is about to be closed. */
function keysOf(account: number, source: number) {
  const closing = source === ACCOUNT_SOURCE ? eventKeys(account).outboxClosing : outboxClosingKey(source)
  return { outbox: sourceKey(account, source), closing }
}

/** Closes the outboxes of an account without listeners, and deletes their content. Idempotent. */
export async function forgetEvents(redis: Redis, account: number): Promise<void> {
  await redis.srem(rootKeys.eventAccounts, account)
  for (const source of await sourcesOf(redis, account)) await redis.del(sourceKey(account, source))
  await redis.del(eventKeys(account).listening)
}

/** Records a pull: the account's events are written for as long after it as events are kept. */
export async function notePull(redis: Redis, account: number): Promise<void> {
  const key = eventKeys(account).listening
  const now = await redisNowMs(redis)
  const last = Number((await redis.hget(key, 'pulled_at')) ?? 0)
  if (now - last < NOTED_EVERY_MS) return
  await redis.hset(key, 'pulled_at', now)
  await listen(redis, account)
}

/** All accounts with open outboxes. */
export async function listeningAccounts(redis: Redis): Promise<number[]> {
  return (await redis.smembers(rootKeys.eventAccounts)).map(Number).sort((a, b) => a - b)
}

/** Opens the outboxes of accounts that have endpoints but are not on the list, as after a crash. */
export async function listenAgain(redis: Redis): Promise<void> {
  const listed = new Set(await redis.smembers(rootKeys.eventAccounts))
  const others = (await redis.smembers(rootKeys.accounts)).filter((account) => !listed.has(account)).map(Number)
  for (let at = 0; at < others.length; at += ACCOUNTS_AT_ONCE) {
    const some = others.slice(at, at + ACCOUNTS_AT_ONCE)
    const counts = await Promise.all(some.map((account) => redis.zcard(eventKeys(account).endpoints)))
    for (const [i, account] of some.entries()) if (counts[i] !== 0) await listen(redis, account)
  }
}

/**
 * Makes sure that each lane of the account has an outbox, also new ones, and trims them to `retentionMs`. Closes all of them after a
 * minute without listeners.
 */
export async function maintainOutboxes(redis: Redis, account: number, retentionMs: number): Promise<void> {
  const state = await stateOf(redis, account, retentionMs)
  if (state === 'over') return endListening(redis, account, retentionMs)
  if (state === 'lingers') return
  await openOutboxes(redis, account)
  const oldest = String((await trustedRedisNowMs(redis)) - retentionMs)
  const sources = await sourcesOf(redis, account)
  await Promise.all(sources.map((source) => redis.xtrim(sourceKey(account, source), 'MINID', '~', oldest)))
}

async function stateOf(redis: Redis, account: number, retentionMs: number, forget = false) {
  const { endpoints, listening } = eventKeys(account)
  const args = { now: await redisNowMs(redis), retentionMs, lingerMs: LINGER_MS, forget }
  return z.enum(['wanted', 'lingers', 'over']).parse(await stateScript(redis, { endpoints, listening }, args))
}

/**
 * Closes the outboxes of an account and takes it off the list, unless it has a listener again. Outboxes are marked, the listeners are
 * checked again, then those are closed that nobody has opened since the mark: however long this process is frozen in between, no outbox
 * in use is closed. Dying in between leaves an account that is maintained again, or at the very end one that `listenAgain` finds if it
 * has an endpoint by then. All of it is repeated once the account is off the list, for senders that were added meanwhile.
 */
async function endListening(redis: Redis, account: number, retentionMs: number): Promise<void> {
  const close = await markOutboxes(redis, account, await sourcesOf(redis, account))
  if ((await stateOf(redis, account, retentionMs)) !== 'over') return
  await close()
  await redis.srem(rootKeys.eventAccounts, account)
  const closeRest = await markOutboxes(redis, account, await sourcesOf(redis, account))
  if ((await stateOf(redis, account, retentionMs, true)) !== 'over') return listen(redis, account)
  await closeRest()
}
