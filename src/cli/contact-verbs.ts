// contacts: list, show, change, delete.
import { z } from 'zod'
import { changeContact, removeContact, showContact } from '../contacts/commands/one-contact.ts'
import type { Contact } from '../contacts/store/contacts.ts'
import { findContacts } from '../contacts/store/find-contacts.ts'
import { existingAccount } from './accounts.ts'
import { table } from './table.ts'
import { accountId, nameUpTo, parser, phoneNumber } from './values.ts'
import { type Verb, verb } from './verb.ts'

const id = parser('the number of a contact, see `contacts list`', (text) =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined,
)
const tagIds = parser('numbers of tags separated by commas, or none', (text) => {
  const words = text === 'none' ? [] : text.split(',').map((word) => word.trim())
  return words.every((word) => /^[1-9]\d{0,14}$/.test(word)) ? words.map(Number) : undefined
})
const email = parser('an email address', (text) => (z.email().max(254).safeParse(text).success ? text : undefined))
const limit = parser('a number from 1 to 1000', (text) =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= 1_000 ? Number(text) : undefined,
)

const LIMIT_DEFAULT = 50
const ofAccount = { '!--account <id>': 'account that owns the contact' }

export const contactVerbs: readonly Verb[] = [
  verb({
    usage: 'list',
    summary: 'list contacts, of one tag or of all, or those with a part of a name, an email or a number',
    example: '--account 1 --search ada',
    options: {
      '!--account <id>': 'account that owns the contacts',
      '--tag <id>': 'only those that carry this tag',
      '--search <text>': 'only those with this in their name, email or number',
      '--limit <number>': `how many to list (default: ${LIMIT_DEFAULT})`,
    },
    values: z.strictObject({
      account: accountId,
      tag: id.optional(),
      search: nameUpTo(100).optional(),
      limit: limit.default(LIMIT_DEFAULT),
    }),
    async run({ account, tag, search, limit: most }, { redis }) {
      await existingAccount(redis, account)
      const found: Contact[] = []
      // A page may be short and still not be the last.
      for (let cursor: string | null | undefined; cursor !== null && found.length < most; ) {
        const wanted = { tag, text: search, limit: most - found.length, cursor: cursor ?? undefined }
        const page = await findContacts(redis, account, wanted)
        found.push(...page.contacts)
        cursor = page.next
      }
      return { json: found, text: found.length === 0 ? 'There is no such contact.' : tableOf(found) }
    },
  }),
  verb({
    usage: 'show <id>',
    summary: 'show a contact',
    example: '7 --account 1',
    options: ofAccount,
    values: z.strictObject({ id, account: accountId }),
    async run({ id: contact, account }, { redis }) {
      const json = await showContact(redis, account, contact)
      return { json, text: tableOf([json]) }
    },
  }),
  verb({
    usage: 'change <id>',
    summary: 'change what is given of a contact',
    act: 'contact.change',
    example: '7 --account 1 --name "Ada Example" --tags 1,3',
    options: {
      ...ofAccount,
      '--phone <number>': 'full international number',
      '--name <name>': 'new name',
      '--email <address>': 'new email address',
      '--tags <list>': 'all tags that it carries from then on, by number; none for no tag',
    },
    values: z.strictObject({
      id,
      account: accountId,
      phone: phoneNumber.optional(),
      name: nameUpTo(255).optional(),
      email: email.optional(),
      tags: tagIds.optional(),
    }),
    async run({ id: contact, account, ...fields }, { redis }) {
      const json = await changeContact(redis, account, contact, fields)
      const detail = Object.keys(fields).join(',')
      return { json, text: tableOf([json]), acted: { account, target: String(contact), detail } }
    },
  }),
  verb({
    usage: 'delete <id>',
    summary: 'delete a contact from all tags; messages that were sent to it stay',
    act: 'contact.delete',
    example: '7 --account 1',
    options: ofAccount,
    values: z.strictObject({ id, account: accountId }),
    async run({ id: contact, account }, { redis }) {
      await removeContact(redis, account, contact)
      const acted = { account, target: String(contact) }
      return { json: { id: contact, deleted: true }, text: `Deleted contact ${contact}.`, acted }
    },
  }),
]

const tableOf = (all: readonly Contact[]): string =>
  table(
    ['ID', 'NAME', 'PHONE', 'EMAIL', 'TAGS'],
    all.map(({ id: number, name, phone, email: address, tags }) => [
      ...[String(number), name ?? '', phone, address ?? '', tags.join(',')],
    ]),
  )
