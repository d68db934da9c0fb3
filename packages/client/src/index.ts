// `import { connectLaneway } from 'laneway-client'`: everything that another service may use.

export type { CampaignDefinition, CampaignDescription, CampaignPreflight, CampaignProgress } from './campaign.ts'
export type { Campaigns, CreateOptions } from './campaigns.ts'
export type {
  ConnectOptions,
  HttpOptions,
  Laneway,
  LanewayOverHttp,
  SendItem,
  SendOptions,
  SendResult,
} from './connect.ts'
export { connectLaneway } from './connect.ts'
export type { CampaignState, MessageState } from './contract.ts'
export type { Conversation, Conversations, ReceivedFile, ReceivedMessage } from './conversations.ts'
export { LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
export type {
  CampaignEventData,
  EventHeaders,
  LanewayEvent,
  MessageEventData,
  ReceivedEventData,
} from './events.ts'
export { EventsRefused, isNews, verifyEvents } from './events.ts'
export type { WaitOptions } from './lifetime.ts'
export type {
  Message,
  ServiceContent,
  ServiceMessage,
  TemplateComponent,
  TemplateContent,
  TemplateMessage,
  TemplateParameter,
} from './messages.ts'
export type { OptOut, OptOuts } from './opt-outs.ts'
export type { ReceivedParts } from './received-parts.ts'
export type { MessageStatus } from './statuses.ts'
