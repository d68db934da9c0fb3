// Templates that messages are checked against, in WhatsApp's own format.
import { z } from 'zod'
import { textUpTo } from '../../../messages/bounded.ts'
import { named, one, page } from '../answers.ts'
import { routesOf } from '../define.ts'
import { idempotencyHeaders, pageQuery } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin' } as const
const params = z.object({ name: textUpTo(512) })
const change = routesOf({ access, params, shown: { name: 'gift_note' } })
/** A key that sends templates, or reads what was sent, may read what they say. */
const look = routesOf({
  access: { ...access, also: ['messages:send', 'messages:read'] },
  params,
  shown: { name: 'gift_note' },
})

/** Most definitions of one import. */
const IMPORT_MAX = 1_000
const IMPORT_BYTES = 4 * 1024 * 1024

const listedSchema = named('ListedTemplate', {
  id: z.string().describe('`name/language`.'),
  name: z.string(),
  language: z.string(),
  category: z.string(),
  status: z.string().describe('Only `APPROVED` may be sent. As WhatsApp told last, or as it was imported.'),
  quality: z.string().nullable().describe('As WhatsApp told last, such as `GREEN`; null while it has told nothing.'),
  components_changed_at: z.iso.datetime().nullable().describe('When its parts changed at WhatsApp since the import.'),
})

/** As it was imported. */
const definitionSchema = named('Template', {
  ...{ name: z.string(), language: z.string(), category: z.string(), status: z.string(), parameter_format: z.string() },
  components: z.array(z.record(z.string(), z.unknown())),
})

const importSchema = z.union(
  [
    z.object({ data: z.array(z.unknown()).min(1).max(IMPORT_MAX) }),
    z.looseObject({ name: z.unknown(), language: z.unknown(), components: z.unknown() }),
  ],
  `expected name, language and components, or data with a list of 1 to ${IMPORT_MAX} of these`,
)
const language = z.strictObject({ language: textUpTo(20).optional().describe('Only in this language.') })

const definition = {
  name: 'gift_note',
  language: 'en_US',
  category: 'UTILITY',
  status: 'APPROVED',
  components: [{ type: 'BODY', text: 'Your gift for {{1}} is on its way.' }],
}

export const templates = {
  list: look.get('/admin/templates', "Lists the account's templates by name and language.", {
    query: pageQuery(600),
    answers: page(listedSchema),
  }),
  import: change.post(
    '/admin/templates',
    "Imports templates in WhatsApp's format, all or none, replacing older ones.",
    {
      details: 'One definition, or `data` with several, as WhatsApp lists them. Doing it again changes nothing.',
      act: 'template.import',
      headers: idempotencyHeaders,
      body: { as: 'json', limit: IMPORT_BYTES, schema: importSchema },
      answers: one(z.array(listedSchema)),
      examples: [{ body: { data: [definition] }, says: 'imported' }],
    },
  ),
  show: look.get(
    '/admin/templates/:name',
    'Shows a template in all its languages, as it was imported, with its status of now.',
    {
      query: language,
      answers: one(z.array(definitionSchema)),
      examples: [{ says: 'template' }],
    },
  ),
  remove: change.delete(
    '/admin/templates/:name',
    'Removes a template, in one language or in all; messages with it are then refused.',
    {
      act: 'template.remove',
      query: language,
      examples: [{ says: 'removed in en_US' }],
    },
  ),
}
