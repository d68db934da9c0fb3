// contacts: list, show, change, delete; import a CSV file into a contact list (tag).
import { once } from 'node:events'
import { createWriteStream, rmSync, statSync, type WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { z } from 'zod'
import { csvLine } from '../files/csv.ts'
import { readAsSentence } from '../files/csv-head.ts'
import { normalCsv } from '../files/normal-csv.ts'
import { counted } from '../kernel/fault.ts'
import type { ContactCells } from '../people/contacts/contact-rows.ts'
import type { Contact } from '../people/contacts/contacts.ts'
import { findContacts } from '../people/contacts/find-contacts.ts'
import { type ImportCounts, importCsv } from '../people/contacts/import-csv.ts'
import { changeContact, removeContact, showContact } from '../people/contacts/one-contact.ts'
import { findTag } from '../people/contacts/tags.ts'
import { CliFailure, fileFailure } from './failure.ts'
import { bytesOf, csvValues, filePath, ofFile } from './files.ts'
import { type Columns, keyValueTable, listed, tableOf } from './print.ts'
import { startBar } from './progress.ts'
import { accountId, limitOption, nameUpTo, numberOf, parser, phoneNumber, wholeNumber, wordsOf } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const id = numberOf('a contact, see `contacts list`')
const tagIds = parser('numbers of tags separated by commas, or none', (text) =>
  text === 'none' ? [] : wordsOf(text, wholeNumber),
)
const email = parser('an email address', (text) => (z.email().max(254).safeParse(text).success ? text : undefined))
const account = option(accountId, 'id', 'account that owns the contact')

const COLUMNS: Columns<Contact> = {
  ID: (contact) => contact.id,
  NAME: ({ name }) => name,
  PHONE: ({ phone }) => phone,
  EMAIL: (contact) => contact.email,
  TAGS: ({ tags }) => tags.join(','),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list contacts, of one tag or of all, or those with a part of a name, an email or a number',
    example: '--account 1 --search ada',
    values: {
      account: option(accountId, 'id', 'account that owns the contacts'),
      tag: option(id.optional(), 'id', 'only those that carry this tag'),
      search: option(nameUpTo(100).optional(), 'text', 'only those with this in their name, email or number'),
      limit: limitOption(),
    },
    async run({ account, tag, search, limit: most }, { redis }) {
      const found: Contact[] = []
      // A page may be short and still not be the last.
      for (let cursor: string | null | undefined; cursor !== null && found.length < most; ) {
        const wanted = { tag, text: search, limit: most - found.length, cursor: cursor ?? undefined }
        const page = await findContacts(redis, account, wanted)
        found.push(...page.contacts)
        cursor = page.next
      }
      return listed(found, COLUMNS, 'There is no such contact.')
    },
  }),
  verb({
    usage: 'show <id>',
    summary: 'show a contact',
    example: '7 --account 1',
    values: { id, account },
    run: async ({ id: contact, account }, { redis }) => {
      const json = await showContact(redis, account, contact)
      return { json, text: tableOf([json], COLUMNS) }
    },
  }),
  verb({
    usage: 'change <id>',
    summary: 'change what is given of a contact',
    act: 'contact.change',
    example: '7 --account 1 --name "Ada Example" --tags 1,3',
    values: {
      id,
      account,
      phone: option(phoneNumber.optional(), 'number', 'full international number'),
      name: option(nameUpTo(255).optional(), 'name', 'new name'),
      email: option(email.optional(), 'address', 'new email address'),
      tags: option(tagIds.optional(), 'list', 'all tags that it carries from then on, by number; none for no tag'),
    },
    async run({ id: contact, account, ...fields }, { redis }) {
      const json = await changeContact(redis, account, contact, fields)
      const detail = Object.keys(fields).join(',')
      return { json, text: tableOf([json], COLUMNS), acted: { account, target: String(contact), detail } }
    },
  }),
  verb({
    usage: 'delete <id>',
    summary: 'delete a contact from all tags; messages that were sent to it stay',
    act: 'contact.delete',
    example: '7 --account 1',
    values: { id, account },
    async run({ id: contact, account }, { redis }) {
      await removeContact(redis, account, contact)
      const acted = { account, target: String(contact) }
      return { json: { id: contact, deleted: true }, text: `Deleted contact ${contact}.`, acted }
    },
  }),
  verb({
    usage: 'import <file>',
    summary: 'import a CSV file with the columns name, phone and email, in any order, into a tag',
    act: 'contacts.import',
    example: 'people.csv --account 1 --tag "Spring campaign"',
    values: {
      file: filePath,
      account: option(accountId, 'id', 'account that owns the contacts'),
      tag: option(nameUpTo(100), 'name or id', 'tag to put them in; a name that does not exist yet is created'),
      ...csvValues,
      report: option(filePath.optional(), 'file', 'where to write the refused rows (default: <file>.refused.csv)'),
    },
    async run({ file, account, tag: wanted, report: reportTyped, ...said }, { redis, stderr }) {
      const reportPath = reportTyped ?? `${file}.refused.csv`
      if (reportPath === file) throw new CliFailure('--report: expected another file than the one imported.', 2)
      const size = sizeOf(file)
      // A tag that is not there must not cost the report of an earlier import.
      if (/^\d+$/.test(wanted) && !(await findTag(redis, account, Number(wanted)))) {
        throw new CliFailure(`--tag: account ${account} has no tag ${wanted}.`)
      }
      const report = openReport(reportPath)
      const bar = startBar(stderr, BAR, size, { rows: 0 })
      let bytes = 0
      const onBatch = ({ imported, refused }: ImportCounts) => bar.update(bytes, { rows: imported + refused })
      try {
        const csv = normalCsv(
          bytesOf(file, (piece) => {
            bytes += piece
          }),
          said,
        )
        const { tag, ...counts } = await importCsv(redis, { account, tag: wanted, csv, report, onBatch }).catch(
          (error: unknown) => {
            throw ofFile(file, error)
          },
        )
        const refusedRows = await report.close()
        return {
          json: { account, tag, ...counts, read_as: csv.readAs(), report: refusedRows ?? null },
          acted: { account, target: `tag ${tag.id}`, detail: counted(counts.imported, 'row') },
          text: [
            keyValueTable([
              ['Tag', `${tag.name} (${tag.id})`],
              ['Rows imported', String(counts.imported)],
              [
                'Repeated',
                counts.repeated === 0
                  ? ''
                  : `${counts.repeated} with a number from an earlier row; the last row counts`,
              ],
              ['New to the tag', String(counts.joined)],
              ['New contacts', String(counts.created)],
              ['Rows refused', `${counts.refused}${refusedRows === undefined ? '' : `, see ${refusedRows}`}`],
            ]),
            readAsSentence(csv.readAs()),
            ...counts.warnings.map((warning) => `Warning: ${warning}.`),
          ].join('\n'),
        }
      } finally {
        bar.stop()
      }
    },
  }),
]

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch (error) {
    throw fileFailure(file, error)
  }
}

const BAR = 'Importing {bar} {percentage} % | {rows} rows | {eta_formatted} to go'

/**
 * The report of an import: refused rows, each with its line and reason, as a CSV file that can be corrected and imported
 * again. Removes what an earlier import left at `path`; a file is made only with the first refused row.
 */
function openReport(path: string) {
  const refuse = (error: unknown): never => {
    throw fileFailure(path, error)
  }
  try {
    rmSync(path, { force: true })
  } catch (error) {
    refuse(error)
  }
  let file: WriteStream | undefined
  let fault: unknown

  function open(): WriteStream {
    // Names and numbers of people: for nobody's eyes but the importer's.
    const stream = createWriteStream(path, { mode: 0o600 })
    stream.on('error', (error) => {
      fault = error
    })
    stream.write(csvLine(['line', 'reason', 'name', 'phone', 'email']))
    return stream
  }

  return {
    /** Waits while the disk is slower than the import. */
    async add(line: number, reason: string, { name, phone, email }: ContactCells): Promise<void> {
      if (fault !== undefined) refuse(fault)
      file ??= open()
      if (!file.write(csvLine([String(line), reason, name, phone, email]))) await once(file, 'drain').catch(refuse)
    },

    /** Resolves once the report is written, with its path, or undefined when no row was refused. */
    async close(): Promise<string | undefined> {
      if (file === undefined) return undefined
      file.end()
      await finished(file).catch(refuse)
      return path
    },
  }
}
