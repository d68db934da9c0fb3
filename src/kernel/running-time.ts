// Limits by the time that this process has run. While it stands still, as on a busy machine or in a suspended one, what it waits for may
// come; timers that are due then fire before it is read.

/** The limit is split into this many timers; a late timer counts as its nominal length. */
const PARTS = 8

/**
 * Calls `over` once this process has run for `limitMs`, after it has read what had come by then. Returns what cancels it.
 */
export function afterRunning(limitMs: number, over: () => void): () => void {
  let immediate: NodeJS.Immediate | undefined
  let left = PARTS
  const ended = (): void => {
    left -= 1
    if (left > 0) timer = setTimeout(ended, limitMs / PARTS)
    else immediate = setImmediate(over)
  }
  let timer = setTimeout(ended, limitMs / PARTS)
  return () => {
    clearTimeout(timer)
    clearImmediate(immediate)
  }
}
