// Contact lists: fetching the contacts of tags, and creating a list.
import { z } from 'zod'
import { ApiError } from '../../errors.ts'
import { route } from '../../route.ts'
import { idempotencyHeaders, idField, nameField } from '../fields.ts'

/** Most tags in one request. */
const TAGS_MAX = 100

const text = z.string().nullable()

/** One record per contact and tag. */
const contactRecordSchema = z.strictObject({
  id: z.int(),
  user_id: z.int(),
  contact_tag_id: z.int().describe('The membership of this contact in this tag, unique.'),
  tag_id: z.int(),
  name: text,
  phone: z.string(),
  email: text,
})
contactRecordSchema.register(z.globalRegistry, { id: 'ContactRecord' })

export type ContactRecord = z.infer<typeof contactRecordSchema>

/** One object per contact, under the first of the tags that it carries. */
const contactSchema = z.strictObject({
  contact_id: z.int(),
  name: text,
  phone: z.string(),
  email: text,
  tags: z.array(z.int()),
})
contactSchema.register(z.globalRegistry, { id: 'Contact' })

export type ContactJson = z.infer<typeof contactSchema>

/** Which of the two shapes it is, is a setting of the account. */
const contactsSchema = z.union([
  z
    .strictObject({ status: z.literal(true), msg: z.string(), data: z.array(contactRecordSchema) })
    .meta({ id: 'ContactRecords' }),
  z
    .strictObject({ success: z.literal(true), data: z.array(contactSchema), message: z.string() })
    .meta({ id: 'Contacts' }),
])

export const contacts = {
  fetch: route({
    method: 'post',
    path: '/api/betav3/tagmanage/tag/fetchContactsTagWise',
    summary: 'Answers the contacts that carry at least one of the tags.',
    access: { in: 'api_key', permission: 'contacts:read', missing: 400 },
    body: {
      as: 'json',
      schema: z.object({ tags: z.array(idField) }),
      unknown: 'named',
      // Before anybody looks at the ids: a body has room for 60,000 of them.
      refuse({ tags }) {
        if (!Array.isArray(tags) || (tags.length > 0 && tags.length <= TAGS_MAX)) return
        const message = `expected 1 to ${TAGS_MAX} tags, got ${tags.length}`
        throw new ApiError(422, 'invalid_tags', `tags: ${message}.`, { details: [{ path: 'tags', message }] })
      },
    },
    answers: { 200: { contentTypes: ['application/json'], schema: contactsSchema } },
    errors: { 422: ['invalid_tags'] },
    examples: [
      {
        body: { tags: [1] },
        status: 200,
        answer: {
          status: true,
          msg: 'Contacts fetched',
          data: [
            {
              id: 1,
              user_id: 1,
              contact_tag_id: 1,
              tag_id: 1,
              name: 'Ada Example',
              phone: '447700900101',
              email: 'ada@shop.example',
            },
          ],
        },
      },
      {
        body: { tags: [3, 4] },
        status: 200,
        answer: {
          success: true,
          data: [{ contact_id: 5, name: 'Eve Example', phone: '447700900105', email: null, tags: [3, 4] }],
          message: 'Contacts fetched',
        },
      },
    ],
  }),
  createList: route({
    method: 'post',
    path: '/partners/broadcast/addnewcontacttag',
    summary: 'Creates a contact list.',
    access: { in: 'bearer', permission: 'contacts:write' },
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
    errors: { 400: ['duplicate_name'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        headers: { 'X-Requested-With': 'XMLHttpRequest' },
        body: { name: 'Spring customers' },
        status: 200,
        answer: { status: true, message: 'Contact list created', tagId: 7 },
      },
    ],
  }),
}
