// A template message as a client sends it. What its components must be, the approved template decides
// (match-template.ts).
import { textUpTo } from '../bounded.ts'
import { type TemplateMessageContent, templateMessageContent } from '../content.ts'
import { type Address, addressOf, envelopeSchema, faultsOfBody, senderIn, senderSchema } from '../envelope.ts'
import type { Fault } from '../fault.ts'
import { LIMITS } from '../limits.ts'

export type TemplateMessage = Address & {
  /** As in every address, but never left out: a template has no default sender. */
  sender: string
  /** The client's own label for a group of messages; it changes nothing about the message. */
  campaignId?: string
  content: TemplateMessageContent
}

/** Everything of a template message but its content. */
export const templateEnvelopeSchema = envelopeSchema.extend({
  sender: senderSchema,
  campaign_id: textUpTo(LIMITS.campaignId).optional(),
})

/**
 * Reads the body of a template message, or reports all faults of its shape together. The content and the sender come
 * with them where they are readable in spite of faults around them: the caller can add what it finds about these, and
 * the client learns all in one answer.
 */
export function parseTemplateMessage(
  body: unknown,
):
  | { ok: true; message: TemplateMessage }
  | { ok: false; faults: Fault[]; content?: TemplateMessageContent; sender?: string } {
  const envelope = templateEnvelopeSchema.safeParse(body)
  const content = templateMessageContent.safeParse(body)
  if (!envelope.success || !content.success) {
    const faults = faultsOfBody(body, envelope, content)
    return { ok: false, faults, ...(content.success && { content: content.data }), ...senderIn(body) }
  }
  const { sender, campaign_id } = envelope.data
  const ofCampaign = campaign_id !== undefined && { campaignId: campaign_id }
  return { ok: true, message: { content: content.data, ...ofCampaign, ...addressOf(envelope.data), sender } }
}
