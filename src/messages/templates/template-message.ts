// A template message as a client sends it. What its components must be, the approved template decides
// (match-template.ts).
import { filledTextUpTo, textUpTo } from '../bounded-text.ts'
import { type TemplateMessageContent, templateMessageContent } from '../content.ts'
import { type Address, addressOf, envelopeSchema, faultsOfBody } from '../envelope.ts'
import { type Fault, valueAt } from '../fault.ts'
import { LIMITS } from '../limits.ts'

export type TemplateMessage = Address & {
  /**
   * The sender as named in the request: a number in any spelling, or a name. Whether the account has it, the caller
   * knows.
   */
  sender: string
  /** The client's own label for a group of messages; it changes nothing about the message. */
  campaignId?: string
  content: TemplateMessageContent
}

const senderSchema = filledTextUpTo(LIMITS.sender)

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
    const sender = senderSchema.safeParse(valueAt(body, ['sender']))
    return {
      ok: false,
      faults,
      ...(content.success && { content: content.data }),
      ...(sender.success && { sender: sender.data }),
    }
  }
  const { sender, campaign_id } = envelope.data
  const ofCampaign = campaign_id !== undefined && { campaignId: campaign_id }
  return { ok: true, message: { sender, content: content.data, ...ofCampaign, ...addressOf(envelope.data) } }
}
