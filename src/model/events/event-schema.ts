// An event as a document, as it is pulled and as an endpoint gets it.
import { z } from 'zod'
import { CAMPAIGN_STATES } from '../campaigns/lifecycle.ts'
import { messageClassSchema } from '../messages/content.ts'
import { STATES, type State } from '../messages/lifecycle.ts'
import { pricingSchema } from '../messages/pricing.ts'
import { receivedPartsSchema } from '../messages/received.ts'
import { EVENT_TYPES, type EventType, TEST_TYPE } from './event-names.ts'

const time = z.iso.datetime()
const eventIdField = z.string().describe('The same at each delivery.')

const problem = z.strictObject({ code: z.string(), sentence: z.string() }).nullable()

/** Only with `include_content`. */
const content = { to: z.string().nullable().optional(), text: z.string().nullable().optional() }

export const messageEventData = z.strictObject({
  event_id: eventIdField,
  id: z.string(),
  seq: z.int().positive().describe('Rises with each change of the message; drop what is older than you know.'),
  state: z.enum(STATES),
  possible_duplicate: z.boolean(),
  class: messageClassSchema.nullable(),
  kind: z.string().nullable(),
  sender: z.string().nullable(),
  campaign_id: z.string().nullable(),
  reference: z.string().nullable().describe('The text of your own on it.'),
  campaign: z.string().nullable(),
  provider_id: z.string().nullable().describe('Null unless content is included: it holds the number.'),
  accepted_at: time,
  problem,
  pricing: pricingSchema
    .nullable()
    .optional()
    .describe(
      'Of `message.sent`, `.delivered` and `.read`: what WhatsApp said last of its price; null where it said nothing.',
    ),
  ...content,
})

export const receivedEventData = z.strictObject({
  event_id: eventIdField,
  id: z.string().describe('The id of WhatsApp.'),
  seq: z.literal([1, 2]).describe('2 once its file is in the gallery.'),
  kind: z.string(),
  sender: z.string().nullable(),
  received_at: time,
  from: z.string().optional(),
  text: z.string().optional(),
  ...receivedPartsSchema.shape,
})

export const campaignEventData = z.strictObject({
  event_id: eventIdField,
  id: z.string(),
  seq: z.int().positive(),
  state: z.enum(CAMPAIGN_STATES),
  sender: z.string().nullable(),
  reason: z.string().nullable(),
})

export const senderEventData = z.strictObject({
  event_id: eventIdField,
  lane: z.int().positive(),
  sender: z.string().nullable(),
  reason: z.string().nullable(),
})

export const endpointEventData = z.strictObject({
  event_id: eventIdField,
  id: z.string(),
  reason: z.string().nullable(),
})

export const noticeEventData = z.strictObject({
  event_id: eventIdField,
  id: z.string().describe('As `GET /admin/notices` lists it.'),
  field: z.string().describe('Field of WhatsApp’s webhook, such as `account_update`.'),
  event: z.string().nullable().describe('WhatsApp’s own word, such as `PAUSED`.'),
  sender: z.string().nullable().describe('The one number that it is about; null: the whole account.'),
  sentence: z.string(),
})

export const galleryEventData = z.strictObject({
  event_id: eventIdField,
  bytes: z.int().nonnegative().describe('Of all files of the gallery, those in the trash too.'),
  limit: z.int().positive().describe('`limit.gallery_bytes`.'),
})

const typesOf = (family: string) => EVENT_TYPES.filter((type) => type.startsWith(`${family}.`))

const event = <D extends z.ZodType>(types: readonly string[], data: D) =>
  z.strictObject({ type: z.enum(types), timestamp: time.describe('When it happened.'), data })

/** Any event. */
export const eventSchema = z
  .union([
    event(
      typesOf('message').filter((type) => type !== 'message.received' && type !== 'message.media_kept'),
      messageEventData,
    ),
    event(['message.received', 'message.media_kept'], receivedEventData),
    event(typesOf('campaign'), campaignEventData),
    event(typesOf('sender'), senderEventData),
    event(typesOf('provider'), noticeEventData),
    event(typesOf('gallery'), galleryEventData),
    event([...typesOf('endpoint'), TEST_TYPE], endpointEventData),
  ])
  .meta({ id: 'Event' })
export type EventDocument = z.infer<typeof eventSchema>

export { DEFAULT_TYPES, EVENT_TYPES, type EventType, TEST_TYPE } from './event-names.ts'

export const eventTypeSchema = z.enum(EVENT_TYPES)

/** The event of a message that has entered a state, as users see it; undefined for a passing state. */
export const typeOfState = (state: State): EventType | undefined =>
  state === 'queued' || state === 'sending' ? undefined : `message.${state}`
