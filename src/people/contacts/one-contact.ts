// One contact: created, changed and deleted, the same over HTTP and on the command line.
import { doesNotExist, invalidFields, Refusal } from '../../kernel/refusal.ts'
import type { Redis } from '../../redis/connect.ts'
import { type Contact, type ContactFields, deleteContact, findContact, type Written, writeContact } from './contacts.ts'

/** A contact of the account. Throws a Refusal. */
export async function showContact(redis: Redis, account: number, id: number): Promise<Contact> {
  const contact = await findContact(redis, account, id)
  if (contact === undefined) throw doesNotExist('The contact')
  return contact
}

/**
 * Creates a contact under this id. Throws a Refusal: `duplicate_phone`, `too_many_contacts` above `most`, or for a tag that the
 * account does not have.
 */
export async function makeContact(
  redis: Redis,
  account: number,
  id: number,
  fields: ContactFields & { phone: string },
  most = 0,
): Promise<Contact> {
  const written = await writeContact(redis, account, id, fields, { isNew: true, most })
  if (written === 'full') throw tooManyContacts(most)
  refuseUndone(written, fields)
  return showContact(redis, account, id)
}

/** Changes the given fields of a contact. Throws a Refusal as above, and for a contact that does not exist. */
export async function changeContact(
  redis: Redis,
  account: number,
  id: number,
  fields: ContactFields,
): Promise<Contact> {
  refuseUndone(await writeContact(redis, account, id, fields, { isNew: false }), fields)
  return showContact(redis, account, id)
}

/** Deletes a contact. Throws a Refusal when there is none. */
export async function removeContact(redis: Redis, account: number, id: number): Promise<void> {
  if (!(await deleteContact(redis, account, { id }))) throw doesNotExist('The contact')
}

/** The account may have no more. */
export const tooManyContacts = (most: number): Refusal =>
  new Refusal('in_the_way', 'too_many_contacts', `The account would have more than ${most} contacts: at most so many.`)

function refuseUndone(written: Written, { tags = [] }: ContactFields): void {
  if (written === 'done' || written === 'full') return
  if (written === 'missing') throw doesNotExist('The contact')
  if (written === 'taken') {
    const message = 'belongs to another contact'
    throw new Refusal('in_the_way', 'duplicate_phone', `phone: ${message}.`, [{ path: 'phone', message }])
  }
  throw invalidFields([{ path: `tags[${tags.indexOf(written.noTag)}]`, message: 'the account has no such list' }])
}
