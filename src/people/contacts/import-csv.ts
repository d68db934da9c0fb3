// Imports a CSV file of contacts, from wherever its bytes come, in flat memory: rows are read and checked, and stored a thousand at a
// time while the next thousand are read. Doing it again is harmless: a contact is known by its phone number.

import { type CsvRecord, csvRecords, EndlessRecordError } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import { createDoubts } from '../../files/doubtful-text.ts'
import type { NormalCsv } from '../../files/normal-csv.ts'
import { doesNotExist, refusedFile } from '../../kernel/refusal.ts'
import { createNumberSet } from '../../model/campaigns/number-set.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  type ContactCells,
  type ContactColumns,
  cellsOf,
  checkContact,
  columnsOf,
  HeaderError,
} from './contact-rows.ts'
import { ContactsFullError, importContacts } from './contacts.ts'
import { tooManyContacts } from './one-contact.ts'
import { createTag, findTag, type Tag } from './tags.ts'

/** What is imported into what. */
export interface CsvImport {
  account: number
  /** Digits mean an id, anything else a name, which becomes a tag when there is none of it. */
  tag: string
  csv: NormalCsv
  report: RefusedRows
  /** Contacts that the account may have; 0, unless said: there is no limit. */
  most?: number
  /** Hears the counts so far. */
  onBatch?: (counts: ImportCounts) => void
}

/**
 * Imports all rows that are in order. Throws a Refusal when the account has too many contacts, the tag does not exist, the header is
 * none, or a quote is never closed; rows before that are imported, and are not imported twice when it is done again.
 */
export async function importCsv(
  redis: Redis,
  { account, tag: wanted, csv, report, most = 0, onBatch = () => {} }: CsvImport,
): Promise<ImportCounts & { tag: Tag }> {
  const records = csvRecords(csv.bytes, csv.separator)
  try {
    const header = await records.next()
    const columns = columnsOf(header.done ? [] : header.value.cells)
    const tag = await tagOf(redis, account, wanted)
    const store = (rows: Parameters<typeof importContacts>[3]) => importContacts(redis, account, tag.id, rows, most)
    return { tag, ...(await importContactRows(records, columns, { store, report, onBatch })) }
  } catch (error) {
    if (error instanceof ContactsFullError) throw tooManyContacts(most)
    if (error instanceof HeaderError || error instanceof UnreadableCsvError) throw refusedFile(error.message)
    if (!(error instanceof EndlessRecordError)) throw error
    throw refusedFile(`${error.message}; mend it and import it again: rows that were imported are not imported twice.`)
  }
}

async function tagOf(redis: Redis, account: number, typed: string): Promise<Tag> {
  const id = /^\d+$/.test(typed) ? Number(typed) : (await createTag(redis, account, typed)).id
  const tag = await findTag(redis, account, id)
  if (tag === undefined) throw doesNotExist(`The list ${typed}`)
  return tag
}

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
  /** What should be checked among the imported names. */
  warnings: string[]
}

/** Takes the rows that are refused; may make the import wait. */
export interface RefusedRows {
  add: (line: number, reason: string, cells: ContactCells) => Promise<void>
}

/**
 * Imports the records that follow the header. `store` takes a batch; `onBatch` is called with the counts so far.
 */
async function importContactRows(
  records: AsyncIterable<CsvRecord>,
  columns: ContactColumns,
  work: {
    store: (rows: ContactCells[]) => Promise<Pick<ImportCounts, 'joined' | 'created'>>
    report: RefusedRows
    onBatch: (counts: ImportCounts) => void
  },
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, joined: 0, created: 0, refused: 0, repeated: 0, warnings: [] }
  const doubts = createDoubts()
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
      doubts.add(checked.contact.name, `line ${record.line}`)
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
  return { ...counts, warnings: doubts.sentences() }
}
