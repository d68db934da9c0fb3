// Posts webhooks to the service that WhatsApp did not send: as somebody who knows the app secret and the ids of
// messages, but not the key under which Laneway signs what it sends along.
import { createHmac } from 'node:crypto'
import { postJson } from './http.ts'
import { APP_SECRET } from './rig.ts'

/** One status update as WhatsApp writes it. */
export interface Update {
  /** WhatsApp's id of the message; Laneway does not go by it. */
  providerId: string
  to: string
  status: 'sent' | 'delivered' | 'read' | 'failed'
  opaque: string | undefined
}

/** Gives the HTTP status of the answer. `secret` other than the configured one makes a signature that must not pass. */
export async function postUpdates(
  url: string,
  phoneNumberId: string,
  updates: readonly Update[],
  secret: string = APP_SECRET,
): Promise<number> {
  const statuses = updates.map(({ providerId, to, status, opaque }) => ({
    id: providerId,
    status,
    timestamp: String(Math.floor(Date.now() / 1_000)),
    recipient_id: to,
    ...(opaque === undefined ? {} : { biz_opaque_callback_data: opaque }),
    ...(status === 'failed' ? { errors: [{ code: 131026, title: 'Message undeliverable' }] } : {}),
  }))
  const metadata = { display_phone_number: '15550000000', phone_number_id: phoneNumberId }
  const change = { field: 'messages', value: { messaging_product: 'whatsapp', metadata, statuses } }
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] })
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const answer = await postJson(`${url}/webhooks/cloud-api`, body, { 'x-hub-signature-256': signature })
  return answer.status
}
