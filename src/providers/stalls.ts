// Measures how long this process stalled lately, because the machine was busy or a turn of the event loop took long. A provider's
// time to answer does not run out meanwhile: the answer could not be read.

/** Turns shorter than this are usual. */
const TICK_MS = 100

/** Calls that want to know. Without any there is no timer. */
let watching = 0
let tickedAt = 0
let stalledMs = 0
let timer: NodeJS.Timeout | undefined

/** Since the last tick. */
const overdueMs = (): number => Math.max(0, performance.now() - tickedAt - TICK_MS)

function tick(): void {
  stalledMs += overdueMs()
  tickedAt = performance.now()
  if (watching > 0) return
  clearInterval(timer)
  timer = undefined
}

/** Begins to watch, for as long as `unwatch` is not called; returns the mark that `stalledSince` takes. */
export function watch(): number {
  watching += 1
  if (timer === undefined) {
    tickedAt = performance.now()
    timer = setInterval(tick, TICK_MS).unref()
  }
  return stalledMs + overdueMs()
}

export function unwatch(): void {
  watching -= 1
}

/** How long the process has stalled (ms) since `watch` returned this mark. */
export const stalledSince = (mark: number): number => stalledMs + overdueMs() - mark
