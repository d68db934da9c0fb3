// What one account reads at a time. A page of a thousand messages takes some 30 ms of the process and many steps of Redis:
// of whoever asks for a hundred at once, a few are worked on and the others wait, while everybody else goes on as before.
import { createTurns, type Turns } from './turns.ts'

/** Pages, charts and the like that are made for one account at the same time. */
const READS_AT_ONCE = 4
/** Pieces of long answers: a piece may be a whole file that is looked through. */
const PIECES_AT_ONCE = 2

type Work<T> = () => Promise<T>

export type AccountTurns = ReturnType<typeof createAccountTurns>

/** Turns of each account for itself; nothing is kept of an account that asks for nothing. */
export function createAccountTurns() {
  const reads = perAccount(READS_AT_ONCE)
  const pieces = perAccount(PIECES_AT_ONCE)

  return {
    /** Reads when it is the account's turn; undefined when nobody wants it any more by then. */
    read: reads,

    /** The same pieces, each made when it is the account's turn. They end early once nobody wants them any more. */
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

function perAccount(atOnce: number) {
  const accounts = new Map<number, { turns: Turns; users: number }>()
  return async <T>(account: number, work: Work<T>, isWanted: () => boolean): Promise<T | undefined> => {
    const own = accounts.get(account) ?? { turns: createTurns(atOnce), users: 0 }
    accounts.set(account, own)
    own.users += 1
    try {
      return await own.turns.run(work, isWanted)
    } finally {
      own.users -= 1
      if (own.users === 0) accounts.delete(account)
    }
  }
}
