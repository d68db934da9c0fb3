// Schemas of parts that several webhooks have: times, words, texts, lists. An odd part never makes the rest unreadable.
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { masked } from '../kernel/masked.ts'

/** A part that an item can do without. */
export const spare = <S extends z.ZodType>(schema: S) => schema.optional().catch(undefined)

/**
 * When something happened, as webhooks write it: seconds as text or as a number, rarely milliseconds. Read as epoch ms.
 */
export const webhookTime = z
  .union([z.string().regex(/^\d{1,15}$/), z.number().int().nonnegative()])
  .transform(Number)
  .transform((value) => (value > 1e11 ? value : value * 1_000))

/** A word of WhatsApp, such as `PAUSED`. */
export const constant = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/)

/** What people at WhatsApp wrote, without numbers and cut: a name of a business, a reason. */
export const plainText = z.string().transform((text) =>
  cutText(
    masked(text)
      .replace(/\p{Cc}+/gu, ' ')
      .trim(),
    200,
  ),
)

/** Digits of a phone number of ours in any spelling. */
export const digitsOf = z
  .union([z.string().max(40), z.number().int().transform(String)])
  .transform((text) => text.replace(/\D/g, ''))
  .pipe(z.string().min(5).max(15))

/** An id of WhatsApp; some services that forward webhooks write it as a number. `0` is none. */
export const idText = z
  .union([z.string(), z.number().int().transform(String)])
  .pipe(z.string().regex(/^[1-9]\d{0,29}$/))

/** The number that a change of the field `messages` is about. */
export const metadata = z.object({ phone_number_id: z.union([z.string(), z.number().transform(String)]) })

/** The entries of an object that have a value. */
export function given(values: Record<string, string | number | undefined>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
