// How many lines of one kind go into the log: what clients can cause as often as they like is logged a few times a second.

const A_SECOND = 20

/**
 * Asked before each line: undefined when there were enough of them this second; else how many were left out since the
 * one before.
 */
export function createLineLimit(most = A_SECOND, clock = () => performance.now()): () => number | undefined {
  let since = Number.NEGATIVE_INFINITY
  let written = 0
  let dropped = 0
  return () => {
    const now = clock()
    if (now - since >= 1_000) {
      since = now
      written = 0
    }
    if (written >= most) {
      dropped += 1
      return undefined
    }
    written += 1
    const left = dropped
    dropped = 0
    return left
  }
}
