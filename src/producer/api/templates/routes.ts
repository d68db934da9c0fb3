// Templates that messages are checked against, in WhatsApp's own format.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { templateSyncDocumentSchema } from '../../../model/templates/template-sync.ts'
import { doneWith, named, one } from '../answers.ts'
import { orNothing, routesOf } from '../define.ts'
import { idempotencyHeaders, pageQuery } from '../fields.ts'
import { resource } from '../resource.ts'

const access = { in: 'bearer', permission: 'admin' } as const
const params = z.object({ name: textUpTo(512) })
const shown = { name: 'gift_note' }
const change = routesOf({ access, params, shown })
/** A key that sends templates, or reads what was sent, may read what they say. */
const mayLook = { ...access, also: ['messages:send', 'messages:read'] } as const
const look = routesOf({ access: mayLook, params, shown })

/** Most definitions of one import. */
const IMPORT_MAX = 1_000
const IMPORT_BYTES = 4 * 1024 * 1024

const listedSchema = named('ListedTemplate', {
  id: z.string().describe('`name/language`.'),
  name: z.string(),
  language: z.string(),
  category: z.string(),
  status: z.string().describe('Only `APPROVED` may be sent. As WhatsApp last reported it, or as it was imported.'),
  quality: z.string().nullable().describe('As WhatsApp last reported it, such as `GREEN`; null until then.'),
  components_changed_at: z.iso
    .datetime()
    .nullable()
    .describe('When its parts changed at WhatsApp since it was imported or listed.'),
  waba_id: z.string().nullable().describe('The account at WhatsApp that it was listed in; null: it was imported.'),
  listed_at: z.iso.datetime().nullable().describe('When WhatsApp listed it last, by its clock.'),
  cannot_be_sent: z.string().nullable().describe('Why no message of it can be sent, whatever its status.'),
})

/** As it was imported. */
const definitionSchema = named('Template', {
  ...{ name: z.string(), language: z.string(), category: z.string(), status: z.string(), parameter_format: z.string() },
  components: z.array(z.record(z.string(), z.unknown())),
})

const importSchema = z.union(
  [
    z.looseObject({ data: z.array(z.unknown()).min(1).max(IMPORT_MAX) }),
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

const at = '2026-11-24T09:00:00.000Z'
const synced = {
  ...{ waba_id: '102290129340398', state: 'done', problem: null },
  ...{ asked_at: at, began_at: at, ended_at: '2026-11-24T09:00:02.000Z', again_at: null },
  ...{ listed: 212, added: 1, changed: 2, removed: 1, kept_deleted: 0, not_sendable: 3, unreadable: 0, of_another: 0 },
}
const nobodyYet = { ...synced, state: 'waiting', began_at: null, ended_at: null, listed: 0, added: 0, changed: 0 }

const template = resource({
  ...{ noun: 'template', at: '/admin/templates', params, shown },
  look: mayLook,
  change: access,
  document: listedSchema,
  query: pageQuery(600),
  mcp: 'read',
})

export const templates = {
  list: template.list("Lists the account's templates by name and language.", {}),
  import: change.post(
    '/admin/templates',
    "Imports templates in WhatsApp's format, all or none, replacing older ones.",
    {
      details:
        'One definition, or `data` with several, as WhatsApp lists them. Doing it again changes nothing. A list with ' +
        '`paging.next` has more pages; the `message` of the answer then says so. Those of a sender with a `waba_id` come by ' +
        'themselves.',
      act: 'template.import',
      headers: idempotencyHeaders,
      body: { as: 'json', limit: IMPORT_BYTES, schema: importSchema },
      answers: one(z.array(listedSchema)),
      examples: [{ body: { data: [definition] }, says: 'imported' }],
    },
  ),
  sync: change.post('/admin/templates/sync', "Syncs templates with the list of a sender's account at WhatsApp.", {
    details:
      'It happens by itself at the start, every hour, and after webhooks about templates. A worker reads the list; ' +
      '`GET /admin/template-syncs` shows its progress. Without `sender`: of all accounts at WhatsApp.',
    act: 'template.sync',
    body: orNothing(
      z.strictObject({
        sender: textUpTo(255).optional().describe('One of the account’s senders, by number, name or id.'),
      }),
    ),
    answers: { 202: doneWith(z.array(templateSyncDocumentSchema)) },
    errors: { 400: ['unknown_sender'] },
    examples: [
      {
        body: { sender: 'shop' },
        says: 'queued',
        data: [{ ...nobodyYet, removed: 0, not_sendable: 0 }],
      },
    ],
  }),
  syncs: look.get(
    '/admin/template-syncs',
    'Shows the template sync of each account at WhatsApp: its progress and its last result.',
    { answers: one(z.array(templateSyncDocumentSchema)), examples: [{ says: 'syncs', data: [synced] }] },
  ),
  show: look.get(
    '/admin/templates/:name',
    'Shows a template in all its languages, as it was imported or listed, with its status of now.',
    {
      mcp: 'read',
      query: language,
      answers: one(z.array(definitionSchema)),
      examples: [{ says: 'template' }],
    },
  ),
  remove: template.remove('Removes a template, in one language or in all; messages with it are then refused.', {
    details: 'One that WhatsApp still lists comes back with the next sync.',
    query: language,
    examples: [{ says: 'removed in en_US' }],
  }),
}
