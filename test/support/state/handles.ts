// What a test does with one thing that is kept: looks at it, changes it behind the service's back, breaks it, loses it.
// Nothing here knows where it is kept; the verbs beside this file do.
import type { Redis } from '../../../src/redis/connect.ts'

type Fields = Readonly<Record<string, string | number>> | ReadonlyMap<Buffer, Buffer>

const keptAt = (redis: Redis, key: string) => ({
  isThere: async (): Promise<boolean> => (await redis.exists(key)) === 1,
  /** For how many ms it is kept; -1: for ever, -2: it is not there. */
  livesMs: () => redis.pttl(key),
  /** Until when (epoch ms) it is kept. */
  livesUntil: () => redis.pexpiretime(key),
  expireIn: (ms: number) => redis.pexpire(key, ms),
  /** How many bytes of memory it takes. */
  bytesUsed: async (): Promise<number> => Number((await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0),
  /** What is true of the place that it is kept in, as which server that is. */
  at: <T>(of: (key: string) => T): T => of(key),
  remove: () => redis.del(key),
  /** Something stands in its place that nothing can be done with. */
  ruin: (text = 'broken') => redis.set(key, text),
})

/** A record: fields and what is in them. */
export const recordAt = (redis: Redis, key: string) => ({
  ...keptAt(redis, key),
  fields: () => redis.hgetall(key),
  field: (name: string) => redis.hget(key, name),
  count: () => redis.hlen(key),
  change: (fields: Fields) => redis.hset(key, fields),
  drop: (...names: string[]) => redis.hdel(key, ...names),
  /** How Redis keeps it: as few bytes, or as a table. */
  encoding: () => redis.object('ENCODING', key),
  /** Whether a command with these words reads it. */
  isReadBy: (words: readonly unknown[]): boolean => words[0] === key,
})

export type StoredRecord = ReturnType<typeof recordAt>

/** A list of names, each with a time (ms) or another number, in their order. */
export const timesAt = (redis: Redis, key: string) => ({
  ...keptAt(redis, key),
  all: () => redis.zrange(key, '0', '-1'),
  count: () => redis.zcard(key),
  /** How many have a time until this one. */
  countUntil: (ms: number) => redis.zcount(key, '-inf', ms),
  async timeOf(name: string | number): Promise<number | null> {
    const time = await redis.zscore(key, String(name))
    return time === null ? null : Number(time)
  },
  /** Gives all of these names one time. */
  put: (ms: number, ...names: (string | number)[]) => redis.zadd(key, ...names.flatMap((name) => [ms, name])),
  /** Gives each name its own time. */
  putEach: (times: readonly (readonly [name: string, ms: number])[]) =>
    redis.zadd(key, ...times.flatMap(([name, ms]) => [ms, name])),
  /** The same as `put`, of those that are there. */
  async move(ms: number, ...names: string[]): Promise<void> {
    if (names.length > 0) await redis.zadd(key, 'XX', ...names.flatMap((name) => [ms, name]))
  },
  drop: (...names: string[]) => redis.zrem(key, ...names),
})

/** A set of names. */
export const namesAt = (redis: Redis, key: string) => ({
  ...keptAt(redis, key),
  has: async (name: string | number): Promise<boolean> => (await redis.sismember(key, name)) === 1,
  add: (name: string | number) => redis.sadd(key, name),
  drop: (name: string | number) => redis.srem(key, name),
})

/** A single value. */
export const valueAt = (redis: Redis, key: string) => ({
  ...keptAt(redis, key),
  /** Something stands in its place that nothing can be done with. */
  async ruin(text: string): Promise<void> {
    await redis.del(key)
    await redis.rpush(key, text)
  },
  value: () => redis.get(key),
  /** Lives for `ms`, or for ever. */
  put: (value: string | number, ms?: number) =>
    ms === undefined ? redis.set(key, value) : redis.set(key, value, 'PX', ms),
  /** Another value that lives as long as the one before. */
  replace: (value: string | number) => redis.set(key, value, 'KEEPTTL'),
  bytes: () => redis.getBuffer(key),
})

/** A log of entries, the oldest one first. */
export const entriesAt = (redis: Redis, key: string) => ({
  ...keptAt(redis, key),
  all: () => redis.xrange(key, '-', '+'),
  count: () => redis.xlen(key),
  /** Id of the newest entry. */
  newest: async (): Promise<string | undefined> => (await redis.xrevrange(key, '+', '-', 'COUNT', 1))[0]?.[0],
  has: async (entry: string): Promise<boolean> => (await redis.xrange(key, entry, entry)).length > 0,
  add: (field: string, value: string) => redis.xadd(key, '*', field, value),
  /** The same, unless there is no log; then null. */
  addIfThere: (field: string, value: string) => redis.xadd(key, 'NOMKSTREAM', '*', field, value),
})
