// The first half of accepting a message: reads the body of the request, envelope (sender, recipient, validity) and content.
// Pure; what depends on the account or on the time is prepare-message.ts.
import { z } from 'zod'
import { filledTextUpTo, textUpTo } from '../bounded.ts'
import {
  type ServiceContent,
  serviceContentSchema,
  type TemplateMessageContent,
  templateMessageContent,
} from '../content.ts'
import { type Fault, faultsOf, unknownFault, unknownFields, valueAt } from '../fault.ts'
import { instantSchema } from '../instant.ts'
import { LIMITS } from '../limits.ts'
import { parseRecipient, RECIPIENT_LENGTH_MAX } from '../recipient.ts'

/** Sender, recipient and validity of a message. */
export type Address = {
  /** Digits with country code, no plus; or a user id. */
  to: string
  /** The recipient exactly as given: the acknowledgement echoes it. */
  input: string
  /** Epoch ms after which the message must not be sent; may be past. */
  validUntilMs?: number
  /** Epoch ms before which it must not be sent. */
  sendAtMs?: number
  /** A number in any spelling, or a name; the account may not have it. */
  sender?: string
}

/** One of the account's senders, as requests name it. */
const senderSchema = filledTextUpTo(LIMITS.sender).meta({
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
function addressOf({ to, valid_until, send_at, sender }: z.infer<typeof envelopeSchema>): Address {
  return {
    to: to.digits,
    input: to.input,
    ...(valid_until !== undefined && { validUntilMs: valid_until }),
    ...(send_at !== undefined && { sendAtMs: send_at }),
    ...(sender !== undefined && { sender }),
  }
}

/** The sender that a body names, if it can be read despite other faults. */
function senderIn(body: unknown): { sender?: string } {
  const sender = senderSchema.safeParse(valueAt(body, ['sender']))
  return sender.success ? { sender: sender.data } : {}
}

/**
 * The faults of a body whose envelope and content were parsed separately, so that a wrong `type` does not hide a wrong `to`.
 * A body that is not an object has that one fault, and not once per part.
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

/**
 * All faults of a body's shape. A template and a sender that can be read despite them come along: the caller checks them too,
 * so that the client learns everything from one answer.
 */
export interface UnreadableSend {
  ok: false
  faults: Fault[]
  content?: TemplateMessageContent
  sender?: string
}

export type ServiceMessage = Address & { content: ServiceContent }

/** Reads the body of a service message. */
export function parseServiceMessage(
  body: unknown,
): { ok: true; kind: 'service'; message: ServiceMessage } | UnreadableSend {
  const envelope = envelopeSchema.safeParse(body)
  const content = serviceContentSchema.safeParse(body)
  if (envelope.success && content.success) {
    return { ok: true, kind: 'service', message: { content: content.data, ...addressOf(envelope.data) } }
  }
  return { ok: false, faults: faultsOfBody(body, envelope, content), ...senderIn(body) }
}

export type TemplateMessage = Address & {
  /** Never left out: a template has no default sender. */
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

/** Reads the body of a template message. */
export function parseTemplateMessage(
  body: unknown,
): { ok: true; kind: 'template'; message: TemplateMessage } | UnreadableSend {
  const envelope = templateEnvelopeSchema.safeParse(body)
  const content = templateMessageContent.safeParse(body)
  if (!envelope.success || !content.success) {
    const faults = faultsOfBody(body, envelope, content)
    return { ok: false, faults, ...(content.success && { content: content.data }), ...senderIn(body) }
  }
  const { sender, campaign_id } = envelope.data
  const ofCampaign = campaign_id !== undefined && { campaignId: campaign_id }
  const message = { content: content.data, ...ofCampaign, ...addressOf(envelope.data), sender }
  return { ok: true, kind: 'template', message }
}

/** The two requests that send: a service message, of any kind but a template, and a template message. */
export type SendKind = 'service' | 'template'

/** Unknown fields are ignored at the older interface, and refused at our own addresses. */
export type UnknownFieldsRule = 'ignored' | 'refused'

/** A body whose shape is right. `ignored` are the paths of its unknown fields. */
export type ReadSend = Exclude<ReturnType<typeof parseServiceMessage | typeof parseTemplateMessage>, UnreadableSend> & {
  ignored: readonly string[]
}

const SERVICE_FIELDS = ['to', 'recipient_type', 'messaging_product', 'valid_until', 'send_at', 'sender']
const TEMPLATE_FIELDS = [...SERVICE_FIELDS, 'campaign_id']
/** Fields of a body beside its content. Only the older interface has the key in the body. */
const BESIDE = {
  service: { ignored: new Set([...SERVICE_FIELDS, 'api_key']), refused: new Set(SERVICE_FIELDS) },
  template: { ignored: new Set([...TEMPLATE_FIELDS, 'api_key']), refused: new Set(TEMPLATE_FIELDS) },
}

/** Reads the body of a send. With `refused`, unknown fields are faults too. */
export function readSend(kind: SendKind, body: unknown, unknown: UnknownFieldsRule): ReadSend | UnreadableSend {
  const read = kind === 'service' ? parseServiceMessage(body) : parseTemplateMessage(body)
  if (!read.ok) return read
  const { content, sender } = read.message
  const ignored = unknownFields(body, content, BESIDE[kind][unknown])
  if (ignored.length === 0 || unknown === 'ignored') return { ...read, ignored }
  return {
    ok: false,
    faults: ignored.map(unknownFault),
    ...(content.type === 'template' && { content }),
    ...(sender !== undefined && { sender }),
  }
}
