// Asks for many things at once, which in a cluster lie on several servers: a command for one that stays away never ends, as long as the
// connection of a worker waits for it, and must not hold up what is on the others.
import { isCluster, type Redis } from './connect.ts'
import { isRedisAway, RedisUnavailableError, withTimeout } from './errors.ts'
import { ELECTED_MS } from './lock.ts'

/** A worker that is elected to do what is done once asks about two things before it renews that. */
const ANSWER_MS = ELECTED_MS / 4
/** So many at once: all of thousands would hold up what comes after them. */
const AT_ONCE = 200

/** What each connection has been asked and has not answered. Each question is asked once: else they would add up for as long as it takes. */
const unanswered = new WeakMap<Redis, Set<string>>()

/**
 * The results for all items, in their order; in a cluster without those whose server does not answer. Rejects with whatever else went
 * wrong. `what` is asked, and an item's name says of what: while that is unanswered, nobody asks it again.
 */
export async function whereAnswered<T, R>(
  redis: Redis,
  items: readonly T[],
  { what, nameOf = String, ask }: { what: string; nameOf?: (item: T) => string; ask: (item: T) => Promise<R> },
): Promise<R[]> {
  const open = unanswered.get(redis) ?? new Set()
  unanswered.set(redis, open)
  const askOnce = (item: T): Promise<R> => {
    const name = `${what} ${nameOf(item)}`
    if (open.has(name)) return Promise.reject(new RedisUnavailableError(`still unanswered: ${name}`))
    open.add(name)
    return withTimeout(
      ANSWER_MS,
      ask(item).finally(() => open.delete(name)),
    )
  }
  const answers: R[] = []
  for (let from = 0; from < items.length; from += AT_ONCE) {
    const some = items.slice(from, from + AT_ONCE)
    const ends = await Promise.allSettled(some.map(isCluster(redis) ? askOnce : ask))
    for (const end of ends) {
      if (end.status === 'fulfilled') answers.push(end.value)
      else if (!(isCluster(redis) && isRedisAway(end.reason))) throw end.reason
    }
  }
  return answers
}

/**
 * What is done on one server: in a cluster it rejects as for a Redis that is away when it takes longer than `ms`. The work itself goes on,
 * and ends when the server is back.
 */
export const whileAnswering = <T>(redis: Redis, work: Promise<T>, ms: number): Promise<T> =>
  isCluster(redis) ? withTimeout(ms, work) : work
