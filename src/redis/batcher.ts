// A batcher of steps: those of one lane in the same event-loop tick go to Redis as one script call, which costs one round
// trip and one sync of Redis' file. (redis/joined-writes.ts joins the writes to the socket.)
import { SharedMoments } from '../kernel/shared-ticks.ts'
import type { Redis } from './connect.ts'

/**
 * Groups that are taken in the background share moments: about this many each, and at most MOST_PHASES moments. When 300 lanes had
 * one moment, messages were late for their slots.
 */
const GROUPS_AT_ONCE = 40
const MOST_PHASES = 8
/**
 * With twice this many groups or more, each is taken half as often. Otherwise most steps would be of one thing, and cost almost as much as
 * steps of several.
 */
const MANY_GROUPS = 64
const LEAST_OFTEN = 2

/** Most messages of one step: it blocks Redis for some 3 ms. */
const MOST = 100

/** What a step has come to for one thing. */
export type Done<Result> = (result: Result | Error) => void

interface Batch<Item, Result> {
  items: Item[]
  /** Of each item. */
  done: Done<Result>[]
  /** Takes it at once. */
  full: () => void
}

/**
 * Makes a function that takes a step of one thing together with all others of the same `group`, and calls `done` with what came of
 * it. `take` takes many and resolves to a result for each, in their order; a result that is an Error is of that one alone.
 *
 * `everyMs` is for steps that nobody awaits. A group is then taken that often instead of every tick, and many groups at the same
 * moment: what they write leaves in one write, and Redis syncs its file once for all of them.
 */
export function gatherSteps<Item, Result = unknown>(
  take: (redis: Redis, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  everyMs = 0,
): (redis: Redis, group: number, item: Item, done: Done<Result>) => void {
  const open = new WeakMap<Redis, Map<number, Batch<Item, Result>>>()
  const moments = new SharedMoments()

  async function takeAll(redis: Redis, { items, done }: Batch<Item, Result>): Promise<void> {
    let results: readonly (Result | Error)[] = []
    let failure: Error | undefined
    try {
      results = await take(redis, items)
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
    }
    for (const [i, each] of done.entries()) {
      try {
        each(results[i] ?? failure ?? new Error('a step of many has no result for one of them'))
      } catch (error) {
        // A fault of one must not keep the others from their results.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }

  return (redis, group, item, done) => {
    let groups = open.get(redis)
    if (groups === undefined) {
      groups = new Map()
      open.set(redis, groups)
    }
    let batch = groups.get(group)
    if (batch === undefined || batch.items.length >= MOST) {
      const begun: Batch<Item, Result> = { items: [], done: [], full: () => undefined }
      const all = groups
      const due = (): void => {
        begun.full = () => undefined
        if (all.get(group) === begun) all.delete(group)
        void takeAll(redis, begun)
      }
      if (everyMs === 0) setImmediate(due)
      else {
        const cancel = moments.at(dueAt(group, groups.size, everyMs), due)
        begun.full = () => {
          cancel()
          due()
        }
      }
      groups.set(group, begun)
      batch = begun
    }
    batch.items.push(item)
    batch.done.push(done)
    if (batch.items.length >= MOST) batch.full()
  }
}

/** The same for who awaits the step: the function resolves to the result, or rejects with the Error of that one. */
export function createBatcher<Item, Result = unknown>(
  take: (redis: Redis, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
): (redis: Redis, group: number, item: Item) => Promise<Result> {
  const gather = gatherSteps(take)
  return (redis, group, item) =>
    new Promise((resolve, reject) => {
      gather(redis, group, item, (result) => (result instanceof Error ? reject(result) : resolve(result)))
    })
}

/** When the steps of a group are due (`performance.now()`). */
function dueAt(group: number, groups: number, everyMs: number): number {
  const rounds = Math.min(LEAST_OFTEN, Math.max(1, Math.floor(groups / MANY_GROUPS)))
  const phases = Math.min(MOST_PHASES, Math.ceil((groups + 1) / GROUPS_AT_ONCE))
  const phaseMs = ((group % phases) / phases) * everyMs
  return (Math.floor((performance.now() + phaseMs) / everyMs) + rounds) * everyMs - phaseMs
}
