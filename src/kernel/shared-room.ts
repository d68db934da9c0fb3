// Work for accounts that one process does side by side. An account may have as much under way as is left free, so that one
// whose WhatsApp hangs leaves room for others.
import { waitAtMost } from './deadline.ts'

export function createSharedRoom(most: number) {
  const running = new Map<string, { account: number; over: Promise<void> }>()
  const all = (): Promise<void>[] => [...running.values()].map(({ over }) => over)

  return {
    /** Whether the work of this name may begin: it is not under way, and there is room for the account. */
    mayBegin(name: string, account: number): boolean {
      const own = [...running.values()].filter((each) => each.account === account).length
      return !running.has(name) && own < most - running.size
    },

    /** Begins work that never rejects. */
    begin(name: string, account: number, work: Promise<void>): void {
      running.set(name, { account, over: work.finally(() => running.delete(name)) })
    },

    /** Waits until one of those under way is over; where none is, for `limitMs`. */
    oneOver: (limitMs: number): Promise<void> => waitAtMost(limitMs, Promise.race(all())),

    /** Waits until all are over, at most `limitMs`. */
    allOver: (limitMs: number): Promise<void> => waitAtMost(limitMs, Promise.all(all())),
  }
}
