// Secrets of an account by the name people type: of its cloud-api webhooks, and of the endpoint of its flows. Separate from their
// store, so that naming one loads no Redis code.

import { z } from 'zod'

/** How many of each count at a time: the newest, and the one that WhatsApp may still use. */
export const WEBHOOK_SECRETS_MAX = 2

/** `app_secret` verifies signatures, `verify_token` answers the handshake. */
export const WEBHOOK_SECRETS = ['webhook.app_secret', 'webhook.verify_token'] as const
export type WebhookSecretName = (typeof WEBHOOK_SECRETS)[number]

/** Of the endpoint of an account's flows: what opens requests, and what signs them for the account's own server. */
export const FLOW_SECRETS = ['flow.private_key', 'flow.secret'] as const
export type FlowSecretName = (typeof FLOW_SECRETS)[number]

/** Printable, without spaces; long enough that nobody guesses it. */
export const webhookSecretSchema = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'expected printable characters without spaces')
  .min(16, 'expected at least 16 characters')
  .max(512, 'expected at most 512 characters')
