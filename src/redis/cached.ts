// Keeps what was read from Redis for a moment. Accepting a message needs its key, account, template and sender, which
// seldom change: read anew for each message they cost three round trips and 250 of 430 µs of CPU time, and none of it anew.
import type { Redis } from './connect.ts'

/** Old entries go first when there are more; a credential's entry is about half a KB. */
const MOST = 10_000

type Key = string | number | boolean

/**
 * A read whose answers are kept for `keptMs`, in this process and per connection: a change takes effect within that
 * time. What is not there is not kept, so that something new is found at once, and neither is a failure. Reads of the
 * same at the same time are one read. Answers are shared: they must not be changed.
 */
export function recently<A extends readonly Key[], V>(
  keptMs: number,
  read: (redis: Redis, ...args: A) => Promise<V | undefined>,
): (redis: Redis, ...args: A) => Promise<V | undefined> {
  const connections = new WeakMap<Redis, Map<string, { answer: Promise<V | undefined>; until: number }>>()
  return (redis, ...args) => {
    const kept = connections.get(redis) ?? new Map()
    connections.set(redis, kept)
    const key = JSON.stringify(args)
    const now = performance.now()
    const known = kept.get(key)
    if (known && known.until > now) return known.answer

    const answer = read(redis, ...args)
    const entry = { answer, until: now + keptMs }
    const forget = (): void => {
      if (kept.get(key) === entry) kept.delete(key)
    }
    kept.delete(key)
    kept.set(key, entry)
    answer.then((value) => value === undefined && forget(), forget)
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST) break
      kept.delete(oldest)
    }
    return answer
  }
}
