// Settings of an account by the name people type, each with its default. Separate from the store of accounts, so that naming a
// setting loads no Redis code.

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
  /** What happens to other messages to somebody who has opted out. */
  'opt_out.transactional': z.enum(['send', 'stop']).default('send'),
  /** What happens to a service message to somebody who has not written within 24 hours. */
  outside_window: z.enum(['warn', 'refuse']).default('warn'),
  /** Whether files of received messages are fetched into the gallery, before WhatsApp removes them. */
  keep_received_media: z.enum(['on', 'off']).default('off'),
  /** What happens to unknown fields at the addresses of the older interface. Accounts from before this setting ignore them. */
  unknown_fields: z.enum(['refuse', 'ignore']).default('ignore'),
}

/** Settings of a new account that differ from the default; the default is what accounts from before the setting have. */
export const NEW_ACCOUNT = { unknown_fields: 'refuse' } as const satisfies { readonly [S in AccountSetting]?: string }
export type AccountSetting = keyof typeof accountSettings
