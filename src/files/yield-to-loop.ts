// Long work on what is in memory already, such as the rows of one piece of a file: without a pause nothing else of the
// process would run meanwhile, no lock of a job be renewed, no request answered and no signal heard. All such work of a
// process shares the turns: a slice of a few milliseconds for each of 300 files would still keep everybody else waiting
// for a second.

/** Work is interrupted after so many items, or after items of so many characters: some milliseconds. */
const ITEMS = 200
const CHARACTERS = 32 * 1024
/** Slices that are begun in one event-loop tick: all that fit into this, and one at least. */
const TURN_MS = 5

/** Work that waits for its next slice, the longest wait first. */
const waiting: (() => void)[] = []
let isUnderWay = false

/** To be awaited before each item, with its length: gives the event loop a turn every few hundred of them. */
export function createYielder(): (length: number) => Promise<void> | undefined {
  let items = 0
  let characters = 0
  return (length) => {
    items += 1
    characters += length
    if (items < ITEMS && characters < CHARACTERS) return undefined
    items = 0
    characters = 0
    return new Promise((resolve) => {
      waiting.push(resolve)
      if (!isUnderWay) setImmediate(beginTurn)
      isUnderWay = true
    })
  }
}

function beginTurn(): void {
  const endMs = performance.now() + TURN_MS
  // Work that asks again within this turn comes after what waits already, and in another turn.
  let left = waiting.length
  function next(): void {
    if (left === 0 || performance.now() >= endMs) {
      isUnderWay = waiting.length > 0
      if (isUnderWay) setImmediate(beginTurn)
      return
    }
    left -= 1
    waiting.shift()?.()
    // The slice itself runs as microtasks, and this after all of them.
    queueMicrotask(() => process.nextTick(next))
  }
  next()
}
