// Reading what a person has told the chat product about advertising: the field `user_preferences` of a webhook.
import { z } from 'zod'

/** That a person stops or resumes the advertising of one of our numbers. */
export interface Preference {
  phoneNumberId: string
  /** Digits, the user id, or both. */
  people: string[]
  wish: 'stop' | 'resume'
  /** Epoch ms; undefined where the chat product says nothing that is a time. */
  atMs: number | undefined
}

/**
 * When something happened, as webhooks write it: seconds as text or as a number, rarely milliseconds. Read as epoch ms.
 */
export const webhookTime = z
  .union([z.string().regex(/^\d{1,15}$/), z.number().int().nonnegative()])
  .transform(Number)
  .transform((value) => (value > 1e11 ? value : value * 1_000))

const name = z.string().max(200).optional().catch(undefined)

/** The list of a change. */
export const preferenceList = z.object({
  metadata: z.object({ phone_number_id: z.union([z.string(), z.number().transform(String)]) }),
  user_preferences: z.array(z.unknown()),
})

const item = z.object({
  wa_id: name,
  user_id: name,
  category: z.string(),
  value: z.enum(['stop', 'resume']),
  timestamp: webhookTime.optional().catch(undefined),
})

/** One item of it; `other` for a wish about something else than advertising, undefined for what cannot be read. */
export function readPreference(phoneNumberId: string, raw: unknown): Preference | 'other' | undefined {
  const { data } = item.safeParse(raw)
  if (data === undefined) return undefined
  if (data.category !== 'marketing_messages') return 'other'
  const people = [data.wa_id?.replace(/\D/g, ''), data.user_id].flatMap((each) => (each ? [each] : []))
  return people.length === 0 ? undefined : { phoneNumberId, people, wish: data.value, atMs: data.timestamp }
}
