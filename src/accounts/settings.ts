// Settings of an account by the name people type, each with its default. Apart from the accounts themselves, so that what
// only names a setting loads no Redis.
import { z } from 'zod'

const policy = z.enum(['at_least_once', 'at_most_once'])
export type Policy = z.infer<typeof policy>

export const accountSettings = {
  contacts_shape: z.enum(['records', 'contacts']).default('records'),
  template_check: z.enum(['on', 'off']).default('on'),
  'policy.transactional': policy.default('at_least_once'),
  'policy.campaign': policy.default('at_most_once'),
}
export type AccountSetting = keyof typeof accountSettings

/** Whether a word is the name of a setting. */
export const isAccountSetting = (word: string): word is AccountSetting => Object.hasOwn(accountSettings, word)
