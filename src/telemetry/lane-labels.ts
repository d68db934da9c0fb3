// Which lanes have series of their own. A lane costs some thirty of them, in each process and in the monitoring system,
// so their number is bounded whatever the installation grows to.

/** Lanes with series of their own; those that are seen after them share the label `other`. */
const LANES_MAX = 1_000
/** The label of all lanes beyond LANES_MAX. */
const OTHER_LANES = 'other'

/** The label of a lane. */
export type LaneLabels = (lane: number) => string

/** Labels of a process: once a lane has one of its own, it keeps it. */
export function createLaneLabels(most = LANES_MAX): LaneLabels {
  const labels = new Map<number, string>()
  return (lane) => {
    const known = labels.get(lane)
    if (known !== undefined) return known
    if (labels.size >= most) return OTHER_LANES
    labels.set(lane, String(lane))
    return String(lane)
  }
}
