// A template message as a client sends it. What its components must be, the approved template decides (match-template.ts).
import { z } from 'zod'
import { textUpTo } from './bounded-text.ts'
import { type TemplateMessageContent, templateMessageContent } from './content.ts'
import { type Address, addressOf, envelopeSchema, faultsOfBody } from './envelope.ts'
import type { Fault } from './fault.ts'
import { LIMITS } from './limits.ts'

export type TemplateMessage = Address & {
  /** The sender as named in the request: a number in any spelling, or a name. Whether the account has it, the caller knows. */
  sender: string
  /** The client's own label for a group of messages; it changes nothing about the message. */
  campaignId?: string
  content: TemplateMessageContent
}

const templateEnvelopeSchema = envelopeSchema.extend({
  sender: z.string().min(1),
  campaign_id: textUpTo(LIMITS.campaignId).optional(),
})

/**
 * Reads the body of a template message, or tells every fault of its shape at once. When the content is readable in
 * spite of faults around it, it comes with them: the caller can add what the matcher finds, and the sender learns all in one answer.
 */
export function parseTemplateMessage(
  body: unknown,
): { ok: true; message: TemplateMessage } | { ok: false; faults: Fault[]; content?: TemplateMessageContent } {
  const envelope = templateEnvelopeSchema.safeParse(body)
  const content = templateMessageContent.safeParse(body)
  if (!envelope.success || !content.success) {
    const faults = faultsOfBody(body, envelope, content)
    return { ok: false, faults, ...(content.success && { content: content.data }) }
  }
  const { sender, campaign_id } = envelope.data
  const message = { ...addressOf(envelope.data), sender, content: content.data }
  return { ok: true, message: campaign_id === undefined ? message : { ...message, campaignId: campaign_id } }
}
