// Contacts of an account, by Laneway's own addresses: looked for, created, imported, changed and deleted.
import { z } from 'zod'
import { textUpTo } from '../../../messages/bounded.ts'
import { parsePhone } from '../../../messages/phone.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { csvSaidFields, IMPORT_MAX_BYTES, readAsSchema, refusedRows } from '../csv-import.ts'
import { changesOf, idempotencyHeaders, idField, pageFields, textIdField } from '../fields.ts'

const mayLook = { in: 'bearer', permission: 'contacts:read' } as const
const mayChange = { in: 'bearer', permission: 'contacts:write' } as const
const params = z.object({ id: textIdField })
const errors = { 404: ['not_found'] } as const

const TAGS_MAX = 100

const text = z.string().nullable()
const count = z.int().nonnegative()

const contactSchema = z.strictObject({
  id: z.int(),
  phone: z.string().describe('Digits with country code.'),
  name: text,
  email: text,
  tags: z.array(z.int()).describe('All lists that it is in, by id, in the order it joined them.'),
})
contactSchema.register(z.globalRegistry, { id: 'ContactEntry' })

const tagSchema = z.strictObject({ id: z.int(), name: z.string(), contacts: count })
tagSchema.register(z.globalRegistry, { id: 'ContactList' })

const phoneField = textUpTo(40).transform((given, context) => {
  const phone = parsePhone(given)
  if (phone.ok) return phone.digits
  context.addIssue(phone.message)
  return z.NEVER
})
const plain = (max: number) =>
  textUpTo(max)
    .trim()
    .regex(/^\P{Cc}*$/u, 'must have no control characters')
const nameField = plain(255)
const emailField = z.union([z.literal(''), z.email().max(254)], 'expected an email address, or nothing')
const tagsField = z.array(idField).max(TAGS_MAX).describe('Ids of all lists that it is in from then on.')

const changes = changesOf({
  phone: phoneField,
  name: nameField.nullable(),
  email: emailField.nullable(),
  tags: tagsField,
})

const importedSchema = z.strictObject({
  tag: z.strictObject({ id: z.int(), name: z.string() }),
  imported: count.describe('Rows that are contacts of the list now.'),
  joined: count.describe('Contacts that were not in it before.'),
  created: count.describe('Contacts that the account did not have before.'),
  refused: count,
  repeated: count.describe('Rows with a number of an earlier row; the last row counts.'),
  read_as: readAsSchema,
  refused_rows: refusedRows,
})
importedSchema.register(z.globalRegistry, { id: 'ImportedContacts' })

const contact = { id: 1, phone: '447700900101', name: 'Ada Example', email: 'ada@shop.example', tags: [1] }
const shown = (message: string, data: object = contact) => ({ status: 200, answer: { status: true, message, data } })

export const contactBook = {
  list: route({
    method: 'get',
    path: '/contacts',
    summary: 'Lists contacts, of one list or of all, and looks for a name, an email or a number, a page at a time.',
    details:
      'In the order they joined the list where `tag` is given, else in none. A page may be short and still not be the ' +
      'last: go on until `next` is null.',
    access: mayLook,
    query: z.strictObject({
      tag: textIdField.optional().describe('Id of a list.'),
      q: textUpTo(100).trim().min(1).optional().describe('A part of a name, an email or a number.'),
      limit: pageFields.limit,
      cursor: textUpTo(60).optional(),
    }),
    body: { as: 'ignored' },
    answers: { 200: listOf(contactSchema) },
    errors,
    examples: [{ query: { tag: '1', limit: '1' }, status: 200, answer: { status: true, data: [contact], next: 'm1' } }],
  }),
  tags: route({
    method: 'get',
    path: '/contacts/tags',
    summary: 'Lists the contact lists (tags) of the account, the oldest first.',
    access: mayLook,
    query: z.strictObject({ limit: pageFields.limit, cursor: textIdField.optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(tagSchema) },
    examples: [
      {
        status: 200,
        answer: { status: true, data: [{ id: 1, name: 'Newsletter', contacts: 2 }], next: null },
      },
    ],
  }),
  import: route({
    method: 'post',
    path: '/contacts/import',
    summary: 'Imports a CSV file with the columns name, phone and email into a list, as it comes.',
    details: 'Doing it again changes nothing: a contact is known by its number. Rows before a broken one are imported.',
    access: mayChange,
    act: 'contacts.import',
    takesRoom: true,
    query: z.strictObject({
      tag: plain(100).min(1).describe('Id or name of a list; a name that does not exist yet is created.'),
      ...csvSaidFields,
    }),
    body: { as: 'stream', contentTypes: ['text/csv'], limit: IMPORT_MAX_BYTES, schema: z.string() },
    answers: { 200: doneWith(importedSchema) },
    errors: { ...errors, 400: ['invalid_request'], 409: ['too_many_contacts'] },
    examples: [
      {
        query: { tag: 'Newsletter' },
        headers: { 'Content-Type': 'text/csv' },
        text: 'name,phone,email\nAda Example,+44 7700 900101,ada@shop.example\nBen,none,\n',
        ...shown('imported', {
          tag: { id: 1, name: 'Newsletter' },
          ...{ imported: 1, joined: 1, created: 1, refused: 1, repeated: 0 },
          read_as: { encoding: 'utf-8', separator: ',', columns: ['name', 'phone', 'email'] },
          refused_rows: [{ line: 3, reason: 'phone: expected a full international number' }],
        }),
      },
    ],
  }),
  create: route({
    method: 'post',
    path: '/contacts',
    summary: 'Creates a contact.',
    access: mayChange,
    act: 'contact.create',
    headers: idempotencyHeaders,
    body: {
      as: 'json',
      schema: z.strictObject({
        phone: phoneField,
        name: nameField.default(''),
        email: emailField.default(''),
        tags: tagsField.default([]),
      }),
    },
    answers: { 201: doneWith(contactSchema) },
    errors: { 409: ['duplicate_phone', 'too_many_contacts'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { phone: '+44 7700 900188', name: 'Ivy Example', tags: [1] },
        status: 201,
        answer: {
          status: true,
          message: 'created',
          data: { id: 9, phone: '447700900188', name: 'Ivy Example', email: null, tags: [1] },
        },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/contacts/:id',
    summary: 'Shows a contact.',
    access: mayLook,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(contactSchema) },
    errors,
    examples: [{ params: { id: '1' }, ...shown('contact') }],
  }),
  change: route({
    method: 'patch',
    path: '/contacts/:id',
    summary: 'Changes what is given of a contact; null removes a name or an email.',
    access: mayChange,
    act: 'contact.change',
    params,
    body: { as: 'json', schema: changes },
    answers: { 200: doneWith(contactSchema) },
    errors: { ...errors, 409: ['duplicate_phone'] },
    examples: [{ params: { id: '1' }, body: { name: 'Ada Example' }, ...shown('changed') }],
  }),
  remove: route({
    method: 'delete',
    path: '/contacts/:id',
    summary: 'Deletes a contact from all lists; messages that were sent to it stay.',
    access: mayChange,
    act: 'contact.delete',
    params,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors,
    examples: [{ params: { id: '2' }, status: 200, answer: { status: true, message: 'deleted' } }],
  }),
}
