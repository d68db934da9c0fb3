// The pace that a lane uses of the pace that it may use.

import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { rateText } from '../../logic/numbers.ts'
import { Gauge, Spark } from '../../parts/spark.tsx'

/** `12.5 of 80/s` with a bar and the last half minute as a line. */
export function Pace({ lane }: { lane: SnapshotLane }) {
  return (
    <span class="pace">
      <span class="number">
        {rateText(lane.sent_per_s)} of {rateText(lane.rate_per_s)}/s
      </span>
      <Gauge label={`Pace used by lane ${lane.sender}`} value={lane.sent_per_s} most={lane.rate_per_s} />
      <Spark points={lane.spark} most={lane.rate_per_s} />
    </span>
  )
}
