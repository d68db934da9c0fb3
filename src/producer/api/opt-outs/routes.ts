// Who wants no advertising: listed, added, removed, imported and exported.
import { z } from 'zod'
import { textUpTo } from '../../../messages/bounded.ts'
import { optOutSchema } from '../../../people/opt-outs/opt-out.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { csvSaidFields, IMPORT_MAX_BYTES, readAsSchema, refusedRows } from '../csv-import.ts'
import { idempotencyHeaders, pageFields } from '../fields.ts'

const mayLook = { in: 'bearer', permission: 'contacts:read' } as const
const mayChange = { in: 'bearer', permission: 'contacts:write' } as const
const person = textUpTo(140).meta({
  description: 'A number in any spelling, or WhatsApp’s id of a person without one.',
})
const params = z.object({ person })
const errors = { 404: ['not_found'] } as const

const count = z.int().nonnegative()
const importedSchema = z.strictObject({
  imported: count.describe('Rows whose person is on the list now.'),
  added: count.describe('People who were not on it before.'),
  refused: count,
  read_as: readAsSchema,
  refused_rows: refusedRows,
})
importedSchema.register(z.globalRegistry, { id: 'ImportedOptOuts' })

const optOut = { person: '447700900155', source: 'http', since: '2026-11-21T10:00:00.000Z' }

export const optOuts = {
  list: route({
    method: 'get',
    path: '/opt-outs',
    summary: 'Lists the people who want no advertising of the account, the latest first.',
    access: mayLook,
    query: z.strictObject({ limit: pageFields.limit, cursor: textUpTo(160).optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(optOutSchema) },
    examples: [
      {
        query: { limit: '1' },
        status: 200,
        answer: { status: true, data: [optOut], next: '1795255200000_447700900155' },
      },
    ],
  }),
  add: route({
    method: 'post',
    path: '/opt-outs',
    summary: 'Writes down that a person wants no advertising.',
    details:
      'Campaigns pass them over, and MARKETING templates to them end `cancelled` with the code `opted_out`. Whoever is ' +
      'written down already stays as they are.',
    access: mayChange,
    act: 'person.opt_out',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: z.strictObject({ person }) },
    answers: { 201: doneWith(optOutSchema) },
    errors: { 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { person: '+44 7700 900155' },
        status: 201,
        answer: { status: true, message: 'opted out', data: optOut },
      },
    ],
  }),
  import: route({
    method: 'post',
    path: '/opt-outs/import',
    summary: 'Writes down everybody in a CSV file with the column `person` or `phone`, as it comes.',
    details: 'Other columns are left out. Doing it again changes nothing. Rows before a broken one are imported.',
    access: mayChange,
    act: 'people.opt_out',
    takesRoom: true,
    query: z.strictObject(csvSaidFields),
    body: { as: 'stream', contentTypes: ['text/csv'], limit: IMPORT_MAX_BYTES, schema: z.string() },
    answers: { 200: doneWith(importedSchema) },
    errors: { 400: ['invalid_request'] },
    examples: [
      {
        headers: { 'Content-Type': 'text/csv' },
        text: 'person\n+44 7700 900156\nnone\n',
        status: 200,
        answer: {
          status: true,
          message: 'imported',
          data: {
            ...{ imported: 1, added: 1, refused: 1 },
            read_as: { encoding: 'utf-8', separator: ',', columns: ['person'] },
            refused_rows: [
              { line: 3, reason: 'expected a full international number, or the id of a person without one' },
            ],
          },
        },
      },
    ],
  }),
  export: route({
    method: 'get',
    path: '/opt-outs/export',
    summary: 'Gives the whole list as CSV, the latest first, with the columns `person`, `source` and `since`.',
    access: mayLook,
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/csv'] } },
    examples: [{ status: 200 }],
  }),
  show: route({
    method: 'get',
    path: '/opt-outs/:person',
    summary: 'Shows since when a person wants no advertising, and who said so; 404 when they said nothing.',
    access: mayLook,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(optOutSchema) },
    errors,
    examples: [
      {
        params: { person: '+447700900155' },
        status: 200,
        answer: { status: true, message: 'opted out', data: optOut },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/opt-outs/:person',
    summary: 'Takes a person off the list: campaigns that are checked or sent from now on reach them.',
    access: mayChange,
    act: 'person.opt_in',
    params,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors,
    examples: [
      { params: { person: '+447700900155' }, status: 200, answer: { status: true, message: 'may be written to' } },
    ],
  }),
}
