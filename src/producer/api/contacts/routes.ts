// Contacts by Laneway's own addresses, and contact lists (tags) by those of the older interface.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { ApiError } from '../../errors.ts'
import { named, one, page } from '../answers.ts'
import { routesOf } from '../define.ts'
import {
  changesOf,
  count,
  csvBody,
  csvOptionFields,
  idempotencyHeaders,
  idField,
  idPageQuery,
  importedFields,
  nameField,
  pageQuery,
  phoneField,
  plainText,
  REFUSED_SHOWN,
  textIdField,
} from '../fields.ts'
import { resource } from '../resource.ts'

const mayLook = { in: 'bearer', permission: 'contacts:read' } as const
const mayChange = { in: 'bearer', permission: 'contacts:write' } as const
const shared = { params: z.object({ id: textIdField }), shown: { id: '1' } }
const look = routesOf({ ...shared, access: mayLook })
const change = routesOf({ ...shared, access: mayChange })

/** Most tags of a contact, and of one request for contacts. */
const TAGS_MAX = 100

const text = z.string().nullable()

const contactSchema = named('ContactEntry', {
  id: z.int(),
  phone: z.string().describe('Digits with country code.'),
  name: text,
  email: text,
  tags: z.array(z.int()).describe('All lists that the contact is in, by id, in the order it joined them.'),
})

/** The cells of a row as they were in the file, of a long one its beginning. */
const cells = { name: z.string(), phone: z.string(), email: z.string() }

const tagSchema = named('ContactList', { id: z.int(), name: z.string(), contacts: count })

const emailField = z.union([z.literal(''), z.email().max(254)], 'expected an email address, or nothing')
const tagsField = z.array(idField).max(TAGS_MAX).describe('Ids of all lists that the contact is in from then on.')

const importedSchema = named('ImportedContacts', {
  tag: z.strictObject({ id: z.int(), name: z.string() }),
  imported: count.describe('Rows that are contacts of the list now.'),
  joined: count.describe('Contacts that were not in it before.'),
  created: count.describe('Contacts that the account did not have before.'),
  repeated: count.describe('Rows with a number of an earlier row; the last row counts.'),
  warnings: z.array(z.string()).describe('What should be checked among the imported names.'),
  ...importedFields,
  refused_rows: z
    .array(z.strictObject({ line: z.int(), reason: z.string(), ...cells }))
    .describe(`The first ${REFUSED_SHOWN} of them, to be corrected and imported again.`),
})

const contact = resource({
  ...shared,
  noun: 'contact',
  at: '/contacts',
  look: mayLook,
  change: mayChange,
  document: contactSchema,
  given: z.strictObject({
    phone: phoneField,
    name: plainText(255).default(''),
    email: emailField.default(''),
    tags: tagsField.default([]),
  }),
  changes: changesOf({
    phone: phoneField,
    name: plainText(255).nullable(),
    email: emailField.nullable(),
    tags: tagsField,
  }),
  query: pageQuery(60).extend({
    tag: textIdField.optional().describe('Id of a list.'),
    q: textUpTo(100).trim().min(1).optional().describe('A part of a name, an email or a number.'),
  }),
})

export const contacts = {
  list: contact.list('Lists contacts of one list or of all, and searches them, a page at a time.', {
    details:
      'In the order they joined the list where `tag` is given, else in none. A page may be short and still not be the ' +
      'last: go on until `next` is null.',
    examples: [{ query: { tag: '1', limit: '1' } }],
  }),
  tags: look.get('/contacts/tags', 'Lists the contact lists (tags) of the account, the oldest first.', {
    mcp: 'read',
    query: idPageQuery,
    answers: page(tagSchema),
  }),
  import: change.post('/contacts/import', 'Imports a CSV file with the columns name, phone and email into a list.', {
    details: 'Doing it again changes nothing: a contact is known by its number. Rows before a broken one are imported.',
    act: 'contacts.import',
    takesRoom: true,
    query: z.strictObject({
      tag: plainText(100).min(1).describe('Id or name of a list; a name that does not exist yet is created.'),
      ...csvOptionFields,
    }),
    body: csvBody,
    answers: one(importedSchema),
    errors: { 400: ['invalid_request'], 409: ['too_many_contacts'] },
    examples: [
      {
        query: { tag: 'Newsletter' },
        headers: { 'Content-Type': 'text/csv' },
        text: 'name,phone,email\nAda Example,+44 7700 900101,ada@shop.example\nBen,none,\n',
        says: 'imported',
      },
    ],
  }),
  create: contact.create('Creates a contact.', {
    errors: { 409: ['duplicate_phone', 'too_many_contacts'] },
    examples: [{ body: { phone: '+44 7700 900188', name: 'Ivy Example', tags: [1] }, says: 'created' }],
  }),
  show: contact.show('Shows a contact.', {}),
  change: contact.change('Changes the given fields of a contact; null removes a name or an email.', {
    errors: { 409: ['duplicate_phone'] },
    examples: [{ body: { name: 'Ada Example' }, says: 'changed' }],
  }),
  remove: contact.remove('Deletes a contact from all lists; messages that were sent to it stay.', {
    act: 'contact.delete',
    examples: [{ params: { id: '2' }, says: 'deleted' }],
  }),
}

/** One record per contact and tag. */
const contactRecordSchema = named('ContactRecord', {
  id: z.int(),
  user_id: z.int(),
  contact_tag_id: z.int().describe('The membership of this contact in this tag, unique.'),
  tag_id: z.int(),
  name: text,
  phone: z.string(),
  email: text,
})
export type ContactRecord = z.infer<typeof contactRecordSchema>

/** One object per contact, under the first of the tags that it carries. */
const taggedContactSchema = named('Contact', {
  contact_id: z.int(),
  name: text,
  phone: z.string(),
  email: text,
  tags: z.array(z.int()),
})
export type TaggedContact = z.infer<typeof taggedContactSchema>

/** A setting of the account decides between the two shapes. */
const fetchedSchema = z.union([
  z
    .strictObject({ status: z.literal(true), msg: z.string(), data: z.array(contactRecordSchema) })
    .meta({ id: 'ContactRecords' }),
  z
    .strictObject({ success: z.literal(true), data: z.array(taggedContactSchema), message: z.string() })
    .meta({ id: 'Contacts' }),
])

export const tags = {
  fetch: look.post(
    '/api/betav3/tagmanage/tag/fetchContactsTagWise',
    'Fetches the contacts that carry at least one of the tags.',
    {
      access: { in: 'api_key', permission: 'contacts:read', missing: 400 },
      body: {
        as: 'json',
        schema: z.object({ tags: z.array(idField) }),
        unknown: 'named',
        // Before the ids are checked: a body has room for 60,000 of them.
        refuse({ tags }) {
          if (!Array.isArray(tags) || (tags.length > 0 && tags.length <= TAGS_MAX)) return
          const message = `expected 1 to ${TAGS_MAX} tags, got ${tags.length}`
          throw new ApiError(422, 'invalid_tags', `tags: ${message}.`, { details: [{ path: 'tags', message }] })
        },
      },
      answers: { 200: { contentTypes: ['application/json'], schema: fetchedSchema } },
      errors: { 422: ['invalid_tags'] },
      examples: [
        { body: { tags: [1] } },
        {
          body: { tags: [3, 4] },
          answer: {
            success: true,
            data: [{ contact_id: 5, name: 'Eve Example', phone: '447700900105', email: null, tags: [3, 4] }],
            message: 'Contacts fetched',
          },
        },
      ],
    },
  ),
  createList: change.post('/partners/broadcast/addnewcontacttag', 'Creates a contact list.', {
    idempotent: true,
    headers: z.object({
      'X-Requested-With': z.string().refine((value) => value.toLowerCase() === 'xmlhttprequest', {
        error: 'expected "XMLHttpRequest"',
      }),
      ...idempotencyHeaders.shape,
    }),
    body: { as: 'json', schema: z.object({ name: nameField(100) }), unknown: 'named' },
    answers: {
      200: z.strictObject({ status: z.literal(true), message: z.string(), tagId: z.int().positive() }),
    },
    errors: { 400: ['duplicate_name'] },
    examples: [
      {
        headers: { 'X-Requested-With': 'XMLHttpRequest' },
        body: { name: 'Spring customers' },
        answer: { status: true, message: 'Contact list created', tagId: 7 },
      },
    ],
  }),
}
