// The one place that writes the activity. Two lists: the account's, so that a busy account pushes out nobody else's,
// and the installation's, which has them all in one order. Each is a stream, one key and so one slot, bounded in count
// and in time.
//
// An act is written down once it is done. Whoever dies in between has done something that the list does not tell; the
// other way round it would tell of what was never done.
import type { Redis } from '../../redis/connect.ts'
import { accountActivityKey, rootKeys } from '../../redis/keys.ts'
import { ACT_TEXT_MAX, type Act } from './entry.ts'

export const ACTIVITY_KEPT_MS = 90 * 86_400_000
/** Some 150 bytes each. */
const MOST_OF_ACCOUNT = 10_000
const MOST_IN_ALL = 100_000

/** Writes an act down. Rejects when Redis does not take it: the act itself is done all the same. */
export async function recordAct(redis: Redis, act: Act, nowMs: number): Promise<void> {
  const { actor, account, action, target, detail, requestId } = act
  const fields = {
    ...('cli' in actor ? { cli: actor.cli } : { key: actor.key_id ?? '', name: actor.key_name }),
    account: String(account),
    action,
    target: target ?? '',
    detail: detail ?? '',
    request: requestId ?? '',
  }
  const list = Object.entries(fields).flatMap(([name, value]) => [name, value.slice(0, ACT_TEXT_MAX)])
  await Promise.all([
    append(redis, accountActivityKey(account), MOST_OF_ACCOUNT, list, nowMs),
    append(redis, rootKeys.activity, MOST_IN_ALL, list, nowMs),
  ])
}

/** In the order of the connection; only the first command matters, the others bound what there is. */
async function append(redis: Redis, key: string, most: number, fields: string[], nowMs: number): Promise<void> {
  await Promise.all([
    redis.xadd(key, 'MAXLEN', '~', most, '*', ...fields),
    redis.xtrim(key, 'MINID', '~', nowMs - ACTIVITY_KEPT_MS),
    redis.pexpire(key, ACTIVITY_KEPT_MS),
  ])
}
