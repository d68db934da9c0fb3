// Reads the preferences of a webhook: people who stop or resume the advertising of one of our numbers.

import { z } from 'zod'
import { providerName } from '../kernel/recipient.ts'
import { webhookTime } from './webhook-fields.ts'

/** That a person stops or resumes the advertising of one of our numbers. */
export interface Preference {
  phoneNumberId: string
  /** Digits, the user id, or both. */
  people: string[]
  intent: 'stop' | 'resume'
  /** Epoch ms; undefined where WhatsApp gives no valid time. */
  atMs: number | undefined
}

const name = z.string().max(200).optional().catch(undefined)

const item = z.object({
  wa_id: name,
  user_id: name,
  category: z.string(),
  value: z.enum(['stop', 'resume']),
  timestamp: webhookTime.optional().catch(undefined),
})

/** One item of it; `other` for a preference about something else than advertising, undefined for what cannot be read. */
export function readPreference(phoneNumberId: string, raw: unknown): Preference | 'other' | undefined {
  const { data } = item.safeParse(raw)
  if (data === undefined) return undefined
  if (data.category !== 'marketing_messages') return 'other'
  const people = [data.wa_id, data.user_id].flatMap((each) => (each && providerName(each)) || [])
  return people.length === 0 ? undefined : { phoneNumberId, people, intent: data.value, atMs: data.timestamp }
}
