// Bounds the work for accounts that one process does at once. An account may take at most as many slots as are still free, so
// that one whose WhatsApp hangs leaves slots for the others.
import { waitAtMost } from './deadline.ts'

export function createAccountSlots(most: number) {
  const running = new Map<string, { account: number; over: Promise<void> }>()
  const all = (): Promise<void>[] => [...running.values()].map(({ over }) => over)

  return {
    /** Whether the work of this name may begin: it is not under way, and the account has a free slot. */
    mayBegin(name: string, account: number): boolean {
      const own = [...running.values()].filter((each) => each.account === account).length
      return !running.has(name) && own < most - running.size
    },

    /** Begins work that never rejects. */
    begin(name: string, account: number, work: Promise<void>): void {
      running.set(name, { account, over: work.finally(() => running.delete(name)) })
    },

    /** Waits for the next work to end, `limitMs` at most. */
    oneOver: (limitMs: number): Promise<void> => waitAtMost(limitMs, Promise.race(all())),

    /** Waits for all work to end, `limitMs` at most. */
    allOver: (limitMs: number): Promise<void> => waitAtMost(limitMs, Promise.all(all())),
  }
}
