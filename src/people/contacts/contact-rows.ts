// A row of a CSV file of contacts: which columns it has, and whether it is a contact. Pure.

import { z } from 'zod'
import { cellFault, columnName, quotedColumns } from '../../files/csv-head.ts'
import { parseListedPhone } from '../../kernel/recipient.ts'
import { isVisible } from '../../kernel/visible.ts'

const COLUMNS = ['name', 'phone', 'email'] as const
type Column = (typeof COLUMNS)[number]

/** The cells of one record by their meaning, trimmed; a column that the file has not is empty. */
export type ContactCells = Readonly<Record<Column, string>>

/** The index of each column in the file. */
export interface ContactColumns {
  at: Readonly<Record<Column, number>>
  /** Cells in the header. */
  count: number
}

/** A file whose first line does not say where its columns are. */
export class HeaderError extends Error {
  override name = 'HeaderError'
}

/** Finds the columns by the header, in any order and case; columns of other names are left out. Throws a HeaderError without `phone`. */
export function columnsOf(header: readonly string[]): ContactColumns {
  const names = header.map((cell) => columnName(cell).toLowerCase())
  const twice = COLUMNS.find((column) => names.indexOf(column) !== names.lastIndexOf(column))
  if (twice !== undefined) throw new HeaderError(`expected one column "${twice}", got several`)
  const at = { name: names.indexOf('name'), phone: names.indexOf('phone'), email: names.indexOf('email') }
  if (at.phone === -1) {
    throw new HeaderError(
      `expected a header with the column phone, and name and email if wanted, got ${quotedColumns(header)}`,
    )
  }
  return { at, count: header.length }
}

/** The cells of the three known columns, trimmed and otherwise unchanged. */
export function cellsOf(cells: readonly string[], columns: ContactColumns): ContactCells {
  const cell = (column: Column): string => cells[columns.at[column]]?.trim() ?? ''
  return { name: cell('name'), phone: cell('phone'), email: cell('email') }
}

const NAME_MAX = 255
const emailSchema = z.email().max(254)

/**
 * The contact's cells with the phone as digits, or why the record is refused. A line break in one of the cells is
 * refused too: nearly always it is a quote that was not closed, and the following records would vanish in a name.
 */
export function checkContact(
  record: readonly string[],
  columns: ContactColumns,
): { contact: ContactCells } | { refused: string } {
  // Spreadsheets leave out empty cells at the end of a line, or add some.
  if (record.slice(columns.count).some((cell) => cell.trim() !== '')) {
    return { refused: `expected ${columns.count} cells, got ${record.length}` }
  }
  const cells = cellsOf(record, columns)
  for (const column of COLUMNS) {
    const fault = cellFault(cells[column])
    if (fault !== undefined) return { refused: `${column}: ${fault}` }
  }
  if (cells.phone === '') return { refused: 'phone: required' }
  const phone = parseListedPhone(cells.phone)
  if (!phone.ok) return { refused: `phone: ${phone.message}` }
  if (cells.name.length > NAME_MAX) return { refused: `name: at most ${NAME_MAX} characters, got ${cells.name.length}` }
  if (cells.email !== '' && !emailSchema.safeParse(cells.email).success) {
    return { refused: 'email: not an email address' }
  }
  return { contact: { ...cells, name: isVisible(cells.name) ? cells.name : '', phone: phone.digits } }
}
