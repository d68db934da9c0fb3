// `import { connectLaneway } from 'laneway-client'`: everything that another service may use.

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
export { LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
export type { EventHeaders } from './events.ts'
export { EventsRefused, isNews, verifyEvent } from './events.ts'
export type { Message, ServiceMessage, TemplateComponent, TemplateMessage, TemplateParameter } from './messages.ts'
export { everyEntry } from './operations.ts'
export type { Conversations, OptOuts, ReceivedFile } from './people.ts'
export type { MessageStatus } from './statuses.ts'
export type { WaitOptions } from './transport.ts'
export type {
  CampaignDefinition,
  CampaignDescription,
  CampaignEventData,
  CampaignPreflight,
  CampaignProgress,
  CampaignState,
  Conversation,
  ConversationMessage,
  LanewayEvent,
  MessageEventData,
  MessageState,
  Operations,
  OptOut,
  ReceivedEventData,
  ReceivedMessage,
  ReceivedParts,
  ServiceContent,
  TemplateContent,
} from './types.ts'
