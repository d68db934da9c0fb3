// Large bodies are worked on a few at a time, and each begins in an event-loop tick of its own. All that come in
// at the same moment would otherwise be parsed in one go, while nobody else is answered, and held parsed together.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Work that waits for something outside, as for a worker, makes room for the next one after so long. */
const ROOM_MS = 10_000

export type Turns = ReturnType<typeof createTurns>

/** Runs at most `atOnce` pieces of work at a time, in the order in which they come. */
export function createTurns(atOnce: number) {
  let running = 0
  const waiting: (() => void)[] = []

  function makeRoom(): void {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }

  return {
    /**
     * Does the work when it is its turn. `isWanted` is asked then; work that nobody waits for any more is left. It may
     * call `leave` to let the next one begin before it has ended.
     */
    async run<T>(work: (leave: () => void) => Promise<T>, isWanted: () => boolean): Promise<T | undefined> {
      if (running < atOnce) running += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      let madeRoom = false
      const once = (): void => {
        if (!madeRoom) makeRoom()
        madeRoom = true
      }
      const limit = setTimeout(once, ROOM_MS)
      try {
        await nextTurn()
        return isWanted() ? await work(once) : undefined
      } finally {
        clearTimeout(limit)
        once()
      }
    },
  }
}
