// Scales of a chart: round steps for its values, round moments for its times.

const STEPS = [1, 2, 5]

/** Marks from 0 on in round steps, the last one at or above `most`; two to six of them. */
export function valueMarks(most: number): number[] {
  if (most <= 0) return [0, 1]
  const rough = most / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = (STEPS.find((each) => each * power >= rough) ?? 10) * power
  const count = Math.max(1, Math.ceil(most / step - 1e-9))
  // Multiplied, not added up: 0.1 + 0.2 would be written as 0.30000000000000004.
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)))
}

const MINUTE = 60_000
const SPACINGS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880].map((minutes) => minutes * MINUTE)

/** Round moments (epoch ms) from `from` to `to`, at most `most` of them. `offset`: ms that the reader's zone is behind UTC. */
export function timeMarks(from: number, to: number, most: number, offset: number): number[] {
  const spacing = SPACINGS.find((each) => (to - from) / each <= most) ?? to - from
  if (spacing <= 0) return []
  const first = Math.ceil((from - offset) / spacing) * spacing + offset
  return Array.from({ length: Math.max(0, Math.floor((to - first) / spacing) + 1) }, (_, i) => first + i * spacing)
}
