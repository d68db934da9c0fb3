// Lists and their tables. A table that is too wide scrolls, with the keyboard as well; on a phone the rows of a table with
// `cards` become cards, so that no button or sentence is out of sight.
import type { ComponentChildren, Key } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { countText } from '../logic/numbers.ts'
import { useLoad } from '../state/hooks.ts'
import { type Call, call, type Page } from '../state/http.ts'
import { WhenLoaded } from './page.tsx'
import { Button } from './press.tsx'
import { Text, When } from './text.tsx'

/** Loads the pages of a list; another `key` is another list. */
export interface Source<Row> {
  key: string
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>
}

/** A list at an address of the API. */
export const listAt = <Row,>(path: string, query: Call['query'] = {}): Source<Row> => ({
  key: `${path} ${JSON.stringify(query)}`,
  load: (cursor, signal) => call('GET', path, { query: { ...query, cursor }, signal }),
})

/**
 * Loads a list, and again every `every` ms until somebody asks for a second page. `more` loads the next page; it is undefined
 * on the last.
 */
function useRows<Row>(source: Source<Row>, every?: number) {
  const [later, setLater] = useState<{ of: Page<Row> | undefined; rows: readonly Row[]; next: string | null }>()
  const loaded = useLoad(source.key, (signal) => source.load(undefined, signal), later ? undefined : every)
  const page = loaded.value
  useEffect(() => setLater(undefined), [page])
  const current = later !== undefined && later.of === page ? later : undefined
  const rows = [...(page?.data ?? []), ...(current?.rows ?? [])]
  const next = current ? current.next : (page?.next ?? null)
  const more = async (cursor: string): Promise<void> => {
    setLater({ of: page, rows: current?.rows ?? [], next })
    const got = await source.load(cursor)
    setLater({ of: page, rows: [...(current?.rows ?? []), ...got.data], next: got.next })
  }
  return { loaded, rows, more: next === null ? undefined : () => more(next) }
}

/**
 * A whole list: its age, its table, and the button for more. `only` chooses which of the loaded rows are shown. `none` is shown
 * in place of `empty` if there may be others: rows that are not shown, or older ones, because the server may search only a
 * part at a time.
 */
export function List<Row>({
  from,
  every,
  only = () => true,
  empty,
  none = empty,
  more: name,
  ...table
}: Omit<TableOf<Row>, 'rows'> & {
  from: Source<Row>
  every?: number
  only?: (row: Row) => boolean
  empty: ComponentChildren
  none?: ComponentChildren
  more?: string
}) {
  const { loaded, rows, more } = useRows(from, every)
  const shown = rows.filter(only)
  return (
    <>
      <WhenLoaded loaded={loaded} age>
        {() =>
          shown.length > 0 ? (
            <Table {...table} rows={shown} busy={loaded.busy} />
          ) : more || rows.length > 0 ? (
            none
          ) : (
            empty
          )
        }
      </WhenLoaded>
      {more && (
        <Button busy="Loading …" press={more}>
          {rows.length === 0 ? 'Look further back' : (name ?? 'Show more')}
        </Button>
      )}
    </>
  )
}

/** A column. Its cells are made by one of `text`, `count`, `at` and `cell`. */
export interface Column<Row> {
  title: string
  /** Text from outside. */
  text?: (row: Row) => string | null
  /** The text may break anywhere: an address, a list. */
  long?: true
  /** The address that the text links to. */
  href?: (row: Row) => string
  count?: (row: Row) => number
  /** A time. */
  at?: (row: Row) => string | null
  cell?: (row: Row) => ComponentChildren
  /** A quieter second line. */
  note?: (row: Row) => ComponentChildren
  /** Aligns the cells as numbers; so does `count`. */
  number?: boolean
  /** Left out on a narrow screen: the page of the row shows it, too. */
  wide?: boolean
  /** Its cells are the headers of their rows. */
  head?: boolean
  /** The sort key, for tables that hold all rows; `true`: its text or count. Numbers start with the greatest. */
  sort?: true | ((row: Row) => number | string)
}

/** A button of a row; screen readers read `name` and `of`. */
export type RowAction = readonly [name: string, of: string, press: () => unknown]

interface Order {
  title: string
  /** The opposite of the order after a first press. */
  isTurned: boolean
}

const classOf = ({ number, count, wide }: Column<never>): string =>
  [(number ?? count !== undefined) ? 'number' : '', wide ? 'wide' : ''].join(' ').trim()

function cellOf<Row>({ note, ...column }: Column<Row>, row: Row): ComponentChildren {
  const words = note?.(row)
  if (!words) return mainOf(column, row)
  return (
    <>
      {mainOf(column, row)}
      <span class="reason">{typeof words === 'string' ? <Text text={words} /> : words}</span>
    </>
  )
}

function mainOf<Row>({ text, long, href, count, at, cell }: Column<Row>, row: Row): ComponentChildren {
  if (count !== undefined) return countText(count(row))
  if (at !== undefined) return <When at={at(row)} />
  if (text === undefined) return cell?.(row)
  const shown = <Text text={text(row) || '–'} class={long && 'anywhere'} />
  return href === undefined ? shown : <a href={href(row)}>{shown}</a>
}

const orderOf = <Row,>({ sort, text, count }: Column<Row>): ((row: Row) => number | string) | undefined =>
  sort === true ? (count ?? ((row) => text?.(row) ?? '')) : sort

/** The description of a table. */
export interface TableOf<Row> {
  /** The name for screen readers. */
  caption: string
  columns: readonly (Column<Row> | false)[]
  rows: readonly Row[]
  keyOf: (row: Row) => Key
  /** The buttons in the last column. */
  actions?: ((row: Row) => readonly RowAction[]) | false
  busy?: boolean
  /** On a narrow screen each row becomes a card, its cells below each other. */
  cards?: boolean
}

/** A table with at least one row: pages show `Empty` in place of an empty one. */
export function Table<Row>({ caption, columns: given, rows, keyOf, actions, busy = false, cards }: TableOf<Row>) {
  const columns = given.filter((column) => column !== false)
  if (actions) columns.push({ title: 'Action', cell: (row) => buttonsOf(actions(row)) })
  const [order, setOrder] = useState<Order>()
  const chosen = columns.find(({ title }) => title === order?.title)
  const by = chosen && orderOf(chosen)
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
                    {cellOf(column, row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)} data-title={column.title}>
                    {cellOf(column, row)}
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

const buttonsOf = (actions: readonly RowAction[]): ComponentChildren =>
  actions.length > 0 && (
    <span class="actions">
      {actions.map(([name, of, press]) => (
        <Button key={name} of={`${name} ${of}`} press={press}>
          {name}
        </Button>
      ))}
    </span>
  )

/** A first press sorts, a second reverses, a third restores the order in which the rows came. */
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

function sortOf<Row>(column: Column<Row>, rows: readonly Row[], order: Order | undefined) {
  const by = orderOf(column)
  if (by === undefined || order?.title !== column.title) return undefined
  const [first] = rows
  const isFalling = (first !== undefined && typeof by(first) === 'number') !== order.isTurned
  return isFalling ? 'descending' : 'ascending'
}

const MARKS = { ascending: ' ↑', descending: ' ↓' } as const
const markOf = (sorted: keyof typeof MARKS | undefined): string => (sorted === undefined ? '' : MARKS[sorted])
