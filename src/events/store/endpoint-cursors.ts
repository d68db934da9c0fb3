// How far an endpoint has got in each of its sources: the outboxes of its account and of the account's lanes.
import type { Redis } from '../../redis/connect.ts'
import { eventKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { Endpoint } from './endpoints.ts'

const moveScript = defineScript(import.meta.url, 'cursor-move')

/** The endpoint's cursors, by source. */
export async function readCursors(redis: Redis, { account, id }: Endpoint): Promise<Map<number, string>> {
  const raw = await redis.hgetall(eventKeys(account).cursors(id))
  return new Map(Object.entries(raw).map(([source, entry]) => [Number(source), entry]))
}

/** Moves them on; false when they were not at `from`. */
export async function moveCursors(
  redis: Redis,
  { account, id }: Endpoint,
  moves: readonly { source: number; from: string; to: string }[],
): Promise<boolean> {
  const keys = eventKeys(account)
  const list = moves.map(({ source, from, to }) => [String(source), from, to])
  return (await moveScript(redis, { cursors: keys.cursors(id), endpoint: keys.endpoint(id) }, { moves: list })) === 1
}

/** Deletes the cursors of the account's endpoints on a forgotten lane. */
export async function forgetCursors(redis: Redis, account: number, lane: number): Promise<void> {
  const keys = eventKeys(account)
  for (const id of await redis.zrange(keys.endpoints, 0, '-1')) await redis.hdel(keys.cursors(id), String(lane))
}
