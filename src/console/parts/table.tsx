// Tables that align numbers. Too wide for the screen, a table scrolls by itself and can be scrolled with the keyboard.
import type { ComponentChildren, Key } from 'preact'

/** A column. `wide`: left out on a narrow screen, because the page of the row has it too. */
export interface Column<Row> {
  title: string
  cell: (row: Row) => ComponentChildren
  number?: boolean
  wide?: boolean
  /** Its cells name their rows. */
  head?: boolean
}

const classOf = ({ number, wide }: Column<never>): string =>
  [number ? 'number' : '', wide ? 'wide' : ''].join(' ').trim()

/** A table with `caption` for its name. Without rows nothing is shown: the page says what to do instead. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  busy = false,
}: {
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => Key
  busy?: boolean
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached with the keyboard
    // biome-ignore lint/a11y/useSemanticElements: a table is no set of fields
    <div class="scroll" role="group" aria-label={caption} tabIndex={0} aria-busy={busy}>
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) =>
                column.head ? (
                  <th key={column.title} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)}>
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
