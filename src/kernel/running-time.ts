// Limits by the time that this process has run. While it stands still, as on a busy machine or in a suspended one, what it waits for may
// come; timers that are due then fire before it is read.

/** A timer that fires this late shows that the process stood still. */
const STILL_MS = 50

/**
 * Calls `over` once this process has run for `limitMs`, after it has read what had come by then. Time in which it stood still is given
 * back once, up to `limitMs`. Returns what cancels it.
 */
export function afterRunning(limitMs: number, over: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined
  const dueAt = performance.now() + limitMs
  const readFirst = (): void => {
    immediate = setImmediate(over)
  }
  let timer = setTimeout(() => {
    const lateMs = performance.now() - dueAt
    if (lateMs < STILL_MS) readFirst()
    else timer = setTimeout(readFirst, Math.min(lateMs, limitMs))
  }, limitMs)
  return () => {
    clearTimeout(timer)
    clearImmediate(immediate)
  }
}
