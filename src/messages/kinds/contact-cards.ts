// Contact cards: people whom the recipient can add to the contacts of the phone.
import { z } from 'zod'
import { filledTextUpTo, listUpTo, textUpTo } from '../bounded.ts'
import { LIMITS } from '../limits.ts'
import { answering } from './context.ts'

const line = textUpTo(LIMITS.contactLine).optional()
const several = <S extends z.ZodType>(item: S) => listUpTo(LIMITS.contactEntries, item).optional()

const cardSchema = z
  .object({
    name: z.object({
      formatted_name: filledTextUpTo(LIMITS.contactLine),
      first_name: line,
      last_name: line,
      middle_name: line,
      suffix: line,
      prefix: line,
    }),
    birthday: z.iso
      .date({ error: 'expected a date such as 1990-01-31' })
      .meta({ description: 'Year, month and day.' })
      .optional(),
    phones: several(z.object({ phone: line, type: line, wa_id: line })),
    emails: several(z.object({ email: line, type: line })),
    urls: several(z.object({ url: textUpTo(LIMITS.link).optional(), type: line })),
    addresses: several(
      z.object({ street: line, city: line, state: line, zip: line, country: line, country_code: line, type: line }),
    ),
    org: z.object({ company: line, department: line, title: line }).optional(),
  })
  .meta({ id: 'ContactCard' })

/** One to five cards. */
export const contactsContent = z.object({
  type: z.literal('contacts'),
  contacts: listUpTo(LIMITS.contacts, cardSchema, { min: 1 }),
  ...answering,
})
