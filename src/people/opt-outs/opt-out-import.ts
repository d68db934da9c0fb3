// Imports a CSV file of opt-outs in flat memory, 500 at a time. Idempotent.

import { csvRecords, EndlessRecordError } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import { columnName, quotedColumns } from '../../files/csv-head.ts'
import type { NormalCsv } from '../../files/normal-csv.ts'
import { parseListedPhone, parsePerson, providerName, spreadsheetFault } from '../../kernel/recipient.ts'
import { refusedFile } from '../../kernel/refusal.ts'
import type { OptOutSource } from '../../model/people/opt-out.ts'
import type { Redis } from '../../redis/connect.ts'
import { optOutsHold } from './opt-out-hold.ts'
import { addOptOuts } from './opt-outs.ts'

const AT_ONCE = 500
/** Names of the column: as in the export, and as in lists of contacts. */
const COLUMNS = ['person', 'phone']

/** The result of an import. */
export interface OptOutCounts {
  /** Rows whose person is on the list now. */
  imported: number
  /** People who were not on it before. */
  added: number
  refused: number
}

/** The input of an import; `report` is called for refused rows. */
export interface OptOutImport {
  account: number
  csv: NormalCsv
  saidBy: OptOutSource
  report: { add: (line: number, reason: string, person: string) => Promise<void> }
}

/**
 * Imports all rows that are in order; other columns are left out. Throws a Refusal when the header names no column or a quote
 * is never closed; rows before that are imported.
 */
export async function importOptOuts(
  redis: Redis,
  { account, csv, saidBy, report }: OptOutImport,
): Promise<OptOutCounts> {
  const counts: OptOutCounts = { imported: 0, added: 0, refused: 0 }
  let people: string[] = []
  const store = async (): Promise<void> => {
    counts.added += await addOptOuts(redis, account, people, { source: saidBy })
    counts.imported += people.length
    people = []
  }
  const finish = async (): Promise<void> => {
    if (people.length > 0) await store()
    await optOutsHold(redis)
  }
  const records = csvRecords(csv.bytes, csv.separator)
  try {
    const header = await records.next()
    const at = columnOf(header.done ? [] : header.value.cells)
    for await (const { cells, line } of records) {
      // Spreadsheets leave lines of empty cells behind their last row.
      if (cells.every((cell) => cell.trim() === '')) continue
      const cell = (cells[at] ?? '').trim()
      const person = cell.length > 200 ? undefined : personOf(cell)
      if (person === undefined) {
        counts.refused += 1
        const reason = 'expected a full international number, or the id of a person without one'
        await report.add(line, spreadsheetFault(cell) ?? reason, cell)
        continue
      }
      people.push(person)
      if (people.length === AT_ONCE) await store()
    }
    await finish()
    return counts
  } catch (error) {
    if (!(error instanceof UnreadableCsvError || error instanceof EndlessRecordError)) throw error
    await finish()
    throw refusedFile(
      error instanceof UnreadableCsvError ? error.message : `${error.message}; mend it and import it again.`,
    )
  }
}

function columnOf(header: readonly string[]): number {
  const at = header.findIndex((cell) => COLUMNS.includes(columnName(cell).toLowerCase()))
  if (at >= 0) return at
  throw refusedFile(`expected a header with the column person, or phone, got ${quotedColumns(header)}`)
}

/** An id that is no user id of WhatsApp, but may be in the exported list; anything else may be a typo. */
const OTHER_ID = /^[A-Za-z]+\.[0-9A-Za-z.]*\d[0-9A-Za-z.]*$/

function personOf(cell: string): string | undefined {
  const phone = parseListedPhone(cell)
  if (phone.ok) return phone.digits
  return parsePerson(cell) ?? (OTHER_ID.test(cell) ? providerName(cell) : undefined)
}
