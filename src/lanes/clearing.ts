// Clears lanes of messages that wait but must not be sent, such as a night's backlog of expired messages. Taken one at a time, at
// the pace of the lane, they would delay the messages behind them. A claim that was refused for such a reason starts the clearing; if
// the process dies, the next refused claim starts it again.
import { randomUUID } from 'node:crypto'
import type { SendPayload } from '../jobs/send.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import type { Redis } from '../redis/connect.ts'
import { type Clearing, clearPage, filterUnsendable, isLastPage, waitingOf } from './clear.ts'

/** Where fewer than one in this many must not be sent, claims handle them: that costs less than reading all others. */
const WORTH_ONE_IN = 10
/** Most remaining jobs that are skipped: the more there are, the longer Redis takes to remove one behind them. */
const MOST_KEPT = 1_000

/** The clearing of this process: at most one of each lane and class under way. */
export function createClearing(deps: { redis: Redis; config: Pick<Config, 'retentionMs'>; log: Log }) {
  const { redis, log } = deps
  const by = randomUUID()
  const underWay = new Set<string>()
  let isStopped = false

  async function clear(lane: number, of: SendPayload['class']): Promise<void> {
    const clearing = { lane, of, by }
    if (!(await filter(clearing))) return
    const total = { expired: 0, stopped: 0 }
    for (let kept = 0; kept < MOST_KEPT && !isStopped; ) {
      const page = await clearPage(redis, clearing, { kept, retentionMs: deps.config.retentionMs })
      if (page === undefined) break
      const cleared = page.expired + page.stopped
      total.expired += page.expired
      total.stopped += page.stopped
      kept += page.seen - cleared
      if (isLastPage(page) || cleared * WORTH_ONE_IN < page.seen) break
    }
    if (total.expired + total.stopped > 0) log.info({ lane, class: of, ...total }, 'lane.cleared')
  }

  /** Moves sendable jobs to the front. False when there is nothing to clear, or another process is clearing. */
  async function filter(clearing: Clearing): Promise<boolean> {
    let left = await waitingOf(redis, clearing)
    let isWorthIt = false
    for (let kept = 0; kept < MOST_KEPT && left > 0 && !isStopped; ) {
      const page = await filterUnsendable(redis, clearing, { kept, most: left })
      if (page === undefined) return false
      if (page.moved > 0) isWorthIt = true
      // Moved jobs are not examined again.
      left -= page.seen
      kept += page.seen - page.moved
      if (page.seen === 0 || page.moved * WORTH_ONE_IN < page.seen) break
    }
    return isWorthIt
  }

  return {
    /** Begins to clear the waiting messages of a class, unless this process already does. Never rejects. */
    begin(lane: number, of: SendPayload['class']): void {
      const name = `${lane} ${of}`
      if (isStopped || underWay.has(name)) return
      underWay.add(name)
      clear(lane, of)
        .catch((error: unknown) => log.warn({ lane, err: error }, 'lane.not_cleared'))
        .finally(() => underWay.delete(name))
    },

    stop(): void {
      isStopped = true
    },
  }
}
