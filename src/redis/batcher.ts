// A batcher of steps: those of one lane in the same event-loop tick go to Redis as one script call, which costs one round
// trip and one sync of Redis' file. (redis/joined-writes.ts joins the writes to the socket.)
import { Bell } from '../kernel/bell.ts'
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

interface Batch<Item, Result> {
  items: Item[]
  /** Who awaits each item. */
  waiting: { resolve: (result: Result) => void; reject: (error: Error) => void }[]
  /** Rings when it is due, or full. */
  bell: Bell
}

/**
 * Makes a function that takes a step of one thing together with all others of the same `group`, and resolves to what came of it, or
 * rejects with the Error of that one. `take` takes many and resolves to a result for each, in their order; a result that is an Error is
 * of that one alone.
 *
 * `everyMs` is for steps that may be late. A group is then taken that often instead of every tick, and many groups at the same
 * moment: what they write leaves in one write, and Redis syncs its file once for all of them.
 */
export function createBatcher<Item, Result = unknown>(
  take: (redis: Redis, items: readonly Item[]) => Promise<readonly (Result | Error)[]>,
  everyMs = 0,
): (redis: Redis, group: number, item: Item) => Promise<Result> {
  const open = new WeakMap<Redis, Map<number, Batch<Item, Result>>>()
  const moments = new SharedMoments()

  async function takeAll(redis: Redis, { items, waiting }: Batch<Item, Result>): Promise<void> {
    let results: readonly (Result | Error)[] = []
    let failure: Error | undefined
    try {
      results = await take(redis, items)
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
    }
    let i = 0
    for (const { resolve, reject } of waiting) {
      const result = results[i] ?? failure ?? new Error('a step of many has no result for one of them')
      i += 1
      if (result instanceof Error) reject(result)
      else resolve(result)
    }
  }

  async function takeWhenDue(redis: Redis, group: number, batch: Batch<Item, Result>): Promise<void> {
    const groups = groupsOf(redis)
    if (everyMs === 0) setImmediate(() => void batch.bell.ring())
    const takeBack = everyMs === 0 ? undefined : moments.at(dueAt(group, groups.size, everyMs), batch.bell)
    groups.set(group, batch)
    await batch.bell.rung()
    takeBack?.()
    if (groups.get(group) === batch) groups.delete(group)
    await takeAll(redis, batch)
  }

  function groupsOf(redis: Redis): Map<number, Batch<Item, Result>> {
    let groups = open.get(redis)
    if (groups === undefined) {
      groups = new Map()
      open.set(redis, groups)
    }
    return groups
  }

  return (redis, group, item) => {
    let batch = groupsOf(redis).get(group)
    if (batch === undefined || batch.items.length >= MOST) {
      batch = { items: [], waiting: [], bell: new Bell() }
      void takeWhenDue(redis, group, batch)
    }
    const { items, waiting, bell } = batch
    return new Promise((resolve, reject) => {
      items.push(item)
      waiting.push({ resolve, reject })
      if (items.length >= MOST) void bell.ring()
    })
  }
}

/** When the steps of a group are due (`performance.now()`). */
function dueAt(group: number, groups: number, everyMs: number): number {
  const rounds = Math.min(LEAST_OFTEN, Math.max(1, Math.floor(groups / MANY_GROUPS)))
  const phases = Math.min(MOST_PHASES, Math.ceil((groups + 1) / GROUPS_AT_ONCE))
  const phaseMs = ((group % phases) / phases) * everyMs
  return (Math.floor((performance.now() + phaseMs) / everyMs) + rounds) * everyMs - phaseMs
}
