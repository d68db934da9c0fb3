// A sparkline: how something went lately, as a line without axes. Its figures stand beside it as text.

const WIDTH = 90
const HEIGHT = 22

/** Points of equal distance, oldest first, drawn from 0 to `most` or to the greatest of them. */
export function Spark({ points, most = 0 }: { points: readonly number[]; most?: number }) {
  if (points.length < 2) return null
  const top = Math.max(most, ...points, 1e-9)
  const place = (value: number, i: number): string =>
    `${((i * WIDTH) / (points.length - 1)).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`
  return (
    <svg class="spark" width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.map(place).join(' ')} />
    </svg>
  )
}

/** How much of something is used, as a bar with its value for screen readers. */
export function Gauge({ label, value, most }: { label: string; value: number; most: number }) {
  return <meter class="gauge" aria-label={label} min={0} max={Math.max(most, 1e-9)} value={Math.min(value, most)} />
}
