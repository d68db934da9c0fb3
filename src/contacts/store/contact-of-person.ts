// The one contact that has a number: showing all that is kept of it, and forgetting it.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { contactKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { idField, isThere, readRecord } from '../../redis/records.ts'

const eraseScript = defineScript(import.meta.url, 'contacts-erase')

const optionalText = z.string().transform((text) => (text === '' ? null : text))
const contactSchema = z.object({
  phone: z.string(),
  name: optionalText,
  email: optionalText,
  tags: z
    .string()
    .default('')
    .transform((list) => list.split(',').filter(Boolean))
    .pipe(z.array(idField)),
})

/** The account's contact with this number (digits); undefined when there is none. Throws a CorruptRecordError. */
export async function findContactByPhone(redis: Redis, account: number, phone: string) {
  const keys = contactKeys(account)
  const id = await redis.hget(keys.phones, phone)
  if (id === null) return undefined
  const hash = await redis.hgetall(keys.contact(Number(id)))
  if (!isThere(hash)) return undefined
  return { id: Number(id), ...readRecord(contactSchema, `contact ${id}`, hash) }
}

/** Forgets the contact with this number and takes it off its tags. False when there was none. */
export async function eraseContact(redis: Redis, account: number, phone: string): Promise<boolean> {
  const keys = contactKeys(account)
  return (await eraseScript(redis, { phones: keys.phones, prefix: keys.prefix }, { phone })) === 1
}
