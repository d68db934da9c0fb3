// The first half of accepting a message: reads the body of the request, envelope (sender, recipient, validity) and content.
// Pure; what depends on the account or on the time is prepare-message.ts.
import { z } from 'zod'
import { nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { type Fault, valueAt } from '../../kernel/fault.ts'
import { allFieldNames } from '../../kernel/field-names.ts'
import { instantSchema } from '../../kernel/instant.ts'
import { withoutNulls } from '../../kernel/nulls.ts'
import { parseRecipient, RECIPIENT_LENGTH_MAX } from '../../kernel/recipient.ts'
import { refusedFields, type UnknownField, unknownFault, unknownFields } from '../../kernel/unknown-fields.ts'
import { faultsOf } from '../../kernel/zod-faults.ts'
import {
  CONTENT_TYPES,
  type ServiceContent,
  serviceContentSchema,
  type TemplateMessageContent,
  templateMessageContent,
} from '../../model/messages/content.ts'
import { LIMITS } from '../../model/messages/limits.ts'
import { ONLY_POLICY } from '../../model/templates/template-content.ts'

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
  /** The client's own; never empty. */
  reference?: string
}

/** One of the account's senders, as requests name it. */
const senderSchema = nonEmptyTextUpTo(LIMITS.sender).meta({
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
  reference: textUpTo(LIMITS.reference)
    .meta({
      description:
        'A text of your own, such as an order number: lookups and events give it back, and lists find by it.',
    })
    .optional(),
})

/** The address in a parsed envelope. */
function addressOf({ to, valid_until, send_at, sender, reference }: z.infer<typeof envelopeSchema>): Address {
  return {
    to: to.digits,
    input: to.input,
    ...(valid_until !== undefined && { validUntilMs: valid_until }),
    ...(send_at !== undefined && { sendAtMs: send_at }),
    ...(sender !== undefined && { sender }),
    ...(reference && { reference }),
  }
}

/** The sender that a body names, if it can be read despite other faults. */
function senderIn(body: unknown): { sender?: string } {
  const sender = senderSchema.safeParse(valueAt(body, ['sender']))
  return sender.success ? { sender: sender.data } : {}
}

/** The faults of a body. One that is not an object has that one fault, and not once for each part that was parsed by itself. */
function faultsOfBody(body: unknown, ...parts: readonly (z.ZodError | undefined)[]): Fault[] {
  const faults = parts.flatMap((error) => (error === undefined ? [] : faultsOf(error, body)))
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

const SERVICE_TYPES: ReadonlySet<unknown> = new Set(serviceContentSchema.options.map(({ shape }) => shape.type.value))

/** The faults, with the right address where the `type` is one that the other address takes. */
function withAddress(faults: readonly Fault[], body: unknown): Fault[] {
  const type = valueAt(body, ['type'])
  const right =
    type === 'template'
      ? 'templates go to /chatappbusiness/send-templated-message'
      : SERVICE_TYPES.has(type) && 'it goes to /sendservicemessages/sendmessages'
  return faults.map((fault) =>
    fault.path === 'type' && right ? { ...fault, message: `${fault.message}; ${right}` } : fault,
  )
}

export type ServiceMessage = Address & { content: ServiceContent }

/** Reads the body of a service message. */
export function parseServiceMessage(
  body: unknown,
): { ok: true; kind: 'service'; message: ServiceMessage } | UnreadableSend {
  // Apart, so that a wrong `type` does not hide a wrong `to`.
  const envelope = envelopeSchema.safeParse(body)
  const content = serviceContentSchema.safeParse(body)
  if (envelope.success && content.success) {
    return { ok: true, kind: 'service', message: { content: content.data, ...addressOf(envelope.data) } }
  }
  const faults = withAddress(faultsOfBody(body, envelope.error, content.error), body)
  return { ok: false, faults, ...senderIn(body) }
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

const templateSendSchema = templateEnvelopeSchema.extend(templateMessageContent.shape)

/** Reads the body of a template message. */
export function parseTemplateMessage(
  body: unknown,
): { ok: true; kind: 'template'; message: TemplateMessage } | UnreadableSend {
  const sent = templateSendSchema.safeParse(body)
  if (!sent.success) {
    const content = templateMessageContent.safeParse(body)
    const faults = withAddress(faultsOfBody(body, sent.error), body)
    return { ok: false, faults, ...(content.success && { content: content.data }), ...senderIn(body) }
  }
  const { type, template, sender, campaign_id } = sent.data
  const ofCampaign = campaign_id !== undefined && { campaignId: campaign_id }
  const message = { content: { type, template }, ...ofCampaign, ...addressOf(sent.data), sender }
  return { ok: true, kind: 'template', message }
}

/** The two requests that send: a service message, of any kind but a template, and a template message. */
export type SendKind = 'service' | 'template'

/** Which of the two a body is that may be either. */
export const sendKindOf = (body: unknown): SendKind => (valueAt(body, ['type']) === 'template' ? 'template' : 'service')

/** Adds the two fields that have only one value, which our own address does not require. */
export const withOnlyValues = (body: Readonly<Record<string, unknown>>): Record<string, unknown> => ({
  ...{ recipient_type: 'individual', messaging_product: 'chatapp' },
  ...body,
})

/**
 * What becomes of a body with unknown fields: refused at our own addresses. At the older interface they are ignored, unless
 * one is a misspelling of a field that is known there: what somebody wished for must not get lost.
 */
export type UnknownFieldsRule = 'ignored' | 'refused'

/** A body whose shape is right. `ignored` are its unknown fields. */
export type ReadSend = Exclude<ReturnType<typeof parseServiceMessage | typeof parseTemplateMessage>, UnreadableSend> & {
  ignored: readonly UnknownField[]
}

const SERVICE_FIELDS = Object.keys(envelopeSchema.shape)
const TEMPLATE_FIELDS = Object.keys(templateEnvelopeSchema.shape)
/** Fields of a body beside its content. Only the older interface has the key in the body. */
const BESIDE = {
  service: { ignored: new Set([...SERVICE_FIELDS, 'api_key']), refused: new Set(SERVICE_FIELDS) },
  template: { ignored: new Set([...TEMPLATE_FIELDS, 'api_key']), refused: new Set(TEMPLATE_FIELDS) },
}

const keySchema = z.object({ api_key: z.string() })
const NAMES = {
  service: {
    ignored: allFieldNames(envelopeSchema, serviceContentSchema, keySchema),
    refused: allFieldNames(envelopeSchema, serviceContentSchema),
  },
  template: {
    ignored: allFieldNames(templateEnvelopeSchema, templateMessageContent, keySchema),
    refused: allFieldNames(templateEnvelopeSchema, templateMessageContent),
  },
}

/** Clients of the Cloud API write `"policy": "deterministic"` out of habit. There is no other, so dropping it loses no wish. */
const POLICY = 'template.language.policy'
const POLICY_STEPS = POLICY.split('.')

const withoutPolicy = (unknown: readonly UnknownField[], body: unknown): readonly UnknownField[] =>
  unknown.length === 0 || valueAt(body, POLICY_STEPS) !== ONLY_POLICY
    ? unknown
    : unknown.filter(({ path }) => path !== POLICY)

/** Reads the body of a send. With `refused`, unknown fields are faults; else they are named in `ignored`. */
export function readSend(kind: SendKind, body: unknown, unknown: UnknownFieldsRule): ReadSend | UnreadableSend {
  const read = parsed(kind, body)
  if (!read.ok) return unknown === 'refused' ? withAllTypes(read, body) : read
  const [names, elsewhere] = [NAMES[kind][unknown], BESIDE[kind][unknown]]
  if (unknown === 'refused') {
    const refused = withoutPolicy(refusedFields(body, read.message.content, names, elsewhere), body)
    return refused.length === 0 ? { ...read, ignored: refused } : withUnknown(read, refused)
  }
  return { ...read, ignored: withoutPolicy(unknownFields(body, read.message.content, names, { elsewhere }), body) }
}

const typeSchema = z.object({ type: z.enum(CONTENT_TYPES) })

/** The same, where the fault of the `type` names all that an address of our own takes: templates as well. */
function withAllTypes(read: UnreadableSend, body: unknown): UnreadableSend {
  const { error } = typeSchema.safeParse(body)
  const [ofType] = error === undefined ? [] : faultsOf(error, body)
  if (ofType?.path !== 'type') return read
  return { ...read, faults: read.faults.map((fault) => (fault.path === 'type' ? ofType : fault)) }
}

/** What a body is; null for a part of a template that may be left out is read as that. */
function parsed(kind: SendKind, body: unknown) {
  const parse = kind === 'service' ? parseServiceMessage : parseTemplateMessage
  const read = parse(body)
  const bare = read.ok ? undefined : withoutNulls(body, read.faults)
  if (read.ok || bare === undefined) return read
  const again = parse(bare)
  if (again.ok) return again
  // Of a field that must be there, it names what came.
  const said = new Map(read.faults.map((fault) => [fault.path, fault]))
  return { ...again, faults: again.faults.map((fault) => said.get(fault.path) ?? fault) }
}

/** A message that is refused for its unknown fields. */
export function withUnknown(
  { message: { content, sender } }: Pick<ReadSend, 'message'>,
  unknown: readonly UnknownField[],
): UnreadableSend {
  return {
    ok: false,
    faults: unknown.map(unknownFault),
    ...(content.type === 'template' && { content }),
    ...(sender !== undefined && { sender }),
  }
}
