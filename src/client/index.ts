// `import { connectLaneway } from 'laneway/client'`: everything that another service may use.

export type { ConnectOptions, Laneway, SendItem, SendOptions, SendResult, WaitOptions } from './connect.ts'
export { connectLaneway } from './connect.ts'
export { LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
export type { Message, ServiceMessage, TemplateMessage } from './messages.ts'
export type { MessageStatus } from './statuses.ts'
