// contacts: people of an account, in contact lists (tags).
import { z } from 'zod'
import { csvLine } from '../files/csv.ts'
import { contacts } from '../producer/api/contacts/routes.ts'
import { importText } from './import-text.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

const PERSON = '+447700900123'

const counts = z.looseObject({
  ...{ joined: z.number(), created: z.number(), repeated: z.number() },
  tag: z.object({ id: z.number(), name: z.string() }),
})
const refusedRow = z.object({
  ...{ line: z.number(), reason: z.string() },
  ...{ name: z.string(), phone: z.string(), email: z.string() },
})
const refused = z.looseObject({ refused: z.number(), refused_rows: z.array(refusedRow) })

export const verbs: readonly RouteVerb[] = [
  routeVerb('contactBook', 'import', contacts.import, {
    example: 'people.csv --account 1 --tag "Spring campaign"',
    text: importText(
      counts,
      ({ joined, created, repeated }) => [
        ['Repeated', repeated === 0 ? '' : `${repeated} with a number from an earlier row; the last row counts`],
        ['New to the tag', String(joined)],
        ['New contacts', String(created)],
      ],
      ({ tag }) => [['Tag', `${tag.name} (${tag.id})`]],
    ),
    report(data: unknown) {
      const { refused: count, refused_rows: rows } = refused.parse(data)
      return {
        ...{ count, header: csvLine(['line', 'reason', 'name', 'phone', 'email']) },
        lines: rows.map(({ line, reason, name, phone, email }) => csvLine([String(line), reason, name, phone, email])),
      }
    },
  }),
  routeVerb('contactBook', 'list', contacts.list, {
    summary: 'list contacts of one list or of all, and search them, a page at a time',
    example: '--account 1 --search ada',
    words: { q: 'search' },
    columns: ['id', 'name', 'phone', 'email', 'tags'],
    none: 'There is no such contact.',
    pages: 50,
  }),
  routeVerb('contactBook', 'create', contacts.create, { example: `--account 1 --phone ${PERSON} --tags 1` }),
  routeVerb('contactBook', 'show', contacts.show, { example: '7 --account 1' }),
  routeVerb('contactBook', 'change', contacts.change, {
    example: '7 --account 1 --name "Ada Example" --tags 1,3',
    read: { tags: { placeholder: 'list', value: (text) => (text === 'none' ? [] : text.split(',').map(Number)) } },
  }),
  routeVerb('contactBook', 'remove', contacts.remove, { verb: 'delete', example: '7 --account 1', asks: false }),
]
