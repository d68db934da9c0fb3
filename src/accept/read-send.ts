// The first half of accepting a message: what the request says by itself. Pure; what depends on the account or on the
// time is prepare-message.ts.
import type { TemplateMessageContent } from '../messages/content.ts'
import type { Fault } from '../messages/fault.ts'
import { parseServiceMessage, type ServiceMessage } from '../messages/service-message.ts'
import { parseTemplateMessage, type TemplateMessage } from '../messages/template-message.ts'

/** The two requests that send: a service message from the default sender, a template message from a named one. */
export type SendKind = 'service' | 'template'

/** A request whose shape is right. */
export type ReadSend = { kind: 'service'; message: ServiceMessage } | { kind: 'template'; message: TemplateMessage }

/** What is wrong with its shape; the content of a template comes along when it can be read in spite of that. */
export interface UnreadableSend {
  kind: 'unreadable'
  faults: readonly Fault[]
  template?: TemplateMessageContent
}

export function readSend(kind: SendKind, body: unknown): ReadSend | UnreadableSend {
  if (kind === 'service') {
    const parsed = parseServiceMessage(body)
    return parsed.ok ? { kind, message: parsed.message } : { kind: 'unreadable', faults: parsed.faults }
  }
  const parsed = parseTemplateMessage(body)
  if (parsed.ok) return { kind, message: parsed.message }
  return {
    kind: 'unreadable',
    faults: parsed.faults,
    ...(parsed.content === undefined ? {} : { template: parsed.content }),
  }
}
