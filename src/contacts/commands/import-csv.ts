// Importing a CSV file of contacts, from wherever its bytes come.

import { csvRecords, EndlessRecordError } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import type { NormalCsv } from '../../files/normal-csv.ts'
import { doesNotExist, refusedFile } from '../../messages/accept/refusal.ts'
import type { Redis } from '../../redis/connect.ts'
import { ContactsFullError, importContacts } from '../store/contacts.ts'
import { createTag, findTag, type Tag } from '../store/tags.ts'
import { columnsOf, HeaderError } from './contact-rows.ts'
import { type ImportCounts, importContactRows, type RefusedRows } from './import-contacts.ts'
import { tooManyContacts } from './one-contact.ts'

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
 * Imports all rows that are in order. Throws a Refusal when the account has too many contacts, the tag does not exist, the header is none, or a quote is never
 * closed; rows before that are imported, and are not imported twice when it is done again.
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
