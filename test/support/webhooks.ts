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
  const signature = createHmac('sha256', 'app-secret').update(body).digest('hex')
  const answer = await fetch(`${serviceUrl}/webhooks/cloud-api`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body,
  })
  return { status: answer.status, text: await answer.text() }
}
