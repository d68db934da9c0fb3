// Tables that align numbers. Too wide for the screen, a table scrolls by itself and can be scrolled with the keyboard; on a
// phone each row of a table with buttons or sentences is a card of its own, so that none of them is out of sight.
import type { ComponentChildren, Key } from 'preact'
import { useState } from 'preact/hooks'

/** A column. `wide`: left out on a narrow screen, because the page of the row has it too. */
export interface Column<Row> {
  title: string
  cell: (row: Row) => ComponentChildren
  number?: boolean
  wide?: boolean
  /** Its cells name their rows. */
  head?: boolean
  /** What rows can be ordered by; only where all rows are there. Numbers begin with the greatest. */
  sort?: (row: Row) => number | string
}

interface Order {
  title: string
  /** The other way round than a first press orders. */
  isTurned: boolean
}

const classOf = ({ number, wide }: Column<never>): string =>
  [number ? 'number' : '', wide ? 'wide' : ''].join(' ').trim()

/**
 * A table with `caption` for its name. Without rows nothing is shown: the page says what to do instead. `cards`: on a
 * narrow screen each row stands by itself, its cells below each other.
 */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  busy = false,
  cards = false,
}: {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => Key
  busy?: boolean
  cards?: boolean
}) {
  const [order, setOrder] = useState<Order>()
  const by = columns.find(({ title, sort }) => sort !== undefined && title === order?.title)?.sort
  const ordered = by === undefined || order === undefined ? rows : orderedBy(rows, by, order.isTurned)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    // biome-ignore lint/a11y/useSemanticElements: a table is no set of fields
    <div class={cards ? 'scroll cards' : 'scroll'} role="group" aria-label={caption} tabIndex={0} aria-busy={busy}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)} aria-sort={sortOf(column, rows, order)}>
                {column.sort ? (
                  <button type="button" class="sort" onClick={() => setOrder(nextOrder(column.title, order))}>
                    {column.title}
                    <span aria-hidden="true">{markOf(sortOf(column, rows, order))}</span>
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) =>
                column.head ? (
                  <th key={column.title} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)} data-title={column.title}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A first press orders, a second turns it round, a third gives the order back in which the rows came. */
const nextOrder = (title: string, order: Order | undefined): Order | undefined =>
  order?.title !== title ? { title, isTurned: false } : order.isTurned ? undefined : { title, isTurned: true }

function orderedBy<Row>(rows: readonly Row[], by: (row: Row) => number | string, isTurned: boolean): Row[] {
  const sign = isTurned ? -1 : 1
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((one, other) => sign * compared(one.value, other.value))
    .map(({ row }) => row)
}

const compared = (one: number | string, other: number | string): number =>
  typeof one === 'number' && typeof other === 'number' ? other - one : String(one).localeCompare(String(other))

function sortOf<Row>({ title, sort }: Column<Row>, rows: readonly Row[], order: Order | undefined) {
  if (sort === undefined || order?.title !== title) return undefined
  const [first] = rows
  const isFalling = (first !== undefined && typeof sort(first) === 'number') !== order.isTurned
  return isFalling ? 'descending' : 'ascending'
}

const MARKS = { ascending: ' ↑', descending: ' ↓' } as const
const markOf = (sorted: keyof typeof MARKS | undefined): string => (sorted === undefined ? '' : MARKS[sorted])
