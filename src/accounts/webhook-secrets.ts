// Secrets of an account's cloud-api webhooks, by the name people type. Apart from their store, so that what only names
// one loads no Redis.
import { z } from 'zod'

/** How many of each count at a time: the newest, and the one that the chat product may still use. */
export const WEBHOOK_SECRETS_MAX = 2

/** `app_secret` verifies signatures, `verify_token` answers the handshake. */
export const WEBHOOK_SECRETS = ['webhook.app_secret', 'webhook.verify_token'] as const
export type WebhookSecretName = (typeof WEBHOOK_SECRETS)[number]

/** Whether a word is the name of such a secret. */
export const isWebhookSecret = (word: string): word is WebhookSecretName =>
  WEBHOOK_SECRETS.some((name) => name === word)

/** Printable, without spaces; long enough that nobody guesses it. */
export const webhookSecretSchema = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'expected printable characters without spaces')
  .min(16, 'expected at least 16 characters')
  .max(512, 'expected at most 512 characters')
