// Measures how fast a figure grows, over the last few seconds.

const OVER_MS = 5_000

/** A meter that has not seen a figure. Feed it a counter that only grows, with times in ms. */
export function createMeter() {
  let points: { atMs: number; figure: number }[] = []
  return {
    /** Takes note of the figure and answers its growth per second; 0 before there is something to compare with. */
    measure(figure: number, atMs: number): number {
      const [oldest] = points
      points.push({ atMs, figure })
      // One point older than the span stays, so that a slow lane is measured over what it needs.
      const firstWithin = points.findIndex((point) => atMs - point.atMs <= OVER_MS)
      if (firstWithin > 1) points = points.slice(firstWithin - 1)
      if (oldest === undefined || atMs <= oldest.atMs) return 0
      return Math.max(0, ((figure - oldest.figure) * 1_000) / (atMs - oldest.atMs))
    },
  }
}
