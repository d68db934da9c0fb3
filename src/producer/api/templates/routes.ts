// Templates that messages are held against, in the chat product's own format.
import { z } from 'zod'
import { textUpTo } from '../../../messages/bounded.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { idempotencyHeaders, pageFields } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin' } as const
/** Whoever sends templates, or looks at what was sent, may read what they say. */
const mayLook = { ...access, also: ['messages:send', 'messages:read'] } as const
const params = z.object({ name: textUpTo(512) })
const errors = { 404: ['not_found'] } as const

/** Most definitions of one import. */
const IMPORT_MAX = 1_000
const IMPORT_BYTES = 4 * 1024 * 1024

const listedSchema = z.strictObject({
  id: z.string().describe('`name/language`.'),
  name: z.string(),
  language: z.string(),
  category: z.string(),
  status: z.string().describe('Only `APPROVED` may be sent.'),
})
listedSchema.register(z.globalRegistry, { id: 'ListedTemplate' })

/** As it was imported. */
const definitionSchema = z.strictObject({
  ...{ name: z.string(), language: z.string(), category: z.string(), status: z.string(), parameter_format: z.string() },
  components: z.array(z.record(z.string(), z.unknown())),
})
definitionSchema.register(z.globalRegistry, { id: 'Template' })

const language = z.strictObject({ language: textUpTo(20).optional().describe('Only in this language.') })

const listed = { id: 'gift_note/en_US', name: 'gift_note', language: 'en_US', category: 'UTILITY', status: 'APPROVED' }
const { id: _id, ...definition } = {
  ...listed,
  components: [{ type: 'BODY', text: 'Your gift for {{1}} is on its way.' }],
}

export const templates = {
  list: route({
    method: 'get',
    path: '/admin/templates',
    summary: "Lists the account's templates by name and language.",
    access: mayLook,
    query: z.strictObject({ limit: pageFields.limit, cursor: textUpTo(600).optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(listedSchema) },
    examples: [{ status: 200, answer: { status: true, data: [listed], next: null } }],
  }),
  import: route({
    method: 'post',
    path: '/admin/templates',
    summary: "Imports templates in WhatsApp's own format, all or none; they replace those of the same name.",
    details: 'One definition, or `data` with several, as WhatsApp lists them. Doing it again changes nothing.',
    access,
    act: 'template.import',
    headers: idempotencyHeaders,
    body: {
      as: 'json',
      limit: IMPORT_BYTES,
      schema: z.union(
        [
          z.object({ data: z.array(z.unknown()).min(1).max(IMPORT_MAX) }),
          z.looseObject({ name: z.unknown(), language: z.unknown(), components: z.unknown() }),
        ],
        `expected name, language and components, or data with a list of 1 to ${IMPORT_MAX} of these`,
      ),
    },
    answers: { 200: doneWith(z.array(listedSchema)) },
    examples: [
      {
        body: { data: [definition] },
        status: 200,
        answer: { status: true, message: 'imported', data: [listed] },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/admin/templates/:name',
    summary: 'Shows a template in all its languages, as it was imported.',
    access: mayLook,
    params,
    query: language,
    body: { as: 'ignored' },
    answers: { 200: doneWith(z.array(definitionSchema)) },
    errors,
    examples: [
      {
        params: { name: 'gift_note' },
        status: 200,
        answer: { status: true, message: 'template', data: [{ ...definition, parameter_format: 'POSITIONAL' }] },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/admin/templates/:name',
    summary: 'Removes a template, in one language or in all: messages that name it are refused from then on.',
    access,
    act: 'template.remove',
    params,
    query: language,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors,
    examples: [{ params: { name: 'gift_note' }, status: 200, answer: { status: true, message: 'removed in en_US' } }],
  }),
}
