// Imports a CSV file of contacts in flat memory: rows are read and checked, and stored a thousand at a time while the next
// thousand are read. Doing it again is harmless: a contact is known by its phone number.

import { createNumberSet } from '../../campaigns/number-set.ts'
import { type CsvRecord, EndlessRecordError } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import { type ContactCells, type ContactColumns, cellsOf, checkContact } from './contact-rows.ts'

/** Most rows that the store takes in one call. */
const BATCH = 1_000

/** What became of the rows of an imported file. */
export interface ImportCounts {
  /** Rows that are contacts of the tag now. */
  imported: number
  /** Contacts that were not in the tag before. */
  joined: number
  /** Contacts that the account did not have before. */
  created: number
  refused: number
  /** Imported rows whose number an earlier row of the file had: the later row counts. */
  repeated: number
}

/** Takes the rows that are refused; may make the import wait. */
export interface RefusedRows {
  add: (line: number, reason: string, cells: ContactCells) => Promise<void>
}

/**
 * Imports the records that follow the header. `store` takes a batch; `onBatch` hears the counts so far.
 */
export async function importContactRows(
  records: AsyncIterable<CsvRecord>,
  columns: ContactColumns,
  work: {
    store: (rows: ContactCells[]) => Promise<Pick<ImportCounts, 'joined' | 'created'>>
    report: RefusedRows
    onBatch: (counts: ImportCounts) => void
  },
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, joined: 0, created: 0, refused: 0, repeated: 0 }
  const seen = createNumberSet()
  let batch: ContactCells[] = []
  /** The batch that is being stored. */
  let storing = Promise.resolve()

  async function storeBatch(): Promise<void> {
    const rows = batch
    batch = []
    // In order, so that the last of two rows with one number counts.
    await storing
    storing = work.store(rows).then(({ joined, created }) => {
      counts.joined += joined
      counts.created += created
      counts.imported += rows.length
      work.onBatch(counts)
    })
    // The next await gets its failure; until then it must not end the process.
    storing.catch(() => {})
  }

  async function finish(): Promise<void> {
    if (batch.length > 0) await storeBatch()
    await storing
  }

  try {
    for await (const record of records) {
      // Spreadsheets leave lines of empty cells behind their last row.
      if (record.cells.every((cell) => cell.trim() === '')) continue
      const checked = checkContact(record.cells, columns)
      if ('refused' in checked) {
        counts.refused += 1
        await work.report.add(record.line, checked.refused, cellsOf(record.cells, columns))
        continue
      }
      if (!seen.add(Number(checked.contact.phone))) counts.repeated += 1
      batch.push(checked.contact)
      if (batch.length === BATCH) await storeBatch()
    }
  } catch (error) {
    // The rows before one that cannot be read are imported.
    if (error instanceof UnreadableCsvError || error instanceof EndlessRecordError) await finish()
    throw error
  }
  await finish()
  return counts
}
