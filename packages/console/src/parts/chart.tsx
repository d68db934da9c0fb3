// A chart of accepted, sent, delivered and failed messages. Lines differ in dashes as well as in colour; the legend shows the
// figures at the pointer, and a table holds them all.
import { useState } from 'preact/hooks'
import type { Series } from '../../../../src/telemetry/snapshot.ts'
import { rateText, timeMarks, valueMarks } from '../logic/numbers.ts'
import { useData } from '../state/hooks.ts'
import { Table } from './list.tsx'
import { WhenLoaded } from './page.tsx'
import { When } from './text.tsx'

const LINES = [
  { name: 'accepted', tone: '', dash: '2 3' },
  { name: 'sent', tone: 'busy', dash: '' },
  { name: 'delivered', tone: 'good', dash: '8 4' },
  { name: 'failed', tone: 'bad', dash: '10 3 2 3' },
] as const
type Name = (typeof LINES)[number]['name']
type Point = Series['points'][number]

const WIDTH = 1_000
const HEIGHT = 200
const TIMES = 8
/** A narrow screen has room for half as many times. */
const narrow = matchMedia('(max-width: 42rem)')
/** Most rows of the table: the latest. */
const ROWS = 60
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })

/** The lines, and their table folded away. */
function Chart({ series: { points, step_s: step } }: { series: Series }) {
  const [pointed, setPointed] = useState<number>()
  const rate = (point: Point, name: Name): number => point[name] / step
  const times = points.map(({ at }) => Date.parse(at))
  const [from = 0, to = 1] = [times[0], times.at(-1)]
  const marks = valueMarks(Math.max(0, ...points.flatMap((point) => LINES.map(({ name }) => rate(point, name)))))
  const top = marks.at(-1) ?? 1
  const x = (ms: number): number => ((ms - from) / Math.max(1, to - from)) * WIDTH
  const y = (value: number): number => HEIGHT - (value / top) * HEIGHT
  const offset = new Date(to).getTimezoneOffset() * 60_000
  const shown = points[pointed ?? points.length - 1]
  const words = LINES.map(({ name }) => `${name} ${shown ? rateText(rate(shown, name)) : '–'}`).join(', ')
  return (
    <>
      <div
        class="chart"
        role="img"
        aria-label={`Chart of messages per second. The latest: ${words}. Its table follows.`}
      >
        <div class="values" aria-hidden="true">
          {marks.toReversed().map((mark) => (
            <span key={mark}>{rateText(mark)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
          onPointerMove={({ currentTarget, clientX }) => {
            const { left, width } = currentTarget.getBoundingClientRect()
            setPointed(Math.round(Math.min(1, Math.max(0, (clientX - left) / width)) * (points.length - 1)))
          }}
          onPointerLeave={() => setPointed(undefined)}
        >
          {marks.map((mark) => (
            <line key={mark} class="grid" x1="0" x2={WIDTH} y1={y(mark)} y2={y(mark)} />
          ))}
          {LINES.map(({ name, tone, dash }) => (
            <polyline
              key={name}
              class={`line ${tone}`}
              stroke-dasharray={dash}
              points={points
                .map((point, i) => `${x(times[i] ?? 0).toFixed(1)},${y(rate(point, name)).toFixed(1)}`)
                .join(' ')}
            />
          ))}
          {pointed !== undefined && (
            <line class="pointed" x1={x(times[pointed] ?? 0)} x2={x(times[pointed] ?? 0)} y1="0" y2={HEIGHT} />
          )}
        </svg>
        <svg class="times" height="20" aria-hidden="true">
          {timeMarks(from, to, narrow.matches ? TIMES / 2 : TIMES, offset).map((ms) => (
            <text key={ms} x={`${x(ms) / (WIDTH / 100)}%`} y="15" text-anchor={anchorOf(x(ms))}>
              {(step >= 3_600 ? day : clock).format(ms)}
            </text>
          ))}
        </svg>
      </div>
      <ul class="legend">
        {LINES.map(({ name, tone, dash }) => (
          <li key={name}>
            <svg width="26" height="8" aria-hidden="true">
              <line x1="0" y1="4" x2="26" y2="4" class={`line ${tone}`} stroke-dasharray={dash} />
            </svg>
            {name} <span class="number">{shown ? rateText(rate(shown, name)) : '–'}</span>
          </li>
        ))}
        <li class="quiet">{shown ? <When at={shown.at} /> : 'no figures yet'}</li>
      </ul>
      <details>
        <summary>The same as a table</summary>
        <Table
          caption="Messages per second"
          rows={points.slice(-ROWS).reverse()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'Time', head: true, at: ({ at }) => at },
            ...LINES.map(({ name }) => ({
              title: name,
              number: true,
              cell: (point: Point) => rateText(rate(point, name)),
            })),
          ]}
        />
      </details>
    </>
  )
}

/** Times at the edges are written inwards. */
const anchorOf = (place: number): 'start' | 'middle' | 'end' =>
  place < WIDTH * 0.03 ? 'start' : place > WIDTH * 0.97 ? 'end' : 'middle'

const SPANS = [
  ['minutes', 'Last 10 min'],
  ['hour', 'Last hour'],
  ['week', 'Last week'],
] as const
const EVERY_MS = 15_000
/** The last ten minutes are cut from the hour, and loaded more often. */
const MINUTES = 10
const MINUTES_EVERY_MS = 5_000

/** The chart of all lanes or of one sender, over ten minutes, an hour or a week. */
export function History({ sender }: { sender?: number }) {
  const [span, setSpan] = useState<(typeof SPANS)[number][0]>('hour')
  const asked = span === 'week' ? 'week' : 'hour'
  const loaded = useData<Series>('/console/history', span === 'minutes' ? MINUTES_EVERY_MS : EVERY_MS, {
    span: asked,
    sender,
  })
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
        <WhenLoaded loaded={loaded}>
          {(series) => <Chart series={span === 'minutes' ? lastMinutes(withoutLast(series)) : withoutLast(series)} />}
        </WhenLoaded>
      </div>
    </section>
  )
}

const lastMinutes = (series: Series): Series => ({
  ...series,
  points: series.points.slice((-MINUTES * 60) / series.step_s),
})

/** The last period is still being counted: it would always look like a drop. */
const withoutLast = ({ points, ...series }: Series): Series => ({ ...series, points: points.slice(0, -1) })
