// How it went: the last hour by the minute, or the last week by the hour.
import { useState } from 'preact/hooks'
import type { Series } from '../../../telemetry/series.ts'
import { Chart } from '../../parts/chart.tsx'
import { Shown } from '../../parts/page.tsx'
import { dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'

const SPANS = [
  ['hour', 'Last hour'],
  ['week', 'Last week'],
] as const
const EVERY_MS = 15_000

/** A chart of all lanes, or of one sender. */
export function History({ sender }: { sender?: number }) {
  const [span, setSpan] = useState<(typeof SPANS)[number][0]>('hour')
  const loaded = useLoad<Series>(
    `history ${span} ${sender}`,
    (signal) => dataOf('GET', '/console/history', { query: { span, sender }, signal }),
    EVERY_MS,
  )
  return (
    <section class="card" aria-labelledby="history">
      <div class="spread">
        <h2 id="history">Messages per second</h2>
        <fieldset class="toggle">
          <legend class="unseen">Span of the chart</legend>
          {SPANS.map(([each, name]) => (
            <button key={each} type="button" aria-pressed={span === each} onClick={() => setSpan(each)}>
              {name}
            </button>
          ))}
        </fieldset>
      </div>
      <div class="chart-place">
        <Shown loaded={loaded}>{(series) => <Chart series={withoutLast(series)} />}</Shown>
      </div>
    </section>
  )
}

/** The last period is still being counted: it would always look like a fall. */
const withoutLast = ({ points, ...series }: Series): Series => ({ ...series, points: points.slice(0, -1) })
