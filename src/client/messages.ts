// What a message is for those who send one: the body of a send endpoint without the fields that are always the same.
import type { z } from 'zod'
import type { serviceContentSchema, templateMessageContent } from '../messages/content.ts'

interface Envelope {
  /** Recipient: a full international number, `+14155550123`. */
  to: string
  /** ISO 8601 with its zone: never sent later. */
  valid_until?: string
}

/** Interactive list or reply buttons, image or audio, from the account's default sender. */
export type ServiceMessage = Envelope & z.input<typeof serviceContentSchema>

/** An approved template. */
export type TemplateMessage = Envelope & {
  /** One of the account's senders, by its number in any spelling or by its name. */
  sender: string
  /** A label of your own that groups messages. */
  campaign_id?: string
} & z.input<typeof templateMessageContent>

export type Message = ServiceMessage | TemplateMessage

/** The message as the send endpoints take it. */
export const bodyOf = (message: Message): object => ({
  recipient_type: 'individual',
  messaging_product: 'chatapp',
  ...message,
})
