// How it went: the last ten minutes, the last hour, or the last week.
import { useState } from 'preact/hooks'
import type { Series } from '../../../telemetry/series.ts'
import { Chart } from '../../parts/chart.tsx'
import { Shown } from '../../parts/page.tsx'
import { dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'

const SPANS = [
  ['minutes', 'Last 10 min'],
  ['hour', 'Last hour'],
  ['week', 'Last week'],
] as const
const EVERY_MS = 15_000
/** What of the hour is the last ten minutes, and how often these are looked at. */
const MINUTES = 10
const MINUTES_EVERY_MS = 5_000

/** A chart of all lanes, or of one sender. */
export function History({ sender }: { sender?: number }) {
  const [span, setSpan] = useState<(typeof SPANS)[number][0]>('hour')
  const asked = span === 'week' ? 'week' : 'hour'
  const loaded = useLoad<Series>(
    `history ${asked} ${sender}`,
    (signal) => dataOf('GET', '/console/history', { query: { span: asked, sender }, signal }),
    span === 'minutes' ? MINUTES_EVERY_MS : EVERY_MS,
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
        <Shown loaded={loaded}>
          {(series) => <Chart series={span === 'minutes' ? lastMinutes(withoutLast(series)) : withoutLast(series)} />}
        </Shown>
      </div>
    </section>
  )
}

const lastMinutes = (series: Series): Series => ({
  ...series,
  points: series.points.slice((-MINUTES * 60) / series.step_s),
})

/** The last period is still being counted: it would always look like a fall. */
const withoutLast = ({ points, ...series }: Series): Series => ({ ...series, points: points.slice(0, -1) })
