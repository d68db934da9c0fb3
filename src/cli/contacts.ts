// contacts: import a CSV file into a contact list (tag); list, show, change and delete contacts.
import { statSync } from 'node:fs'
import type { Writable } from 'node:stream'
import { SingleBar } from 'cli-progress'
import { z } from 'zod'
import type { ImportCounts } from '../contacts/commands/import-csv.ts'
import { importCsv } from '../contacts/commands/import-csv.ts'
import { findTag } from '../contacts/store/tags.ts'
import { readAsSentence } from '../files/csv-head.ts'
import { normalCsv } from '../files/normal-csv.ts'
import { counted } from '../messages/fault.ts'
import { existingAccount } from './accounts.ts'
import { contactVerbs } from './contact-verbs.ts'
import { bytesOf, csvOptions, csvValues, ofFile } from './csv-file.ts'
import { CliFailure, fileFailure } from './failure.ts'
import { openReport } from './refused-report.ts'
import { keyValueTable } from './table.ts'
import { filePath } from './typed-file.ts'
import { accountId, nameUpTo } from './values.ts'
import { type Noun, verb } from './verb.ts'

export const contacts: Noun = {
  name: 'contacts',
  summary: 'contacts, grouped by tag',
  verbs: [
    ...contactVerbs,
    verb({
      usage: 'import <file>',
      summary: 'import a CSV file with the columns name, phone and email, in any order, into a tag',
      act: 'contacts.import',
      example: 'people.csv --account 1 --tag "Spring campaign"',
      options: {
        '!--account <id>': 'account that owns the contacts',
        '!--tag <name or id>': 'tag to put them in; a name that does not exist yet is created',
        ...csvOptions,
        '--report <file>': 'where to write the refused rows (default: <file>.refused.csv)',
      },
      values: z.strictObject({
        file: filePath,
        account: accountId,
        tag: nameUpTo(100),
        report: filePath.optional(),
        ...csvValues,
      }),
      async run({ file, account, tag: wanted, report: reportTyped, ...said }, { redis, stderr }) {
        const reportPath = reportTyped ?? `${file}.refused.csv`
        if (reportPath === file) throw new CliFailure('--report: expected another file than the one imported.', 2)
        await existingAccount(redis, account)
        const size = sizeOf(file)
        // A tag that is not there must not cost the report of an earlier import.
        if (/^\d+$/.test(wanted) && !(await findTag(redis, account, Number(wanted)))) {
          throw new CliFailure(`--tag: account ${account} has no tag ${wanted}.`)
        }
        const report = openReport(reportPath)
        const bar = startBar(size, stderr)
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
            ].join('\n'),
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
