// A chart of what was sent, delivered, failed and accepted. Lines differ by dashes as well as by colour, and the same
// figures are there as a table.
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { rateText } from '../logic/numbers.ts'
import type { Series } from '../pages/overview/history.tsx'
import { theme } from '../shell/theme.ts'
import { Table } from './table.tsx'
import { When } from './text.tsx'

const LINES = [
  { name: 'accepted', colour: '--line-accepted', dash: [2, 3] },
  { name: 'sent', colour: '--line-sent', dash: [] },
  { name: 'delivered', colour: '--line-delivered', dash: [8, 4] },
  { name: 'failed', colour: '--line-failed', dash: [10, 3, 2, 3] },
] as const
type Point = Series['points'][number]

const HEIGHT = 190
const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const perSecond = (point: Point, name: (typeof LINES)[number]['name'], step: number): number => point[name] / step

const hourText = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const dayText = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })

/** Epoch seconds as the reader's time of day, or day where the points are far apart. */
const timesOf = (ticks: readonly number[], step: number): string[] =>
  ticks.map((tick) => (step >= 3_600 ? dayText : hourText).format(tick * 1_000))

/** The chart and, folded, its table. */
export function Chart({ series: { points, step_s: step } }: { series: Series }) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const chosen = theme.value
  const data: uPlot.AlignedData = [
    points.map(({ at }) => Date.parse(at) / 1_000),
    ...LINES.map(({ name }) => points.map((point) => perSecond(point, name, step))),
  ]
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const axis = { stroke: colour('--ink-quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } }
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(high, 0.1) * 1.1] } },
        axes: [
          { ...axis, values: (_plot, ticks) => timesOf(ticks, step) },
          { ...axis, size: 46, values: (_plot, ticks) => ticks.map((tick) => rateText(tick)) },
        ],
        series: [
          {},
          ...LINES.map((line) => ({
            stroke: colour(line.colour),
            width: 2,
            dash: [...line.dash],
            points: { show: false },
          })),
        ],
      },
      data,
      element,
    )
    plot.current = made
    const sized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    sized.observe(element)
    return () => {
      sized.disconnect()
      made.destroy()
    }
  }, [chosen])
  useEffect(() => plot.current?.setData(data), [points])
  const latest = points.at(-1)
  return (
    <>
      <ul class="legend">
        {LINES.map(({ name, colour: variable, dash }) => (
          <li key={name}>
            <svg width="26" height="8" aria-hidden="true">
              <line x1="0" y1="4" x2="26" y2="4" class={variable.slice(2)} stroke-dasharray={dash.join(' ')} />
            </svg>
            {name}
          </li>
        ))}
      </ul>
      <div
        ref={box}
        class="chart"
        role="img"
        aria-label={`Chart of ${points.length} points. The latest: ${LINES.map(
          ({ name }) => `${name} ${latest ? rateText(perSecond(latest, name, step)) : 'none'}`,
        ).join(', ')} per second. The table below has all figures.`}
      />
      <details>
        <summary>The same as a table</summary>
        <Table
          caption="Messages per second"
          rows={points.slice(-60).reverse()}
          keyOf={({ at }) => at}
          columns={[
            { title: 'Time', head: true, cell: ({ at }) => <When at={at} /> },
            ...LINES.map(({ name }) => ({
              title: name,
              number: true,
              cell: (point: Point) => rateText(perSecond(point, name, step)),
            })),
          ]}
        />
      </details>
    </>
  )
}
