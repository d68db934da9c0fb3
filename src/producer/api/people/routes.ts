// A person's data: showing all that is kept of them, and erasing it.
import { z } from 'zod'
import { BOOK_STATES } from '../../../erase/contact-book.ts'
import { listedMessageSchema } from '../../../messages/lookup/message-schema.ts'
import { optOutSchema } from '../../../model/people/opt-out.ts'
import { doneWith, named, queuedJob } from '../answers.ts'
import { routesOf } from '../define.ts'
import { count, listedPersonField } from '../fields.ts'

const route = routesOf({
  access: { in: 'bearer', permission: 'admin', removedToo: true },
  params: z.object({ person: listedPersonField }),
  shown: { person: '+447700900123' },
})

export const personSchema = named('Person', {
  person: z.string().describe('Digits, or the id.'),
  names: z.array(z.string()).describe('All numbers and user ids that are known to be theirs, this one among them.'),
  contact: z
    .strictObject({
      id: z.int(),
      phone: z.string(),
      name: z.string().nullable(),
      email: z.string().nullable(),
      tags: z.array(z.int()),
    })
    .nullable(),
  opt_out: optOutSchema.nullable().describe('Null for a person who has not opted out.'),
  messages: z.array(listedMessageSchema).describe('Sent ones and then received ones, the newest first.'),
  campaigns: z.array(
    z.strictObject({
      campaign: z.string(),
      campaign_state: z.string(),
      state: z.string().nullable().describe('Of their message; null while no worker has taken it.'),
      values: z.array(z.string()).describe('What is filled in for them.'),
      rows: count.describe('Rows of the uploaded file with their number.'),
    }),
  ),
  files: z
    .array(z.strictObject({ id: z.string(), name: z.string(), mime_type: z.string(), size: count }))
    .describe('Files of their messages that are in the gallery.'),
})

/** Progress of an erasure, and what it has erased so far. */
export const erasureSchema = named('Erasure', {
  job_id: z.string(),
  state: z.enum(['waiting', 'running', 'done', 'failed']),
  ...{ contacts: count, messages: count, received: count },
  recipients: count.describe('Lines in the files of campaigns.'),
  contact_book: z
    .enum(BOOK_STATES)
    .nullable()
    .describe('How deleting them from WhatsApp’s contact book ended; null before the erasure begins.'),
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

export const people = {
  show: route.get('/admin/people/:person', 'Shows all that is kept of a person.', {
    answers: { 200: { contentTypes: ['application/json'], schema: doneWith(personSchema) } },
    examples: [{ says: 'person' }],
  }),
  erase: route.delete('/admin/people/:person', 'Erases all that is kept of a person, except for figures.', {
    details:
      'Their waiting messages are cancelled, and existing campaigns send them nothing. 202 when it takes longer than 10 s (a ' +
      'setting).',
    act: 'person.erase',
    answers: { 200: doneWith(erasureSchema), 202: doneWith(queuedJob()) },
    examples: [
      { params: { person: '+447700900124' }, says: 'erased' },
      { params: { person: '+447700900124' }, status: 202, says: 'queued' },
    ],
  }),
}
