// Types of what goes over the wire, taken from the schemas of the service. The package has none of those: its build writes
// each of these types out in full (scripts/build-client.mjs), so every line here is one type that names no other of them.
import type { z } from 'zod'
import type { campaignDocumentSchema } from '../../../src/campaigns/commands/campaign-document.ts'
import type { IntakeContract, intakeAnswers, intakeJobSchema, intakeRefusalSchema } from '../../../src/jobs/intake.ts'
import type { listedMessageSchema } from '../../../src/messages/lookup/message-schema.ts'
import type { definitionSchema } from '../../../src/model/campaigns/definition.ts'
import type { CAMPAIGN_STATES } from '../../../src/model/campaigns/lifecycle.ts'
import type {
  campaignEventData,
  endpointEventData,
  galleryEventData,
  messageEventData,
  noticeEventData,
  receivedEventData,
  senderEventData,
} from '../../../src/model/events/event-schema.ts'
import type { serviceContentSchema, templateMessageContent } from '../../../src/model/messages/content.ts'
import type { STATES } from '../../../src/model/messages/lifecycle.ts'
import type { receivedPartsSchema } from '../../../src/model/messages/received.ts'
import type { optOutSchema } from '../../../src/model/people/opt-out.ts'
import type { conversationSchema } from '../../../src/producer/api/conversations/routes.ts'
import type { OperationsOfTable } from './operation-types.ts'

export type MessageState = (typeof STATES)[number]
export type CampaignState = (typeof CAMPAIGN_STATES)[number]

/** Who gets which template from which sender. Rows of a file are uploaded over HTTP. */
export type CampaignDefinition = z.input<typeof definitionSchema>
/** A campaign at one moment. Times are ISO 8601. */
export type CampaignDescription = z.output<typeof campaignDocumentSchema>
/** What a preflight found. `seconds` is how long the lane needs for all recipients. */
export type CampaignPreflight = NonNullable<z.output<typeof campaignDocumentSchema>['preflight']>
/** How many recipients are in each state; they add up to `total`. */
export type CampaignProgress = z.output<typeof campaignDocumentSchema>['progress']

/** The content of a message that is not a template. */
export type ServiceContent = z.input<typeof serviceContentSchema>
/** An approved template, filled in. */
export type TemplateContent = z.input<typeof templateMessageContent>

/** That a person wants no advertising. `source` `word`: they wrote a stop word; `provider`: WhatsApp reported it. */
export type OptOut = z.output<typeof optOutSchema>
/** Whether a person may be written to. Times are ISO 8601; `open` is null where the provider does not report it. */
export type Conversation = z.output<typeof conversationSchema>
/** What a received message holds besides its words. A field is there only when the message has it. */
export type ReceivedParts = z.output<typeof receivedPartsSchema>
/** A message of a conversation, in either direction. */
export type ConversationMessage = z.output<typeof listedMessageSchema>
/** A message that somebody wrote to a sender. `accepted_at` is when it was written, ISO 8601. */
export type ReceivedMessage = Extract<z.output<typeof listedMessageSchema>, { direction: 'inbound' }>

/** Any event, as an endpoint gets it. A type that this release does not know has data of any shape. */
export type LanewayEvent = { timestamp: string } & (
  | {
      type:
        | 'message.sent'
        | 'message.delivered'
        | 'message.read'
        | 'message.failed'
        | 'message.expired'
        | 'message.cancelled'
        | 'message.unconfirmed'
        | 'message.unknown'
      data: z.output<typeof messageEventData>
    }
  | { type: 'message.received' | 'message.media_kept'; data: z.output<typeof receivedEventData> }
  | {
      type: 'campaign.started' | 'campaign.paused' | 'campaign.done' | 'campaign.cancelled'
      data: z.output<typeof campaignEventData>
    }
  | { type: 'sender.blocked' | 'sender.recovered'; data: z.output<typeof senderEventData> }
  | { type: 'provider.notice'; data: z.output<typeof noticeEventData> }
  | { type: 'gallery.full'; data: z.output<typeof galleryEventData> }
  | { type: 'endpoint.disabled' | 'endpoint.test'; data: z.output<typeof endpointEventData> }
)
/**
 * Data of a message. `seq` rises with each change of it: drop what is not above the highest that you know. `to`, `text` and
 * `provider_id` only for an endpoint that includes content.
 */
export type MessageEventData = z.output<typeof messageEventData>
/** Data of a received message, its `id` being WhatsApp’s. Its content only for an endpoint that includes content. */
export type ReceivedEventData = z.output<typeof receivedEventData>
/** Data of a campaign. */
export type CampaignEventData = z.output<typeof campaignEventData>

/** The jobs of the intake queue; docs/reference/jobs.md is the reference. */
export type IntakeJob = z.output<typeof intakeJobSchema>
/** What each job holds beside `v` and `api_key`. */
export type IntakeRequests = { [J in keyof IntakeContract]: Omit<z.input<IntakeContract[J]>, 'v' | 'api_key'> }
/** How each job that was done is answered. */
export type IntakeAnswers = {
  [J in keyof typeof intakeAnswers]: J extends 'campaign-show'
    ? z.output<typeof campaignDocumentSchema>
    : z.output<(typeof intakeAnswers)[J]>
}
/** Why a job, or a request, was refused: a code in snake case, a sentence, and every fault with the path of its field. */
export type Refusal = z.output<typeof intakeRefusalSchema>

/** Every operation of the HTTP interface: `messages.list({ state: 'failed' })` is `GET /messages?state=failed`. */
export type Operations = OperationsOfTable
