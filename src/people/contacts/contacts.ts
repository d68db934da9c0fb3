// Contacts of an account and which tags they carry. A contact is known by its phone number: importing the number again
// finds the same contact. A membership is one contact in one tag; its id gives when it joined.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { idField, isThere, nextId, readRecord } from '../../redis/records.ts'

/** A contact as it comes in. */
export interface NewContact {
  /** Digits with country code. */
  phone: string
  /** May be empty. */
  name: string
  /** May be empty. */
  email: string
}

const optionalText = z.string().transform((text) => (text === '' ? null : text))

const memberSchema = z
  .tuple([
    idField,
    idField,
    z.string().regex(/^\d{5,15}$/),
    optionalText,
    optionalText,
    z
      .string()
      .transform((list) => list.split(','))
      .pipe(z.array(idField)),
  ])
  .transform(([id, membership, phone, name, email, tags]) => ({ id, membership, phone, name, email, tags }))

/** A contact in one tag. `tags` are all tags that the contact carries, in the order it joined them. */
export type Member = z.infer<typeof memberSchema>

const importScript = defineScript(import.meta.url, 'contacts-import')
const readScript = defineScript(import.meta.url, 'contacts-read-members')

const importedSchema = z.union([z.tuple([z.number().int(), z.number().int()]), z.literal('full')]).nullable()

/** The account would have more contacts than it may. */
export class ContactsFullError extends Error {
  override name = 'ContactsFullError'
}

/**
 * Adds contacts to a tag, in one step: up to about 1,000 at a time, which keep Redis busy for 8 ms. Repeating it changes
 * nothing. Throws when the account has no such tag, and a ContactsFullError, with nothing added, when it would have more
 * than `most` contacts (0: there is no limit).
 * `created`: phone numbers that were new to the account; `joined`: contacts that were not in the tag before.
 */
export async function importContacts(
  redis: Redis,
  account: number,
  tag: number,
  contacts: readonly NewContact[],
  most = 0,
): Promise<{ created: number; joined: number }> {
  if (contacts.length === 0) return { created: 0, joined: 0 }
  const keys = contactKeys(account)
  // Reserved outside the step, because the sequences live on another node of a cluster; what is not used stays a gap.
  const [firstContact, firstMembership] = await Promise.all([
    nextId(redis, 'contact', contacts.length),
    nextId(redis, 'membership', contacts.length),
  ])
  const done = readRecord(
    importedSchema,
    'contacts import',
    await importScript(
      redis,
      { tag: keys.tag(tag), members: keys.members(tag), phones: keys.phones, prefix: keys.prefix },
      {
        tagId: String(tag),
        firstContact,
        firstMembership,
        contacts: contacts.map(({ phone, name, email }) => ({ phone, name, email })),
        most,
      },
    ),
  )
  if (done === 'full') throw new ContactsFullError(`account ${account} has ${most} contacts`)
  if (done === null) throw new Error(`account ${account} has no tag ${tag}`)
  return { created: done[0], joined: done[1] }
}

/** Up to `limit` members of a tag that joined after the membership `after` (0: from the first), in that order. */
export async function readMembers(
  redis: Redis,
  account: number,
  tag: number,
  after: number,
  limit: number,
): Promise<Member[]> {
  const keys = contactKeys(account)
  const rows = await readScript(
    redis,
    { members: keys.members(tag), prefix: keys.prefix },
    { after: String(after), most: limit },
  )
  return readRecord(z.array(memberSchema), `members of tag ${tag}`, rows)
}

const contactSchema = z.object({
  phone: z.string().regex(/^\d{5,15}$/),
  name: optionalText,
  email: optionalText,
  tags: z
    .string()
    .default('')
    .transform((list) => list.split(',').filter(Boolean))
    .pipe(z.array(idField)),
})

/** A contact with all tags that it carries, in the order it joined them. */
export type Contact = { id: number } & z.infer<typeof contactSchema>

/** The contact that a hash holds; undefined when there is none. Throws a CorruptRecordError. */
export function contactOf(id: number, hash: unknown): Contact | undefined {
  return isThere(hash) ? { id, ...readRecord(contactSchema, `contact ${id}`, hash) } : undefined
}

/** A contact of the account by its id; undefined for another account's or none. Throws a CorruptRecordError. */
export async function findContact(redis: Redis, account: number, id: number): Promise<Contact | undefined> {
  return contactOf(id, await redis.hgetall(contactKeys(account).contact(id)))
}

/** An id for a new contact; one that nobody uses leaves a gap. */
export const newContactId = (redis: Redis): Promise<number> => nextId(redis, 'contact')

/** What may be said of a contact. `tags` are all that it carries from then on; an empty name or email removes it. */
export interface ContactFields {
  /** Digits with country code. */
  phone?: string | undefined
  name?: string | undefined
  email?: string | undefined
  tags?: readonly number[] | undefined
}

/**
 * How writing one ended: `full` when the account may have no more; `taken` when the number is another contact's; `noTag`: a tag that
 * the account does not have.
 */
export type Written = 'done' | 'missing' | 'full' | 'taken' | { noTag: number }

const writeScript = defineScript(import.meta.url, 'contacts-write')
const deleteScript = defineScript(import.meta.url, 'contacts-delete')

/**
 * Creates a contact under a new id (`isNew`, with a phone number) if the account has not `most` (0: there is no limit), or
 * changes what is given of one that is there.
 */
export async function writeContact(
  redis: Redis,
  account: number,
  id: number,
  { phone, name, email, tags }: ContactFields,
  { isNew, most = 0 }: { isNew: boolean; most?: number },
): Promise<Written> {
  const keys = contactKeys(account)
  // Reserved outside the step, because the sequence lives on another node of a cluster; what is not used stays a gap.
  const firstMembership = tags === undefined || tags.length === 0 ? 0 : await nextId(redis, 'membership', tags.length)
  const said = await writeScript(
    redis,
    { contact: keys.contact(id), phones: keys.phones, prefix: keys.prefix },
    { ...{ id: String(id), isNew, firstMembership, most, phone, name, email }, tags: tags?.map(String) },
  )
  const ended = readRecord(z.enum(['done', 'missing', 'full', 'taken']).or(idField), 'a written contact', said)
  return typeof ended === 'number' ? { noTag: ended } : ended
}

/** Deletes the contact of this id or number (digits), with its memberships; false when there is none. */
export async function deleteContact(
  redis: Redis,
  account: number,
  { id, phone }: { id: number; phone?: undefined } | { id?: undefined; phone: string },
): Promise<boolean> {
  const { phones, prefix } = contactKeys(account)
  return (await deleteScript(redis, { phones, prefix }, { id: id === undefined ? undefined : String(id), phone })) === 1
}

/** The account's contact with this number (digits); undefined when there is none. Throws a CorruptRecordError. */
export async function findContactByPhone(redis: Redis, account: number, phone: string) {
  const keys = contactKeys(account)
  const id = await redis.hget(keys.phones, phone)
  if (id === null) return undefined
  return findContact(redis, account, Number(id))
}
