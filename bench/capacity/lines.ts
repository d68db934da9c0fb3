// Values between points that were measured, and beyond them. Pure.

export interface Point {
  x: number
  y: number
}

const byX = (points: readonly Point[]): Point[] => [...points].sort((one, other) => one.x - other.x)

const onLine = (one: Point, other: Point, x: number): number =>
  one.x === other.x ? one.y : one.y + ((other.y - one.y) * (x - one.x)) / (other.x - one.x)

/** On the straight line from one point to the next; beyond the first and the last that of these. Undefined without any. */
export function between(points: readonly Point[], x: number): number | undefined {
  const sorted = byX(points)
  const after = sorted.findIndex((point) => point.x >= x)
  const [before, next] = [sorted[after - 1], sorted[after]]
  if (next === undefined) return sorted.at(-1)?.y
  return before === undefined ? next.y : onLine(before, next, x)
}

/** On the straight line through the first and the last point, however far beyond; never below 0. Undefined without two. */
export function lineThrough(points: readonly Point[], x: number): number | undefined {
  const sorted = byX(points)
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined || first.x === last.x) return undefined
  return Math.max(0, onLine(first, last, x))
}
