// opt-outs: list, add, remove, import, export. People who want no advertising of an account.
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { readAsSentence } from '../files/csv-head.ts'
import { normalCsv } from '../files/normal-csv.ts'
import { counted } from '../messages/fault.ts'
import { exportOptOuts, importOptOuts } from '../people/opt-outs/commands/opt-out-files.ts'
import { addOptOuts, listOptOuts, optOutsHold, removeOptOuts } from '../people/opt-outs/store/opt-outs.ts'
import { parsePerson } from '../people/person.ts'
import { existingAccount } from './accounts.ts'
import { bytesOf, csvOptions, csvValues, ofFile } from './csv-file.ts'
import { fileFailure } from './failure.ts'
import { keyValueTable, table } from './table.ts'
import { filePath } from './typed-file.ts'
import { accountId, parser } from './values.ts'
import { type Noun, verb } from './verb.ts'

const people = parser(
  'full international numbers such as +14155550123, or ids of people, separated by commas',
  (text) => {
    const words = text.split(',')
    const found = words.flatMap((word) => parsePerson(word.trim()) ?? [])
    return found.length === words.length ? found : undefined
  },
)
const limit = parser('a number from 1 to 1000', (text) =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000 ? Number(text) : undefined,
)
const LIMIT_DEFAULT = 50
/** Refused rows that are named; a file is better mended in one go than by the thousand. */
const REFUSED_NAMED = 1_000
/** Of those so many on a terminal. */
const REFUSED_SHOWN = 10
const ofAccount = { '!--account <id>': 'account whose advertising it is' }

export const optOuts: Noun = {
  name: 'opt-outs',
  summary: 'people who want no advertising',
  verbs: [
    verb({
      usage: 'list',
      summary: 'list the people who want no advertising, the latest first',
      example: '--account 1',
      options: { ...ofAccount, '--limit <number>': `how many to list (default: ${LIMIT_DEFAULT})` },
      values: z.strictObject({ account: accountId, limit: limit.default(LIMIT_DEFAULT) }),
      async run({ account, limit: most }, { redis }) {
        await existingAccount(redis, account)
        const { data } = await listOptOuts(redis, account, { limit: most, cursor: undefined })
        const rows = data.map((each) => [each.person, each.source, each.since])
        return {
          json: data,
          text: rows.length === 0 ? 'Nobody has opted out.' : table(['PERSON', 'SOURCE', 'SINCE'], rows),
        }
      },
    }),
    verb({
      usage: 'add <people>',
      act: 'person.opt_out',
      summary: 'record that these people, by number or id, want no advertising',
      example: '+14155550123 --account 1',
      options: ofAccount,
      values: z.strictObject({ people, account: accountId }),
      async run({ people: all, account }, { redis }) {
        await existingAccount(redis, account)
        const added = await addOptOuts(redis, account, all, { source: 'cli' })
        await optOutsHold()
        const detail = counted(added, 'opt-out')
        return { json: { added }, text: `Added ${detail}.`, acted: { account, detail } }
      },
    }),
    verb({
      usage: 'remove <people>',
      act: 'person.opt_in',
      summary: 'take these people off the list: campaigns that are checked or sent from now on reach them',
      example: '+14155550123 --account 1',
      options: ofAccount,
      values: z.strictObject({ people, account: accountId }),
      async run({ people: all, account }, { redis }) {
        await existingAccount(redis, account)
        const removed = await removeOptOuts(redis, account, all, { source: 'cli' })
        const detail = counted(removed, 'opt-out')
        const acted = removed === 0 ? undefined : { account, detail }
        return { json: { removed }, text: `Removed ${detail}.`, acted }
      },
    }),
    verb({
      usage: 'import <file>',
      act: 'people.opt_out',
      summary: 'add everybody in a CSV file with the column person or phone',
      example: 'stop-list.csv --account 1',
      options: { ...ofAccount, ...csvOptions },
      values: z.strictObject({ file: filePath, account: accountId, ...csvValues }),
      async run({ file: path, account, ...said }, { redis }) {
        await existingAccount(redis, account)
        const refusedRows: { line: number; reason: string }[] = []
        const report = {
          async add(line: number, reason: string): Promise<void> {
            if (refusedRows.length < REFUSED_NAMED) refusedRows.push({ line, reason })
          },
        }
        const csv = normalCsv(bytesOf(path), said)
        const counts = await importOptOuts(redis, { account, csv, saidBy: 'cli', report }).catch((error: unknown) => {
          throw ofFile(path, error)
        })
        const refused = refusedRows.slice(0, REFUSED_SHOWN).map(({ line, reason }) => `Line ${line}: ${reason}`)
        const figures = keyValueTable([
          ['Rows imported', String(counts.imported)],
          ['New to the list', String(counts.added)],
          ['Rows refused', String(counts.refused)],
        ])
        return {
          json: { ...counts, read_as: csv.readAs(), refused_rows: refusedRows },
          text: [figures, readAsSentence(csv.readAs()), ...refused].join('\n'),
          acted: { account, detail: counted(counts.imported, 'row') },
        }
      },
    }),
    verb({
      usage: 'export <file>',
      summary: 'write the whole list into a CSV file with the columns person, source and since',
      example: 'opt-outs.csv --account 1',
      options: ofAccount,
      values: z.strictObject({ file: filePath, account: accountId }),
      async run({ file: path, account }, { redis }) {
        await existingAccount(redis, account)
        // Numbers of people: for nobody's eyes but the one's who asks.
        const out = createWriteStream(path, { mode: 0o600 })
        await pipeline(Readable.from(exportOptOuts(redis, account)), out).catch((error: unknown) => {
          throw error instanceof Error && 'syscall' in error ? fileFailure(path, error) : error
        })
        return { json: { file: path }, text: `The list is in ${path}.` }
      },
    }),
  ],
}
