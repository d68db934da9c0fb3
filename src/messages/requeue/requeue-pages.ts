// The pages of a requeue job, lane by lane.
//
// Where the process may die: within a page, another worker does the page again. A requeued message has left the list and is not found
// again, even if it has failed once more. Between a page and the cursor: the same. Nothing is counted twice, because the steps write the
// counts.

import type { Config } from '../../kernel/config.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { retryDeadLetter } from './dead-letters.ts'
import { advance, noCounts, progressOf, type RequeueJob } from './jobs.ts'
import { putBack } from './requeue.ts'
import { beginning, type Cursor, countOf, LISTS, type Page, readPage } from './search.ts'

interface PageDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  queues: LaneQueues
}

/** The cursor of a lane that is done. */
const END = 'end'

/**
 * Pages in progress at once. With one, 1,520 messages a second were requeued, with two 1,950 (100,000 messages, two kills, a Redis that
 * syncs every write), and a third of the worker's time was still spent waiting.
 */
const AT_ONCE = 3

/**
 * Works on the job from its cursors. `mayGoOn` is called after each page that was not empty. True once all lanes are done; false when it
 * may not go on.
 */
export async function requeuePages(
  deps: PageDeps,
  id: string,
  { order }: RequeueJob,
  mayGoOn: () => Promise<boolean>,
): Promise<boolean> {
  for (const lane of order.lanes) {
    // Read again each time: of two workers on one job each continues from the other's cursor.
    for (let isDone = false; !isDone; ) {
      const { cursor } = await progressOf(deps.redis, lane, id)
      const end = cursor === END ? 'done' : await requeueLane(deps, lane, { id, order, cursor }, mayGoOn)
      if (end === 'held') return false
      isDone = end === 'done'
    }
  }
  return true
}

/** `elsewhere`: another worker has moved the cursor. */
type LaneEnd = 'done' | 'held' | 'elsewhere'
/** The page before: undefined when the lane goes on after it. */
type Before = Promise<LaneEnd | undefined>

async function requeueLane(
  deps: PageDeps,
  lane: number,
  { id, order, cursor }: { id: string; order: RequeueJob['order']; cursor: string },
  mayGoOn: () => Promise<boolean>,
): Promise<LaneEnd> {
  const read = (from: string) => readPage(deps, lane, order, from === '' ? beginning(order) : readCursor(from))
  const finish = async (from: string, to: string, page: Page, before: Before): Before => {
    const counts = await workOnPage(deps, lane, id, order.untilMs, page)
    // In the order of the pages: otherwise the one before would be skipped if this process died now.
    const end = await before
    if (end !== undefined) return end
    if (!(await advance(deps.redis, lane, id, { from, to, counts }))) return 'elsewhere'
    return to === END ? 'done' : undefined
  }
  const underWay: Before[] = []
  let last: Before = Promise.resolve(undefined)
  let ahead = read(cursor)
  for (let from = cursor; ; ) {
    const page = await ahead
    const to = page.next ? writeCursor(page.next) : END
    last = awaitedLater(finish(from, to, page, last))
    if (to === END) return (await last) ?? 'done'
    underWay.push(last)
    ahead = awaitedLater(read(to))
    const end = underWay.length < AT_ONCE ? undefined : await underWay.shift()
    if (end !== undefined) return end
    if (page.length > 0 && !(await mayGoOn())) return (await last) ?? 'held'
    from = to
  }
}

/** Marks a rejection as handled: the caller awaits it later, or never once another page has failed. */
function awaitedLater<T>(work: Promise<T>): Promise<T> {
  work.catch(() => {})
  return work
}

async function workOnPage(deps: PageDeps, lane: number, id: string, untilMs: number, page: Page) {
  const counts = { ...noCounts(), failed: page.unreadable }
  for (const verdict of await putBack(deps, lane, page.found, { job: { id, untilMs } })) {
    // The step itself counts what it has requeued; messages that changed meanwhile do not match any more.
    if (verdict !== 'done' && verdict !== 'ignored' && verdict !== 'missing') counts[countOf(verdict)] += 1
  }
  for (const letter of page.deadLetters) {
    if (await retryDeadLetter(deps, lane, letter)) counts.requeued += 1
  }
  if (counts.requeued > 0) deps.queues.wake(lane)
  return counts
}

const writeCursor = ({ list, after }: Cursor): string => `${list} ${after.score} ${after.member}`

function readCursor(text: string): Cursor {
  const [name, score, member = ''] = text.split(' ')
  const list = LISTS.find((each) => each === name)
  if (list === undefined) throw new Error(`not a cursor: ${text}`)
  return { list, after: { score: Number(score), member } }
}
