// The schema of a message document, the same over HTTP and on the command line. message-document.ts fills it in.
import { z } from 'zod'
import { LANE_WAIT_REASONS } from '../../model/lanes/lane-status.ts'
import { CONTENT_TYPES, messageClassSchema } from '../../model/messages/content.ts'
import { STATES } from '../../model/messages/lifecycle.ts'
import { pricingSchema } from '../../model/messages/pricing.ts'
import { receivedPartsSchema } from '../../model/messages/received.ts'
import { RULE_WAIT_REASONS } from '../../model/portfolio.ts'

/** Why a message that is queued may wait; waits.ts finds out. */
export const WAIT_REASONS = [
  ...LANE_WAIT_REASONS,
  ...RULE_WAIT_REASONS,
  'file_upload',
  'recipient_cooldown',
  'send_at',
  'pace',
] as const

const time = z.iso.datetime()

const historyEventSchema = z.strictObject({
  at: time,
  event: z.string(),
  attempt: z.string().nullable().describe('The attempt that began with it.'),
  detail: z.string().nullable().describe('A code or a reason.'),
})
historyEventSchema.register(z.globalRegistry, { id: 'MessageEvent' })

const shared = {
  id: z.string(),
  possible_duplicate: z.boolean(),
  /** Digits of the sender; null when it is gone. */
  sender: z.string().nullable(),
  text: z.string(),
  provider_id: z.string().nullable(),
  accepted_at: time,
  history: z.array(historyEventSchema),
}

/** A message that was accepted to be sent. */
export const sentMessageSchema = z.strictObject({
  ...shared,
  direction: z.literal('outbound'),
  state: z.enum(STATES),
  class: messageClassSchema,
  kind: z.enum(CONTENT_TYPES),
  to: z.string(),
  campaign_id: z.string().nullable().describe('The grouping text of its request.'),
  reference: z.string().nullable().describe('The text of your own that its request had.'),
  campaign: z.string().nullable().describe('Id of the campaign that it belongs to.'),
  send_at: time.nullable().describe('Not sent before; null when it was not put off.'),
  valid_until: time,
  problem: z
    .strictObject({
      code: z.string(),
      sentence: z.string(),
      capped_until: time.optional().describe('Until when the person gets no marketing.'),
    })
    .nullable(),
  pricing: pricingSchema.nullable().describe('What WhatsApp said last of its price; null where it said nothing.'),
  message_status: z
    .string()
    .optional()
    .describe('How WhatsApp called its state when it took it, where we do not know the word.'),
  held_since: time.optional().describe('Since when WhatsApp holds it back to see how people like the template.'),
  waits: z.strictObject({ why: z.enum(WAIT_REASONS), until: time.nullable(), sentence: z.string() }).nullable(),
})
sentMessageSchema.register(z.globalRegistry, { id: 'SentMessage' })
export type SentMessage = z.infer<typeof sentMessageSchema>

/** A message that was received. */
const receivedMessageSchema = z.strictObject({
  ...shared,
  direction: z.literal('inbound'),
  state: z.literal('delivered'),
  possible_duplicate: z.literal(false),
  class: z.null(),
  kind: z.string().describe('WhatsApp’s own word; `unsupported` for one that is not known.'),
  from: z.string().describe('Digits of the person who wrote, or the user id where there is no number.'),
  ...receivedPartsSchema.shape,
  campaign_id: z.null(),
  reference: z.null(),
  campaign: z.null(),
  send_at: z.null(),
  valid_until: z.null(),
  problem: z.null(),
  waits: z.null(),
})
receivedMessageSchema.register(z.globalRegistry, { id: 'ReceivedMessage' })
export type ReceivedMessage = z.infer<typeof receivedMessageSchema>

/** A message of either direction. */
export const messageSchema = z
  .discriminatedUnion('direction', [sentMessageSchema, receivedMessageSchema])
  .meta({ id: 'Message' })

/** A message that was accepted to be sent, as lists have it. */
export const listedSentSchema = sentMessageSchema.omit({ waits: true, history: true })

/** A message as lists have it: what takes more to find out is only on a single one. */
export const listedMessageSchema = z.discriminatedUnion('direction', [
  listedSentSchema,
  receivedMessageSchema.omit({ waits: true, history: true }),
])
export type ListedMessage = z.infer<typeof listedMessageSchema>

/** The delivery status of a message, as every lookup shows it. */
export const deliverySchema = z.strictObject({
  status: z.enum(STATES),
  error_message: z.string().nullable().describe('A sentence where something went wrong or is not proven, else null.'),
})
deliverySchema.register(z.globalRegistry, { id: 'MessageDelivery' })
export type Delivery = z.infer<typeof deliverySchema>
