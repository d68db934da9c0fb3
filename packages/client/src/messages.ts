// What a message is for those who send one: the body of a send endpoint without the fields that are always the same.
// docs/reference/http says what each field may hold; the service judges it.
import type { Answering, Linked, PlainContent, ReactionContent } from './kinds.ts'

interface Envelope {
  /** Recipient: a full international number, `+14155550123`, or a user id, `US.13491208655302741918`. */
  to: string
  /** ISO 8601 with its zone: never sent later. */
  valid_until?: string | undefined
  /** ISO 8601 with its zone, at most 30 days ahead: not sent sooner. */
  send_at?: string | undefined
  /** One of the account's senders, by its number in any spelling or by its name; the default one unless given. */
  sender?: string | undefined
}

type Header =
  | { type: 'text'; text: string }
  | { type: 'image'; image: Linked }
  | { type: 'video'; video: Linked }
  | { type: 'document'; document: Linked & { filename: string } }

interface Texts {
  body: { text: string }
  footer?: { text: string } | undefined
}

/** A list to choose from. */
interface List extends Texts {
  type: 'list'
  header?: Header | undefined
  action: {
    button: string
    sections: {
      title?: string | undefined
      rows: { id: string; title: string; description?: string | undefined }[]
    }[]
  }
}

/** One to three reply buttons. */
interface Buttons extends Texts {
  type: 'button'
  header: Header
  action: { buttons: { type: 'reply'; reply: { id: string; title: string } }[] }
}

/** A text with a button that opens an address. */
interface Link extends Texts {
  type: 'cta_url'
  header?: Header | undefined
  action: { name: 'cta_url'; parameters: { display_text: string; url: string } }
}

/** A text with a button that sends the location of the person back. */
interface LocationRequest {
  type: 'location_request_message'
  body: { text: string }
  action: { name: 'send_location' }
}

/** What a message says that is no template. */
export type ServiceContent =
  | (Answering & ({ type: 'interactive'; interactive: List | Buttons | Link | LocationRequest } | PlainContent))
  | ReactionContent

/** A value for a template; what it holds is in the field that is named like its `type`. */
export interface TemplateParameter {
  type: string
  parameter_name?: string | undefined
  [held: string]: unknown
}

interface TemplatePart {
  type: string
  sub_type?: string | undefined
  index?: string | number | undefined
  parameters?: TemplateParameter[] | undefined
}

/** A header, body, button or carousel of a template with the values for its variables. */
export interface TemplateComponent extends TemplatePart {
  cards?: { card_index: number; components?: TemplatePart[] | undefined }[] | undefined
}

/** An approved template, filled in. */
export interface TemplateContent {
  type: 'template'
  template: { name: string; language: { code: string }; components?: TemplateComponent[] | undefined }
}

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
