// Messages of a test service: sending them over HTTP and asking what became of them.
import { expect } from 'vitest'
import { z } from 'zod'
import type { Service, Tenant } from './service.ts'
import { eventually } from './wait.ts'

type Sender = Pick<Tenant, 'apiKey'>

/** The body of an audio message, the smallest there is, without its key. */
export const audioTo = (to: string, more: object = {}): Record<string, unknown> => ({
  messaging_product: 'chatapp',
  recipient_type: 'individual',
  to,
  type: 'audio',
  audio: { link: 'https://example.com/hello.ogg' },
  ...more,
})

const acknowledgement = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })

/** The message id of an acknowledgement. */
export function acknowledgedId(answer: { status: number; body: unknown }): string {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return acknowledgement.parse(answer.body).messages[0].id
}

/** Sends from the account's default sender and returns the id of the acknowledgement. */
export async function sendTo(service: Service, { apiKey }: Sender, to: string, more: object = {}): Promise<string> {
  const body = { api_key: apiKey, ...audioTo(to, more) }
  return acknowledgedId(await service.post('/sendservicemessages/sendmessages', body))
}

const delivery = z.object({
  status: z.literal(true),
  message: z.object({ status: z.string(), error_message: z.string().nullable() }),
})

/** The delivery status as the lookup tells it. */
export async function deliveryOf(service: Service, { apiKey }: Sender, id: string) {
  const answer = await service.post('/chatappbusiness/getmessgageinfobyid', { api_key: apiKey, message_id: id })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return delivery.parse(answer.body).message
}

const info = z.object({
  status: z.literal(true),
  message: z.object({
    data: z.strictObject({
      message_id: z.string(),
      message_text: z.string(),
      message_type: z.string(),
      message_from: z.string(),
      direction: z.enum(['inbound', 'outbound']),
      status: z.string(),
      timestamp: z.int(),
    }),
  }),
})

/** Everything that the lookup tells of a message. */
export async function infoOf(service: Service, { apiKey }: Sender, id: string) {
  const answer = await service.post('/chatappbusiness/fetchmessageinfo', { api_key: apiKey, message_id: id })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return info.parse(answer.body).message.data
}

/** Waits until the message has this status, and returns its delivery. */
export async function reaches(service: Service, tenant: Sender, id: string, status: string, limitMs?: number) {
  let last = ''
  const told = async () => {
    const now = await deliveryOf(service, tenant, id)
    last = now.status
    return now.status === status ? now : undefined
  }
  return eventually(told, `${id} becomes ${status}`, limitMs).catch((error: unknown) => {
    throw new Error(`${String(error)}; it is ${last}`)
  })
}
