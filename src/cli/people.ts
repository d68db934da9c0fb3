// people: all that is kept of a person of an account, and forgetting it.
import { z } from 'zod'
import { counted } from '../kernel/fault.ts'
import { messages } from '../producer/api/messages/routes.ts'
import { erasureSchema, people, personSchema } from '../producer/api/people/routes.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

const PERSON = '+447700900123'

/** Sentences about WhatsApp's contact book. */
const BOOKS = {
  none: '',
  no_user_id: ' Meta may keep their number in its contact book: no user id is known to delete them by.',
  waiting: ' A worker has WhatsApp delete them from its contact book; `messages job` says what came of it.',
  deleted: ' WhatsApp has deleted them from its contact book.',
  not_found: ' WhatsApp does not have them in its contact book.',
  refused: ' WhatsApp refused to delete them from its contact book: do it there.',
  failed: ' WhatsApp could not be asked to delete them from its contact book: do it there.',
} as const

const begun = z.looseObject({ job_id: z.string(), state: z.string().optional() })

export const verbs: readonly RouteVerb[] = [
  routeVerb('people', 'show', people.show, {
    summary: 'show what is kept of a person, by number or id; all of it with --json',
    example: `${PERSON} --account 1 --json`,
    text(shown) {
      const data = personSchema.parse(shown)
      const contact = data.contact === null ? 'No contact' : 'A contact'
      const optOut = data.opt_out === null ? 'no opt-out' : 'an opt-out'
      const files = data.files.length > 0 ? [`${counted(data.files.length, 'file')} of the gallery`] : []
      const counts = [counted(data.messages.length, 'message'), counted(data.campaigns.length, 'campaign'), ...files]
      const known = data.names.length > 1 ? `Known as ${data.names.join(' and ')}. ` : ''
      return `${known}${contact}, ${[optOut, ...counts].join(', ')}. All of it: --json.`
    },
  }),
  routeVerb('people', 'erase', people.erase, {
    summary: 'erase all that is kept of a person, by number or id, except the figures',
    example: `${PERSON} --account 1`,
    asks: {
      sentence: ({ account }) =>
        `This erases for good all that account ${account ?? 'of the key'} keeps of this person`,
      declined: 'Nothing was erased.',
      spared: 'first',
    },
    follows: {
      by: messages.job,
      family: 'messages',
      params: (first) => ({ id: begun.parse(first).job_id }),
      isOver: (data) => ['done', 'failed'].includes(begun.parse(data).state ?? ''),
    },
    fails: (data) =>
      begun.parse(data).state === 'failed'
        ? `The erasure ${begun.parse(data).job_id} failed; see the log of the worker.`
        : undefined,
    text(data) {
      // What failed says nothing else.
      if (begun.parse(data).state === 'failed') return ''
      const { contacts, messages: sent, received, recipients, contact_book: book } = erasureSchema.parse(data)
      const found = [
        counted(contacts, 'contact'),
        counted(sent, 'message'),
        counted(received, 'received message'),
        `${counted(recipients, 'line')} in files of campaigns`,
      ]
      return `Forgotten: ${found.join(', ')}.${book === null ? '' : BOOKS[book]}`
    },
  }),
]
