// contacts: import a CSV file into a contact list (tag).
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import { z } from 'zod'
import { importContacts } from '../contacts/store/contacts.ts'
import { createTag, findTag, type Tag } from '../contacts/store/tags.ts'
import type { Redis } from '../redis/connect.ts'
import { existingAccount } from './accounts.ts'
import { columnsOf } from './contact-rows.ts'
import { readCsv } from './csv-file.ts'
import { CliFailure, fileFailure } from './failure.ts'
import { importContactRows } from './import-contacts.ts'
import { openReport } from './refused-report.ts'
import { keyValueTable } from './table.ts'
import { accountId, nameUpTo } from './values.ts'
import { type Noun, verb } from './verb.ts'

export const contacts: Noun = {
  name: 'contacts',
  summary: 'contacts, grouped by tag',
  verbs: [
    verb({
      usage: 'import <file>',
      summary: 'import a CSV file with the columns name, phone and email, in any order, into a tag',
      act: 'contacts.import',
      example: 'people.csv --account 1 --tag "Spring campaign"',
      options: {
        '!--account <id>': 'account that owns the contacts',
        '!--tag <name or id>': 'tag to put them in; a name that does not exist yet is created',
        '--report <file>': 'where to write the refused rows (default: <file>.refused.csv)',
      },
      values: z.strictObject({
        file: z.string().transform((file) => resolve(file)),
        account: accountId,
        tag: nameUpTo(100),
        report: z
          .string()
          .transform((file) => resolve(file))
          .optional(),
      }),
      async run({ file, account, tag: tagTyped, report: reportTyped }, { redis, stderr }) {
        const reportPath = reportTyped ?? `${file}.refused.csv`
        if (reportPath === file) throw new CliFailure('--report: expected another file than the one imported.', 2)
        await existingAccount(redis, account)
        const size = sizeOf(file)

        const records = readCsv(file)
        const header = await records.next()
        const columns = columnsOf(header.done ? [] : header.value.cells)
        const tag = await tagOf(redis, account, tagTyped)
        const report = openReport(reportPath)
        const bar = startBar(size, stderr)
        try {
          const counts = await importContactRows(records, columns, {
            store: (rows) => importContacts(redis, account, tag.id, rows),
            report,
            onBatch: ({ imported, refused }, bytes) => bar.update(bytes, { rows: imported + refused }),
          })
          const refusedRows = await report.close()
          return {
            json: { account, tag, ...counts, report: refusedRows ?? null },
            acted: { account, target: `tag ${tag.id}`, detail: `${counts.imported} rows` },
            text: keyValueTable([
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
          }
        } finally {
          bar.stop()
        }
      },
    }),
  ],
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch (error) {
    throw fileFailure(file, error)
  }
}

/** A number means an id, anything else a name, which becomes a tag when there is none of it. */
async function tagOf(redis: Redis, account: number, typed: string): Promise<Tag> {
  const id = /^\d+$/.test(typed) ? Number(typed) : (await createTag(redis, account, typed)).id
  const tag = await findTag(redis, account, id)
  if (tag === undefined) throw new CliFailure(`--tag: account ${account} has no tag ${typed}.`)
  return tag
}

/** On standard error, and only when a person looks at it. */
function startBar(bytes: number, stream: Writable): SingleBar {
  const bar = new SingleBar({
    stream,
    format: 'Importing {bar} {percentage} % | {rows} rows | {eta_formatted} to go',
    clearOnComplete: true,
    // Its own handling of Ctrl-C would keep the import running; so it must not change what it would have to put back.
    gracefulExit: false,
    linewrap: true,
  })
  bar.start(bytes, 0, { rows: 0 })
  return bar
}
