// Reads the lists of requeueable messages page by page, for requeue jobs and for dry runs, which only count.

import { archiveOf } from '../../lanes/archive/archive.ts'
import { laneDeadLettersKey } from '../../lanes/bullmq/layout.ts'
import { type ListPosition, pageOf } from '../../lanes/list-page.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { type DeadLetter, matchingDeadLetters } from './dead-letters.ts'
import { matchesRequeue } from './filter.ts'
import { noCounts, type RequeueCounts, type RequeueOrder } from './jobs.ts'
import { type Found, type Obstacle, obstacles } from './requeue.ts'

/**
 * Messages of a page. Each costs Redis some 30 µs, in commands of their own between which it serves others; a page
 * takes seven round trips, which a busy machine answers late.
 */
const PAGE = 500

/** What a lane is read from: messages with a record, then dead letters, which have none; both by when they ended. */
export const LISTS = ['messages', 'dead_letters'] as const
type List = (typeof LISTS)[number]

/** How far a lane was read: a list, and a position in it. */
export interface Cursor {
  list: List
  after: ListPosition
}

/** What is in a page of a list. */
export interface Page {
  /** Members of the list that were examined. */
  length: number
  found: Found[]
  deadLetters: DeadLetter[]
  /** Records that are not what Laneway wrote. */
  unreadable: number
  /** Undefined after the last page of the last list. */
  next: Cursor | undefined
}

/** Where to begin to read a lane: before everything that ended at `order.sinceMs` or later. */
export const beginning = (order: RequeueOrder): Cursor => ({
  list: LISTS[0],
  after: { score: order.sinceMs, member: '' },
})

/** Reads the page behind the cursor. */
export const readPage = (
  deps: { redis: Redis; queues: LaneQueues },
  lane: number,
  order: RequeueOrder,
  { list, after }: Cursor,
): Promise<Page> =>
  list === 'messages' ? readMessages(deps.redis, lane, order, after) : readDeadLetters(deps, lane, order, after)

async function readMessages(redis: Redis, lane: number, order: RequeueOrder, after: ListPosition): Promise<Page> {
  const query = { lane, endedAfter: after, endedUntilMs: order.untilMs, most: PAGE }
  const { messages, last } = await archiveOf(redis).walk(query)
  const found = messages.flatMap(({ ulid, message: record }): Found[] => {
    const matches = record !== undefined && !(record instanceof Error) && matchesRequeue(record, order.filter)
    return matches ? [{ ulid, record }] : []
  })
  const { length } = messages
  return {
    ...{ length, found, deadLetters: [] },
    unreadable: messages.filter(({ message }) => message instanceof Error).length,
    next:
      length === PAGE && last !== undefined
        ? { list: 'messages', after: last }
        : { list: 'dead_letters', after: beginning(order).after },
  }
}

async function readDeadLetters(
  deps: { redis: Redis; queues: LaneQueues },
  lane: number,
  order: RequeueOrder,
  after: ListPosition,
): Promise<Page> {
  const page = await pageOf(deps.redis, laneDeadLettersKey(lane), after, { mostScore: order.untilMs, most: PAGE })
  const names = page.map(({ member }) => member)
  const deadLetters = await matchingDeadLetters(deps, lane, names, order.filter)
  const { length } = page
  const last = page.at(-1)
  const next: Cursor | undefined = length === PAGE && last ? { list: 'dead_letters', after: last } : undefined
  return { length, found: [], deadLetters, unreadable: 0, next }
}

/** Where a message is counted that an obstacle keeps from being sent again, or none. */
export function countOf(obstacle: Obstacle | undefined): keyof RequeueCounts {
  if (obstacle === 'capped') return 'skipped_capped'
  return obstacle === 'unreadable' || obstacle === 'sender_removed' ? 'failed' : (obstacle ?? 'requeued')
}

/** How a dry run shares the process with others. */
interface Manners {
  /** It stops early, with what it has so far, once the client has gone. */
  isWanted: () => boolean
  /** Runs the work on one page after the pages of other dry runs. */
  inTurn: <T>(work: () => Promise<T>) => Promise<T>
}

/** How many messages match, and how many of them cannot be sent again; changes nothing. */
async function countMatching(
  deps: { redis: Redis; queues: LaneQueues },
  order: RequeueOrder,
  { isWanted, inTurn }: Manners = { isWanted: () => true, inTurn: (work) => work() },
): Promise<RequeueCounts> {
  const counts = noCounts()
  const countPage = async (lane: number, cursor: Cursor): Promise<Cursor | undefined> => {
    if (!isWanted()) return undefined
    const page = await readPage(deps, lane, order, cursor)
    counts.requeued += page.deadLetters.length
    counts.failed += page.unreadable
    for (const obstacle of await obstacles(deps.redis, lane, page.found)) counts[countOf(obstacle)] += 1
    return page.next
  }
  for (const lane of order.lanes) {
    for (let cursor: Cursor | undefined = beginning(order); cursor !== undefined && isWanted(); ) {
      const from: Cursor = cursor
      cursor = await inTurn(() => countPage(lane, from))
    }
  }
  return counts
}

/** Counts of one account at a time. */
const MOST_EACH = 2

/** The counts of one process: at most MOST_EACH of an account under way, and one page at a time over all of them. */
export function createDryRuns(deps: { redis: Redis; queues: LaneQueues }) {
  const underWay = new Map<number, number>()
  let last: Promise<unknown> = Promise.resolve()

  /** One page at a time, of all callers, in the order of their calls. */
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
