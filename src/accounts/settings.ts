// Settings of an account by the name people type, each with its default. Apart from the accounts themselves, so that what
// only names a setting loads no Redis.
import { z } from 'zod'

const policy = z.enum(['at_least_once', 'at_most_once'])
export type Policy = z.infer<typeof policy>

/** Words separated by commas; an empty text is none. */
const words = z
  .string()
  .max(400)
  .regex(/^\P{Cc}*$/u, 'must have no control characters')
  .refine((text) => text.split(',').length <= 20, 'expected at most 20 words')

export const accountSettings = {
  contacts_shape: z.enum(['records', 'contacts']).default('records'),
  template_check: z.enum(['on', 'off']).default('on'),
  'policy.transactional': policy.default('at_least_once'),
  'policy.campaign': policy.default('at_most_once'),
  /** What a person writes to get no more advertising, and to get it again. */
  'opt_out.stop_words': words.default('stop,unsubscribe'),
  'opt_out.start_words': words.default('start'),
  /** What becomes of other messages to somebody who is opted out. */
  'opt_out.transactional': z.enum(['send', 'stop']).default('send'),
  /** What becomes of a service message to somebody who has not written within 24 hours. */
  outside_window: z.enum(['warn', 'refuse']).default('warn'),
}
export type AccountSetting = keyof typeof accountSettings

/** Whether a word is the name of a setting. */
export const isAccountSetting = (word: string): word is AccountSetting => Object.hasOwn(accountSettings, word)
