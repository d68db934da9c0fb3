// What is kept of events that an account is told of, and of the endpoints that they are sent to.
import { sourceKey } from '../../../src/events/store/listening.ts'
import { delayedUntil, endpointDelayedKey } from '../../../src/queue/layout.ts'
import { runningRedisClock } from '../../../src/redis/clock.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { eventKeys, rootKeys } from '../../../src/redis/keys.ts'
import { entriesAt, namesAt, recordAt, timesAt } from './handles.ts'

/** The record of an endpoint. */
export const endpointRecord = (redis: Redis, account: number, id: string) =>
  recordAt(redis, eventKeys(account).endpoint(id))

/** Endpoints of an account, by when they were made. */
export const endpointsOf = (redis: Redis, account: number) => timesAt(redis, eventKeys(account).endpoints)

/** Up to where an endpoint was told, by lane. */
export const cursorsOf = (redis: Redis, account: number, id: string) => recordAt(redis, eventKeys(account).cursors(id))

/** Since when nobody has wanted events of the account. */
export const listeningOf = (redis: Redis, account: number) => recordAt(redis, eventKeys(account).listening)

/** Where what happens is written down: to the account itself (0), and on its lanes. */
export const outboxesOf = (redis: Redis, account: number, sources: readonly number[]) =>
  sources.map((source) => entriesAt(redis, sourceKey(account, source)))

/** Accounts that want to be told of events. */
export const eventAccounts = (redis: Redis) => namesAt(redis, rootKeys.eventAccounts)

/** Endpoints by when the relay looks at what waits for them, as `<account> <endpoint>`. */
export const endpointLooks = (redis: Redis) => timesAt(redis, rootKeys.dueEndpoints)

/** When the first of what waits for the endpoint is due; 0 when nothing does. */
export async function firstRetryOf(redis: Redis, id: string): Promise<number> {
  return delayedUntil((await redis.zrange(endpointDelayedKey(id), '0', '0', 'WITHSCORES'))[1] ?? '')
}

/** Redis' time, as the relay sees it. */
export const relayClock = (redis: Redis) => runningRedisClock(redis, rootKeys.relay)
