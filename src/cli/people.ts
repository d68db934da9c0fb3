// people: show, erase. All that is kept of a person of an account, and forgetting it.
import { z } from 'zod'
import type { BookState } from '../erase/contact-book.ts'
import { findErasure, newErasureId, openErasureQueue } from '../erase/erasures.ts'
import { personPieces } from '../erase/gather.ts'
import { counted } from '../kernel/fault.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { createTombstones, tombstonesKeptMs } from '../people/tombstones.ts'
import { redisNowMs } from '../redis/clock.ts'
import { accountKey } from '../redis/keys.ts'
import { followJob } from './background-job.ts'
import { confirm, keptAccount } from './session.ts'
import { accountId, person } from './values.ts'
import { flag, option, type Verb, verb } from './verb.ts'

const account = option(accountId, 'id', 'account whose data it is')

const shown = z.object({
  data: z.looseObject({
    names: z.array(z.string()),
    contact: z.unknown(),
    opt_out: z.unknown(),
    messages: z.array(z.unknown()),
    campaigns: z.array(z.unknown()),
    files: z.array(z.unknown()),
  }),
})

/** Sentences about WhatsApp's contact book. */
const BOOKS: Readonly<Record<BookState, string>> = {
  none: '',
  no_user_id: ' Meta may keep their number in its contact book: no user id is known to delete them by.',
  waiting: ' A worker has WhatsApp delete them from its contact book; GET /jobs/{job_id} says what came of it.',
  deleted: ' WhatsApp has deleted them from its contact book.',
  not_found: ' WhatsApp does not have them in its contact book.',
  refused: ' WhatsApp refused to delete them from its contact book: do it there.',
  failed: ' WhatsApp could not be asked to delete them from its contact book: do it there.',
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show <person>',
    summary: 'show what is kept of a person, by number or id; all of it with --json',
    example: '+14155550123 --account 1 --json',
    takesRemovedAccount: true,
    values: { person, account },
    async run({ person, account }, { redis, config }) {
      let text = ''
      for await (const piece of personPieces({ redis, config }, account, person, Date.now())) text += piece
      const { data } = shown.parse(JSON.parse(text))
      const contact = data.contact === null ? 'No contact' : 'A contact'
      const optOut = data.opt_out === null ? 'no opt-out' : 'an opt-out'
      const files = data.files.length > 0 ? [`${counted(data.files.length, 'file')} of the gallery`] : []
      const counts = [counted(data.messages.length, 'message'), counted(data.campaigns.length, 'campaign'), ...files]
      const rest = [optOut, ...counts].join(', ')
      const known = data.names.length > 1 ? `Known as ${data.names.join(' and ')}. ` : ''
      return { json: data, text: `${known}${contact}, ${rest}. All of it: --json.` }
    },
  }),
  verb({
    usage: 'erase <person>',
    act: 'person.erase',
    summary: 'erase all that is kept of a person, by number or id, except the figures',
    example: '+14155550123 --account 1',
    takesRemovedAccount: true,
    values: { person, account, yes: flag('do not ask first') },
    async run({ person, account, yes }, context) {
      const { redis, config } = context
      if (!yes) {
        const { name } = await keptAccount(redis, account)
        await confirm(context, {
          sentence: `This erases for good all that account ${account} (${name}) keeps of this person`,
          declined: 'Nothing was erased.',
        })
      }
      const nowMs = await redisNowMs(redis, accountKey(account))
      const id = newErasureId(nowMs)
      await createTombstones(redis, secretKeysOf(config)).bury(account, person, nowMs, tombstonesKeptMs(config))
      await context.use(openErasureQueue(redis)).start(id, { account, person, nowMs })
      const {
        contacts,
        messages,
        received,
        recipients,
        contact_book: book,
      } = await followJob(id, () => findErasure(redis, id))
      const found = [
        counted(contacts, 'contact'),
        counted(messages, 'message'),
        counted(received, 'received message'),
        `${counted(recipients, 'line')} in files of campaigns`,
      ]
      return {
        json: { job_id: id, contacts, messages, received, recipients, contact_book: book ?? null },
        text: `Forgotten: ${found.join(', ')}.${book === undefined ? '' : BOOKS[book]}`,
        acted: { account, target: id },
      }
    },
  }),
]
