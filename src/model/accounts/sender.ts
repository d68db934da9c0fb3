// What a sender is: its settings, the rules across them, and its public form. Pure.
import { z } from 'zod'

export const providerNameSchema = z.enum(['partner-api', 'cloud-api'])
export type ProviderName = z.infer<typeof providerNameSchema>

/** Messages per second: at least one a minute, at most what one lane can send. */
export const MIN_RATE = 1 / 60
export const MAX_RATE = 100_000
/** That of a new sender: WhatsApp's for a number of which it has reported nothing. */
export const DEFAULT_RATE = 80

/**
 * The address of WhatsApp that approved marketing templates are posted to; everything else goes to `/messages` anyway.
 * - `messages`: `/messages`, as all others.
 * - `marketing_fallback`: `/marketing_messages`; WhatsApp sends what is not eligible as if it came to `/messages`.
 * - `marketing_strict`: `/marketing_messages`; WhatsApp refuses what is not eligible.
 */
export const marketingRouteSchema = z.enum(['messages', 'marketing_fallback', 'marketing_strict'])
export type MarketingRoute = z.infer<typeof marketingRouteSchema>

/** The public form of a sender, without its token. */
export const senderDocumentSchema = z
  .strictObject({
    id: z.int().describe('Also of its lane.'),
    account: z.int(),
    number: z.string().describe('Digits with country code.'),
    name: z.string().nullable(),
    provider: providerNameSchema,
    base_url: z.string(),
    phone_number_id: z.string().nullable(),
    waba_id: z.string().nullable().describe('Account at WhatsApp that it belongs to; null while it is not known.'),
    rate: z.number().describe('Messages per second.'),
    portfolio: z.int().nullable().describe('Business portfolio whose daily limit it shares.'),
    follow_provider: z.boolean().describe('Whether its rate and limits follow WhatsApp’s reports.'),
    marketing_route: marketingRouteSchema.describe(
      'Where its marketing templates go, unless a campaign says otherwise.',
    ),
    strict_pace: z
      .boolean()
      .describe('Whether also every single second holds at most its rate, for a provider that counts so.'),
    quality: z.string().nullable().describe('`FLAGGED` while WhatsApp warns that people dislike its messages.'),
    verified_name: z.string().nullable().describe('The name that WhatsApp approved last.'),
    restricted: z.string().nullable().describe('Why WhatsApp lets it send nothing, as webhooks have reported.'),
    honours_idempotency: z.boolean(),
    default: z.boolean().describe('Whether service messages of the account leave from it.'),
  })
  .meta({ id: 'Sender' })
export type SenderDocument = z.infer<typeof senderDocumentSchema>

/** Fields whose rules depend on the provider. */
export type SenderField = 'phoneNumberId' | 'honoursIdempotency' | 'wabaId'

/** Faults of fields that do not fit the provider; `providerName` is what the caller's interface calls that field. */
export function senderFaults(
  sender: { provider: ProviderName; phoneNumberId: string; honoursIdempotency: boolean; wabaId?: string | undefined },
  providerName: string,
): { field: SenderField; message: string }[] {
  const isCloud = sender.provider === 'cloud-api'
  const faults: { field: SenderField; message: string }[] = []
  if (isCloud && sender.phoneNumberId === '') {
    faults.push({ field: 'phoneNumberId', message: `required with ${providerName} cloud-api` })
  }
  if (!isCloud && sender.phoneNumberId !== '') {
    faults.push({ field: 'phoneNumberId', message: `only known with ${providerName} cloud-api` })
  }
  if (!isCloud && sender.wabaId) {
    faults.push({ field: 'wabaId', message: `only known with ${providerName} cloud-api` })
  }
  if (isCloud && sender.honoursIdempotency) {
    faults.push({ field: 'honoursIdempotency', message: `only known with ${providerName} partner-api` })
  }
  return faults
}

/** WhatsApp's id of an account or a number. */
export const PROVIDER_ID = /^[1-9]\d{0,29}$/

/** A provider's token: printable characters without spaces. */
export const TOKEN = /^[\x21-\x7e]+$/

/** A name needs a letter, because requests name a sender by number or by name. */
export const isSenderName = (name: string): boolean => /\p{L}/u.test(name) && !/\p{Cc}/u.test(name)

/**
 * Whether this is a URL without query or fragment, so that paths can be appended. A password is refused too: it would not be sent,
 * and lists of senders show the address.
 */
export function isServerAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return false
  return [url.search, url.hash, url.username, url.password].every((part) => part === '')
}

/**
 * The detail of a sender that the account does not have. It names none of those that there are: a key for some senders must not learn
 * of others.
 */
export const NOT_A_SENDER = 'not a sender of the account; `senders list` and GET /admin/senders list those it has'
