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

/** Whether a word is the name of a setting. */
export const isAccountSetting = (word: string): word is AccountSetting => Object.hasOwn(accountSettings, word)

// Limits of an account, by the names people type. The installation has a default for each (LANEWAY_LIMIT_…), an account may have
// its own; 0 is no limit.

/** Limits of an account; 0 is none. Rates are requests a second, bytes are bytes, the others are counts. */
export interface AccountLimits {
  /** Of each of its keys. */
  keyRate: number
  /** Of all of its keys together. */
  accountRate: number
  /** Messages that were accepted and not claimed yet. */
  waiting: number
  /** Campaigns that were not started yet. */
  drafts: number
  /** Uploaded rows of all campaigns that are kept. */
  rowsBytes: number
  /** Files of the gallery, those in the trash too. */
  galleryBytes: number
  contacts: number
}

/** Limits of the installation: defaults for its accounts, and those that belong to no account. */
export interface InstallationLimits extends AccountLimits {
  /** Requests a second from one address. */
  addressRate: number
}

/** The setting of an account for each. */
export const LIMIT_SETTINGS = {
  'limit.key_rate': 'keyRate',
  'limit.account_rate': 'accountRate',
  'limit.waiting': 'waiting',
  'limit.drafts': 'drafts',
  'limit.rows_bytes': 'rowsBytes',
  'limit.gallery_bytes': 'galleryBytes',
  'limit.contacts': 'contacts',
} as const satisfies Readonly<Record<string, keyof AccountLimits>>
export type LimitSetting = keyof typeof LIMIT_SETTINGS

/** A field for each limit. */
export const limitFields = <S>(field: S) =>
  Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, field])) as Record<LimitSetting, S>

/** What a limit may be; null is the installation's. */
export const limitSchema = z.int().min(0).nullable()

/** Whether a word is the name of a limit. */
export const isLimitSetting = (word: string): word is LimitSetting => Object.hasOwn(LIMIT_SETTINGS, word)

// Secrets of an account's cloud-api webhooks, by the name people type. Separate from their store, so that naming one loads no Redis
// code.

/** How many of each count at a time: the newest, and the one that WhatsApp may still use. */
export const WEBHOOK_SECRETS_MAX = 2

/** `app_secret` verifies signatures, `verify_token` answers the handshake. */
export const WEBHOOK_SECRETS = ['webhook.app_secret', 'webhook.verify_token'] as const
export type WebhookSecretName = (typeof WEBHOOK_SECRETS)[number]

/** Of the endpoint of an account's flows: what opens requests, and what signs them for the account's own server. */
export const FLOW_SECRETS = ['flow.private_key', 'flow.secret'] as const
export type FlowSecretName = (typeof FLOW_SECRETS)[number]

/** Whether a word is the name of such a secret. */
export const isWebhookSecret = (word: string): word is WebhookSecretName =>
  WEBHOOK_SECRETS.some((name) => name === word)

/** Printable, without spaces; long enough that nobody guesses it. */
export const webhookSecretSchema = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'expected printable characters without spaces')
  .min(16, 'expected at least 16 characters')
  .max(512, 'expected at most 512 characters')
