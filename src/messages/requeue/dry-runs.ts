// Counting what a requeue would find reads every record that may match. All counts of a process take turns, a page each,
// because sending comes first; so a long one holds nobody up, and an account has only a few of them under way.
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import type { RequeueCounts, RequeueOrder } from './jobs.ts'
import { countMatching } from './search.ts'

/** Counts of one account at a time. */
const MOST_EACH = 2

/** The counts of one process: at most MOST_EACH of an account under way, and one page at a time over all of them. */
export function createDryRuns(deps: { redis: Redis; queues: LaneQueues }) {
  const underWay = new Map<number, number>()
  let last: Promise<unknown> = Promise.resolve()

  /** One page at a time, whoever's, in the order in which they are asked for. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }

  return {
    /**
     * Counts for an account; undefined when it has enough counts under way. Stops early, with what it has so far, once
     * nobody wants to know any more.
     */
    async count(account: number, order: RequeueOrder, isWanted: () => boolean): Promise<RequeueCounts | undefined> {
      const own = underWay.get(account) ?? 0
      if (own >= MOST_EACH) return undefined
      underWay.set(account, own + 1)
      try {
        return await countMatching(deps, order, { isWanted, inTurn })
      } finally {
        const left = (underWay.get(account) ?? 1) - 1
        if (left > 0) underWay.set(account, left)
        else underWay.delete(account)
      }
    },
  }
}
