// Semaphores: how much work of one kind is done at the same time, over all accounts and for each of them.
import { setImmediate as nextIteration } from 'node:timers/promises'

/** Releases the permit. Idempotent. */
export type Release = () => void

export type Semaphore = ReturnType<typeof createSemaphore>

/** Lets at most `atOnce` pieces of work run at a time, in the order in which they came. */
export function createSemaphore(atOnce: number) {
  let running = 0
  const waiting: (() => void)[] = []

  async function acquire(): Promise<Release> {
    if (running < atOnce) running += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  return {
    acquire,
    /**
     * Runs the work when a permit is free, in an iteration of the event loop of its own: work that was queued together must
     * not run back to back. Undefined when nobody wants the result any more by then.
     */
    async run<T>(work: () => T | Promise<T>, isWanted: () => boolean): Promise<T | undefined> {
      const release = await acquire()
      try {
        await nextIteration()
        return isWanted() ? await work() : undefined
      } finally {
        release()
      }
    },
  }
}

/** Pages, charts and the like that are built at once for one account: a page of 1,000 messages takes some 30 ms. */
const READS_AT_ONCE = 4
/** Pieces of long answers: for one, a whole file may be searched. */
const PIECES_AT_ONCE = 2

/** A semaphore for each account, so that an account that reads a hundred pages at once delays nobody else. */
export function createPerAccountSemaphores() {
  const reads = perAccount(READS_AT_ONCE)
  const pieces = perAccount(PIECES_AT_ONCE)

  return {
    /** Reads when the account has a permit free; undefined when nobody wants the result any more by then. */
    read: reads,

    /** The same pieces, each made when the account has a permit free. Ends early once nobody wants them any more. */
    async *inPieces<T>(account: number, source: AsyncIterable<T>, isWanted: () => boolean): AsyncGenerator<T> {
      const iterator = source[Symbol.asyncIterator]()
      try {
        for (;;) {
          const next = await pieces(account, () => iterator.next(), isWanted)
          if (next === undefined || next.done === true) return
          yield next.value
        }
      } finally {
        await iterator.return?.()
      }
    },
  }
}

/** Idle accounts take no memory. */
function perAccount(atOnce: number) {
  const accounts = new Map<number, { semaphore: Semaphore; users: number }>()
  return async <T>(account: number, work: () => Promise<T>, isWanted: () => boolean): Promise<T | undefined> => {
    const own = accounts.get(account) ?? { semaphore: createSemaphore(atOnce), users: 0 }
    accounts.set(account, own)
    own.users += 1
    try {
      return await own.semaphore.run(work, isWanted)
    } finally {
      own.users -= 1
      if (own.users === 0) accounts.delete(account)
    }
  }
}
