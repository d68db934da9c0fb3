// Webhooks that a test brings itself, signed as WhatsApp signs them, so that it can bring what the simulator never would.
import { createHmac } from 'node:crypto'

/** One change of a webhook. */
export interface WebhookChange {
  field: string
  value: unknown
}

/** A change of messages at the number of ours with this id. */
export const messagesChange = (phoneNumberId: string, value: object): WebhookChange => ({
  field: 'messages',
  value: { messaging_product: 'whatsapp', metadata: { phone_number_id: phoneNumberId }, ...value },
})

/** Brings all of these changes in one request; `waba` is the account at WhatsApp that they come from. */
export async function bringWebhook(
  serviceUrl: string,
  changes: readonly WebhookChange[],
  { waba = '1', atMs = Date.now(), begins = '' }: { waba?: string; atMs?: number; begins?: string } = {},
): Promise<{ status: number; text: string }> {
  const entry = [{ id: waba, time: Math.floor(atMs / 1_000), changes }]
  const body = begins + JSON.stringify({ object: 'whatsapp_business_account', entry })
  return postSigned(`${serviceUrl}/webhooks/cloud-api`, body)
}

/** What a signature of this body says, as WhatsApp writes it. */
export const signatureOf = (body: string, secret = 'app-secret'): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** Posts a body to an address that WhatsApp posts to, signed as by the app with this secret. */
export async function postSigned(
  address: string,
  body: string,
  secret?: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; text: string }> {
  const signed = { 'content-type': 'application/json', 'x-hub-signature-256': signatureOf(body, secret) }
  const answer = await fetch(address, { method: 'POST', headers: { ...signed, ...headers }, body })
  return { status: answer.status, text: await answer.text() }
}
