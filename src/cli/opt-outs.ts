// opt-outs: list, add, remove, import, export. People who want no advertising of an account.
import { readAsSentence } from '../files/csv-head.ts'
import { normalCsv } from '../files/normal-csv.ts'
import { counted } from '../kernel/fault.ts'
import { parseListedPerson, parsePerson } from '../kernel/recipient.ts'
import { exportOptOuts } from '../people/opt-outs/opt-out-export.ts'
import { optOutsHold } from '../people/opt-outs/opt-out-hold.ts'
import { importOptOuts } from '../people/opt-outs/opt-out-import.ts'
import { addOptOuts, listOptOuts, removeOptOuts } from '../people/opt-outs/opt-outs.ts'
import { bytesOf, csvValues, filePath, ofFile, writePrivate } from './files.ts'
import { type Columns, keyValueTable, listed } from './print.ts'
import { accountId, limitOption, parser, wordsOf } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

const peopleReadBy = (read: (text: string) => string | undefined) =>
  parser('full international numbers such as +14155550123, or ids of people, separated by commas', (text) =>
    wordsOf(text, read),
  )
const people = peopleReadBy(parsePerson)
const listedPeople = peopleReadBy(parseListedPerson)
/** Refused rows that are named; a file is better mended in one go than by the thousand. */
const REFUSED_NAMED = 1_000
/** Of those so many on a terminal. */
const REFUSED_SHOWN = 10
const account = option(accountId, 'id', 'account whose advertising it is')

type OptOut = Awaited<ReturnType<typeof listOptOuts>>['data'][number]
const COLUMNS: Columns<OptOut> = {
  PERSON: ({ person }) => person,
  SOURCE: ({ source }) => source,
  SINCE: ({ since }) => since,
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list the people who want no advertising, the latest first',
    example: '--account 1',
    values: { account, limit: limitOption() },
    async run({ account, limit }, { redis }) {
      const { data } = await listOptOuts(redis, account, { limit, cursor: undefined })
      return listed(data, COLUMNS, 'Nobody has opted out.')
    },
  }),
  verb({
    usage: 'add <people>',
    act: 'person.opt_out',
    summary: 'record that these people, by number or id, want no advertising',
    example: '+14155550123 --account 1',
    values: { people, account },
    async run({ people, account }, { redis }) {
      const added = await addOptOuts(redis, account, people, { source: 'cli' })
      await optOutsHold(redis)
      const detail = counted(added, 'opt-out')
      return { json: { added }, text: `Added ${detail}.`, acted: { account, detail } }
    },
  }),
  verb({
    usage: 'remove <people>',
    act: 'person.opt_in',
    summary: 'take these people off the list: campaigns that are checked or sent from now on reach them',
    example: '+14155550123 --account 1',
    values: { people: listedPeople, account },
    async run({ people, account }, { redis }) {
      const removed = await removeOptOuts(redis, account, people, { source: 'cli' })
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
    values: { file: filePath, account, ...csvValues },
    async run({ file: path, account, ...said }, { redis }) {
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
    values: { file: filePath, account },
    async run({ file: path, account }, { redis }) {
      await writePrivate(path, exportOptOuts(redis, account))
      return { json: { file: path }, text: `The list is in ${path}.` }
    },
  }),
]
