// What a message is for those who send one: the body of a send endpoint without the fields that are always the same.
import type { ServiceContent, TemplateContent } from './types.ts'

interface Envelope {
  /** Recipient: a full international number, `+14155550123`, or a user id, `US.13491208655302741918`. */
  to: string
  /** ISO 8601 with its zone: never sent later. */
  valid_until?: string | undefined
  /** ISO 8601 with its zone, at most 30 days ahead: not sent sooner. */
  send_at?: string | undefined
  /** One of the account's senders, by its number in any spelling or by its name; the default one unless given. */
  sender?: string | undefined
  /** A text of your own, such as an order number: lookups and events give it back. Up to 200 characters. */
  reference?: string | undefined
}

/** A header, body, button or carousel of a template with the values for its variables. */
export type TemplateComponent = NonNullable<TemplateContent['template']['components']>[number]
/** A value for a template; what it holds is in the field that is named like its `type`. */
export type TemplateParameter = NonNullable<TemplateComponent['parameters']>[number]

/** Any kind but a template. */
export type ServiceMessage = Envelope & ServiceContent

/** An approved template. */
export type TemplateMessage = Envelope & {
  /** Required here: a template leaves from no default sender. */
  sender: string
  /** A label of your own that groups messages. */
  campaign_id?: string | undefined
} & TemplateContent

export type Message = ServiceMessage | TemplateMessage

/** The message as the send endpoints take it. */
export const bodyOf = (message: Message): Record<string, unknown> => ({
  recipient_type: 'individual',
  messaging_product: 'chatapp',
  ...message,
})
