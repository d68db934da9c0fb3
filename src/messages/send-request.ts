// The body of a send request, service message or template: its envelope (sender, recipient, validity) and its content.
import { z } from 'zod'
import { filledTextUpTo, textUpTo } from './bounded.ts'
import {
  type ServiceContent,
  serviceContentSchema,
  type TemplateMessageContent,
  templateMessageContent,
} from './content.ts'
import { type Fault, faultsOf, valueAt } from './fault.ts'
import { instantSchema } from './instant.ts'
import { LIMITS } from './limits.ts'
import { parseRecipient, RECIPIENT_LENGTH_MAX } from './recipient.ts'

/** From where a message goes to whom, and until when. */
export type Address = {
  /** Digits with country code, no plus; or a user id. */
  to: string
  /** The recipient exactly as given: the acknowledgement echoes it. */
  input: string
  /** Epoch milliseconds after which the message must not be sent. Whether that is past is for the caller, who has the clock. */
  validUntilMs?: number
  /** Epoch milliseconds before which it must not be sent. */
  sendAtMs?: number
  /**
   * The sender as named in the request: a number in any spelling, or a name. Whether the account has it, the caller knows.
   */
  sender?: string
}

/** One of the account's senders, as requests name it. */
export const senderSchema = filledTextUpTo(LIMITS.sender).meta({
  description: 'One of the account’s senders, by its number in any spelling or by its name.',
})

const recipientSchema = z
  .unknown()
  .transform((input, context) => {
    const phone = parseRecipient(input)
    if (phone.ok) return { digits: phone.digits, input: String(input) }
    context.issues.push({ code: 'custom', message: phone.message, input })
    return z.NEVER
  })
  .meta({
    type: 'string',
    maxLength: RECIPIENT_LENGTH_MAX,
    description:
      'The number with its country code; a plus, spaces, dashes, dots and brackets do not matter. Or a user id such as ' +
      '`US.13491208655302741918`, where the sender’s provider is cloud-api.',
  })

/** The envelope of a body; everything else in the body is left to the schema of its content. */
export const envelopeSchema = z.object({
  to: recipientSchema,
  recipient_type: z.literal('individual'),
  messaging_product: z.literal('chatapp'),
  valid_until: instantSchema
    .meta({ description: 'The message is never sent later than this; in the future, at most 30 days ahead.' })
    .optional(),
  send_at: instantSchema
    .meta({ description: 'The message is not sent before this; in the future, at most 30 days ahead.' })
    .optional(),
  sender: senderSchema
    .meta({
      description:
        'One of the account’s senders, by its number in any spelling or by its name; the default sender unless given.',
    })
    .optional(),
})

/** The address in a parsed envelope. */
export function addressOf({ to, valid_until, send_at, sender }: z.infer<typeof envelopeSchema>): Address {
  return {
    to: to.digits,
    input: to.input,
    ...(valid_until !== undefined && { validUntilMs: valid_until }),
    ...(send_at !== undefined && { sendAtMs: send_at }),
    ...(sender !== undefined && { sender }),
  }
}

/** The sender that a body names, where that is readable in spite of faults around it. */
function senderIn(body: unknown): { sender?: string } {
  const sender = senderSchema.safeParse(valueAt(body, ['sender']))
  return sender.success ? { sender: sender.data } : {}
}

/**
 * The faults of a body whose envelope and content were parsed separately, so that a wrong `type` does not hide a wrong `to`.
 * A body that is no object at all has that one fault, and not once per part.
 */
function faultsOfBody(
  body: unknown,
  envelope: z.ZodSafeParseResult<unknown>,
  content: z.ZodSafeParseResult<unknown>,
): Fault[] {
  const faults = [envelope, content].flatMap((part) => (part.success ? [] : faultsOf(part.error, body)))
  const whole = faults.find((fault) => fault.path === '')
  return whole ? [whole] : faults
}

export type ServiceMessage = Address & { content: ServiceContent }

/**
 * Reads the body of a service message, or reports all faults of its shape together. The sender comes with them where it is
 * readable: whether the account has it belongs into the same answer.
 */
export function parseServiceMessage(
  body: unknown,
): { ok: true; message: ServiceMessage } | { ok: false; faults: Fault[]; sender?: string } {
  const envelope = envelopeSchema.safeParse(body)
  const content = serviceContentSchema.safeParse(body)
  if (envelope.success && content.success) {
    return { ok: true, message: { content: content.data, ...addressOf(envelope.data) } }
  }
  return { ok: false, faults: faultsOfBody(body, envelope, content), ...senderIn(body) }
}

export type TemplateMessage = Address & {
  /** As in every address, but never left out: a template has no default sender. */
  sender: string
  /** The client's own label for a group of messages; it changes nothing about the message. */
  campaignId?: string
  content: TemplateMessageContent
}

/** Everything of a template message but its content. */
export const templateEnvelopeSchema = envelopeSchema.extend({
  sender: senderSchema,
  campaign_id: textUpTo(LIMITS.campaignId).optional(),
})

/**
 * Reads the body of a template message, or reports all faults of its shape together. The content and the sender come
 * with them where they are readable in spite of faults around them: the caller can add what it finds about these, and
 * the client learns all in one answer.
 */
export function parseTemplateMessage(
  body: unknown,
):
  | { ok: true; message: TemplateMessage }
  | { ok: false; faults: Fault[]; content?: TemplateMessageContent; sender?: string } {
  const envelope = templateEnvelopeSchema.safeParse(body)
  const content = templateMessageContent.safeParse(body)
  if (!envelope.success || !content.success) {
    const faults = faultsOfBody(body, envelope, content)
    return { ok: false, faults, ...(content.success && { content: content.data }), ...senderIn(body) }
  }
  const { sender, campaign_id } = envelope.data
  const ofCampaign = campaign_id !== undefined && { campaignId: campaign_id }
  return { ok: true, message: { content: content.data, ...ofCampaign, ...addressOf(envelope.data), sender } }
}
