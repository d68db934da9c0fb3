// A batcher of steps: those of one lane in the same event-loop tick go to Redis as one script call, which costs one round
// trip and one sync of Redis' file. (redis/connections.ts batches the writes to the socket.)
import type { Redis } from './connect.ts'

/** Background batches are spread over this many moments. */
const PHASES = 8
/**
 * A step of one thing costs almost as much as one of several. With twice this many groups each is taken half as often,
 * and with three times as many or more a third as often.
 */
const MANY_GROUPS = 64
const LEAST_OFTEN = 3

/** Most messages of one step: it blocks Redis for some 3 ms. */
const MOST = 100

interface Batch<Item, Result> {
  items: Item[]
  /** Takes it at once. */
  full: () => void
  results: Promise<readonly (Result | Error)[]>
}

/**
 * Makes a function that takes a step of one thing together with all others of the same `group`. `take` takes many and resolves
 * to a result for each, in their order; a result that is an Error rejects for that one alone.
 *
 * With `waitMs`, for steps that nobody awaits, groups are taken that often, an eighth of them at a time: all at once held up
 * what waits for its slot by some 20 ms at 300 lanes.
 */
export function createBatcher<Item, Result = unknown>(
  take: (redis: Redis, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  waitMs = 0,
) {
  const open = new WeakMap<Redis, Map<number, Batch<Item, Result>>>()

  return async (redis: Redis, group: number, item: Item): Promise<Result> => {
    let groups = open.get(redis)
    if (groups === undefined) {
      groups = new Map()
      open.set(redis, groups)
    }
    let batch = groups.get(group)
    if (batch === undefined || batch.items.length >= MOST) {
      const begun: Batch<Item, Result> = { items: [], full: () => undefined, results: Promise.resolve([]) }
      begun.results = new Promise<void>((isDue) => {
        begun.full = isDue
        if (waitMs === 0) setImmediate(isDue)
        else setTimeout(isDue, msUntilDue(group, groups.size, waitMs))
      }).then(() => {
        if (groups.get(group) === begun) groups.delete(group)
        return take(redis, begun.items)
      })
      groups.set(group, begun)
      batch = begun
    }
    const place = batch.items.push(item) - 1
    if (batch.items.length >= MOST) batch.full()
    const result = (await batch.results)[place]
    if (result === undefined) throw new Error('a step of many has no result for one of them')
    if (result instanceof Error) throw result
    return result
  }
}

function msUntilDue(group: number, groups: number, waitMs: number): number {
  const rounds = Math.min(LEAST_OFTEN, Math.max(1, Math.floor(groups / MANY_GROUPS)))
  const phaseMs = ((group % PHASES) / PHASES) * waitMs
  return rounds * waitMs - ((performance.now() + phaseMs) % waitMs)
}
