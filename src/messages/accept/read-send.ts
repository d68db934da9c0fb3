// The first half of accepting a message: what the request says by itself. Pure; what depends on the account or on the
// time is prepare-message.ts.
import type { TemplateMessageContent } from '../content.ts'
import { type Fault, unknownFault, unknownFields } from '../fault.ts'
import {
  parseServiceMessage,
  parseTemplateMessage,
  type ServiceMessage,
  type TemplateMessage,
} from '../send-request.ts'

/** The two requests that send: a service message, of any kind but a template, and a template message. */
export type SendKind = 'service' | 'template'

/** What becomes of fields that nobody knows: the older interface ignores them, the addresses of our own refuse them. */
export type UnknownFieldsRule = 'ignored' | 'refused'

/** A request whose shape is right. `ignored` are the paths of the fields that were left out of it. */
export type ReadSend = { ignored: readonly string[] } & (
  | { kind: 'service'; message: ServiceMessage }
  | { kind: 'template'; message: TemplateMessage }
)

/** What is wrong with its shape; what can be read of it in spite of that comes along, to be judged in the same answer. */
export interface UnreadableSend {
  kind: 'unreadable'
  faults: readonly Fault[]
  template?: TemplateMessageContent
  sender?: string
}

const SERVICE_FIELDS = ['to', 'recipient_type', 'messaging_product', 'valid_until', 'send_at', 'sender']
const TEMPLATE_FIELDS = [...SERVICE_FIELDS, 'campaign_id']
/** Fields of a body beside its content. Only the older interface has the key in the body. */
const BESIDE = {
  service: { ignored: new Set([...SERVICE_FIELDS, 'api_key']), refused: new Set(SERVICE_FIELDS) },
  template: { ignored: new Set([...TEMPLATE_FIELDS, 'api_key']), refused: new Set(TEMPLATE_FIELDS) },
}

/**
 * Reads the body of a send. It is unreadable with every fault of its shape; with `refused`, unknown fields are faults
 * too.
 */
export function readSend(kind: SendKind, body: unknown, unknown: UnknownFieldsRule): ReadSend | UnreadableSend {
  const read = kind === 'service' ? readService(body) : readTemplate(body)
  if (read.kind === 'unreadable') return read
  read.ignored = unknownFields(body, read.message.content, BESIDE[kind][unknown])
  if (read.ignored.length === 0 || unknown === 'ignored') return read
  const { content, sender } = read.message
  return unreadable(read.ignored.map(unknownFault), content.type === 'template' ? content : undefined, sender)
}

function readService(body: unknown): ReadSend | UnreadableSend {
  const parsed = parseServiceMessage(body)
  return parsed.ok
    ? { kind: 'service', message: parsed.message, ignored: [] }
    : unreadable(parsed.faults, undefined, parsed.sender)
}

function readTemplate(body: unknown): ReadSend | UnreadableSend {
  const parsed = parseTemplateMessage(body)
  return parsed.ok
    ? { kind: 'template', message: parsed.message, ignored: [] }
    : unreadable(parsed.faults, parsed.content, parsed.sender)
}

const unreadable = (
  faults: readonly Fault[],
  template: TemplateMessageContent | undefined,
  sender: string | undefined,
): UnreadableSend => ({
  kind: 'unreadable',
  faults,
  ...(template === undefined ? {} : { template }),
  ...(sender === undefined ? {} : { sender }),
})
