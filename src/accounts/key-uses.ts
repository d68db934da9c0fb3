// When, from where and how often keys are used, so that a person can see which of them may be revoked, and which has leaked. Stored apart
// from the keys' records: a use is written late and may be lost, and must never bring back half of an expired record.
//
// A busy key is used a thousand times a second: a process gathers its uses and writes them once a minute. Addresses are personal data:
// they are kept for 30 days, one for each key and day.
import { DAY_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { keyUsesKey, keyUsesOfDayKey } from '../redis/keys.ts'

/** A day (UTC) on which a key was used. */
export interface DayOfUse {
  /** `2026-11-27` */
  day: string
  count: number
  /** The last address; null where only jobs over Redis came with it. */
  from: string | null
}

/** The uses of a key: the last one (epoch ms, to the minute), and the days, the latest first. */
export interface KeyUses {
  lastMs: number
  days: readonly DayOfUse[]
}

const WRITTEN_EVERY_MS = 60_000
const KEPT_DAYS = 30
/** Keys gathered per process; beyond it all are written, which costs a write for each used key. */
const MOST = 10_000
/** How often the address of a request is determined: behind proxies that is some work. */
const ADDRESS_EVERY_MS = 1_000

interface Gathered {
  account: number
  /** Since the last write. */
  count: number
  lastMs: number
  from: string
  fromAtMs: number
  writtenAtMs: number
}

interface Uses {
  keys: Map<string, Gathered>
  timer: NodeJS.Timeout | undefined
}

const usesOf = new WeakMap<Redis, Uses>()

/**
 * Records a use of the key; `from` returns the address of the client, if there is one. The first use is written at once, the others within
 * a minute. Never rejects and is never awaited.
 */
export function noteKeyUse(
  redis: Redis,
  { account, id }: { account: number; id: string },
  nowMs: number,
  from?: () => string,
): void {
  const uses = usesOf.get(redis) ?? { keys: new Map<string, Gathered>(), timer: undefined }
  usesOf.set(redis, uses)
  let use = uses.keys.get(id)
  if (use === undefined) {
    if (uses.keys.size >= MOST) forgetAll(redis, uses)
    use = { account, count: 0, lastMs: 0, from: '', fromAtMs: 0, writtenAtMs: 0 }
    uses.keys.set(id, use)
  }
  use.count += 1
  use.lastMs = nowMs
  if (from !== undefined && nowMs - use.fromAtMs >= ADDRESS_EVERY_MS) {
    use.from = from()
    use.fromAtMs = nowMs
  }
  if (nowMs - use.writtenAtMs >= WRITTEN_EVERY_MS) void write(redis, id, use)
  else uses.timer ??= setTimeout(() => void writeKeyUses(redis), WRITTEN_EVERY_MS).unref()
}

function forgetAll(redis: Redis, uses: Uses): void {
  void writeKeyUses(redis)
  uses.keys.clear()
}

/** Writes the gathered uses, also when the process stops. */
export async function writeKeyUses(redis: Redis): Promise<void> {
  const uses = usesOf.get(redis)
  if (uses === undefined) return
  clearTimeout(uses.timer)
  uses.timer = undefined
  await Promise.all([...uses.keys].map(([id, use]) => (use.count > 0 ? write(redis, id, use) : undefined)))
}

/** If Redis is full or away, the uses are lost. */
async function write(redis: Redis, id: string, use: Gathered): Promise<void> {
  const { account, count, lastMs, from } = use
  use.count = 0
  use.writtenAtMs = lastMs
  const day = keyUsesOfDayKey(account, dayOf(lastMs))
  try {
    await Promise.all([
      redis.hset(keyUsesKey(account), id, lastMs),
      redis.hincrby(day, id, count),
      from === '' ? undefined : redis.hset(day, fromField(id), from),
      redis.pexpire(day, (KEPT_DAYS + 1) * DAY_MS),
    ])
  } catch {
    // Not awaited.
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
/** Beside the count of the key. */
const fromField = (id: string): string => `${id} from`

const keptDays = (nowMs: number): string[] => Array.from({ length: KEPT_DAYS }, (_, ago) => dayOf(nowMs - ago * DAY_MS))

/** Key id → its uses; a key that was never used is missing. */
export async function readKeyUses(redis: Redis, account: number, nowMs: number): Promise<ReadonlyMap<string, KeyUses>> {
  const days = keptDays(nowMs)
  const [last, ...perDay] = await Promise.all([
    redis.hgetall(keyUsesKey(account)),
    ...days.map((day) => redis.hgetall(keyUsesOfDayKey(account, day))),
  ])
  return new Map(
    Object.entries(last).map(([id, ms]) => [
      id,
      {
        lastMs: Number(ms),
        days: days.flatMap((day, i) => {
          const count = perDay[i]?.[id]
          return count === undefined ? [] : { day, count: Number(count), from: perDay[i]?.[fromField(id)] ?? null }
        }),
      },
    ]),
  )
}

/** Forgets the uses of these keys, or of all of the account. */
export async function forgetKeyUses(
  redis: Redis,
  account: number,
  nowMs: number,
  ids?: readonly string[],
): Promise<void> {
  const keys = [keyUsesKey(account), ...keptDays(nowMs).map((day) => keyUsesOfDayKey(account, day))]
  if (ids === undefined) await Promise.all(keys.map((key) => redis.del(key)))
  else if (ids.length > 0) {
    const fields = ids.flatMap((id) => [id, fromField(id)])
    await Promise.all(keys.map((key) => redis.hdel(key, ...fields)))
  }
}
