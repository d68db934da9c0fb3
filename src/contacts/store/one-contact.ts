// One contact of an account: looked at, created, changed and deleted, each in one step on one slot.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { idField, isThere, readRecord } from '../../redis/records.ts'
import { nextId } from '../../redis/sequence.ts'

const orNull = z.string().transform((text) => (text === '' ? null : text))

const contactSchema = z.object({
  phone: z.string().regex(/^\d{5,15}$/),
  name: orNull,
  email: orNull,
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

/** How writing one ended: `full` when the account may have no more; `taken` when the number is another contact's, or a tag that the account has not. */
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

/** Deletes a contact, its number and its memberships; false when there is none. */
export async function deleteContact(redis: Redis, account: number, id: number): Promise<boolean> {
  const keys = contactKeys(account)
  const said = await deleteScript(
    redis,
    { contact: keys.contact(id), phones: keys.phones, prefix: keys.prefix },
    { id: String(id) },
  )
  return said === 1
}
