// `import { connectLaneway } from 'laneway/client'`: everything that another service may use.

export type { CampaignDescription } from '../campaigns/commands/campaign-document.ts'
export type { CampaignState } from '../campaigns/states.ts'
export type { CampaignDefinition, Campaigns, CreateOptions } from './campaigns.ts'
export type { ConnectOptions, Laneway, SendItem, SendOptions, SendResult } from './connect.ts'
export { connectLaneway } from './connect.ts'
export { LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
export type { Message, ServiceMessage, TemplateMessage } from './messages.ts'
export type { MessageStatus } from './statuses.ts'
export type { WaitOptions } from './wait-options.ts'
