// Opt-outs: people who want no advertising.
import { z } from 'zod'
import { optOutSchema } from '../../../model/people/opt-out.ts'
import { named, one } from '../answers.ts'
import { routesOf } from '../define.ts'
import {
  count,
  csvBody,
  csvOptionFields,
  importedFields,
  listedPersonField,
  pageQuery,
  personField,
} from '../fields.ts'
import { resource } from '../resource.ts'

const params = z.object({ person: listedPersonField })
const shown = { person: '+447700900155' }
const mayLook = { in: 'bearer', permission: 'contacts:read' } as const
const mayChange = { in: 'bearer', permission: 'contacts:write' } as const
const look = routesOf({ access: mayLook, params, shown })
const change = routesOf({ access: mayChange, params, shown })

const importedSchema = named('ImportedOptOuts', {
  imported: count.describe('Rows whose person is on the list now.'),
  added: count.describe('People who were not on it before.'),
  ...importedFields,
})

const optOut = resource({
  ...{ noun: 'opt-out', at: '/opt-outs', params, shown },
  look: mayLook,
  change: mayChange,
  document: optOutSchema,
  given: z.strictObject({ person: personField }),
  query: pageQuery(160),
})

export const optOuts = {
  list: optOut.list('Lists the people who want no advertising of the account, the latest first.', {
    examples: [{ query: { limit: '1' } }],
  }),
  add: optOut.create('Records that a person wants no advertising.', {
    details:
      'Campaigns skip them, and MARKETING templates to them end `cancelled` with the code `opted_out`. An earlier opt-out ' +
      'of the same person stays as it is.',
    act: 'person.opt_out',
    examples: [{ body: { person: '+44 7700 900155' }, says: 'opted out' }],
  }),
  import: change.post('/opt-outs/import', 'Imports opt-outs from a CSV file with the column `person` or `phone`.', {
    details: 'Other columns are ignored. Doing it again changes nothing. Rows before a broken one are imported.',
    act: 'people.opt_out',
    takesRoom: true,
    query: z.strictObject(csvOptionFields),
    body: csvBody,
    answers: one(importedSchema),
    errors: { 400: ['invalid_request'] },
    examples: [
      {
        headers: { 'Content-Type': 'text/csv' },
        text: 'person\n+44 7700 900156\nnone\n',
        says: 'imported',
      },
    ],
  }),
  export: look.get('/opt-outs/export', 'Exports the list as CSV with the columns `person`, `source` and `since`.', {
    details: 'The latest first.',
    answers: { 200: { contentTypes: ['text/csv'] } },
  }),
  show: optOut.show('Shows since when a person wants no advertising, and by which source.', {
    mcp: 'read',
    details: '404 for a person who has not opted out.',
    examples: [{ says: 'opted out' }],
  }),
  remove: optOut.remove('Removes an opt-out: campaigns checked or sent from now on reach the person.', {
    act: 'person.opt_in',
    examples: [{ says: 'may be written to' }],
  }),
}
