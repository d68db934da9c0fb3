// The job `send`: one message on its lane. Until the message is claimed, the job is its record and holds all that a lookup
// shows. The producer writes it and the worker runs it; the job id is the message id.
import { z } from 'zod'
import { textUpTo } from '../kernel/bounded.ts'
import { isUserId } from '../kernel/recipient.ts'
import { isForeignSeal, openText, sealText } from '../kernel/sealed.ts'
import { marketingRouteSchema } from '../model/accounts/sender.ts'
import { contentSchema, messageClassSchema } from '../model/messages/content.ts'
import { LIMITS } from '../model/messages/limits.ts'
import { wordedText } from '../model/messages/text.ts'

export const SEND_JOB = 'send'

const payloadSchema = z.object({
  v: z.literal(1),
  /** Recipient: digits with country code, or a user id. */
  to: z.union([z.string().regex(/^\d{5,15}$/), z.string().refine(isUserId)]),
  class: messageClassSchema,
  content: contentSchema,
  /**
   * Of a template, from which with the content what the person reads is made; the whole text would repeat the content.
   */
  wording: z.object({ body: z.string(), named: z.literal(true).optional() }).optional(),
  /** Epoch ms: never sent later. */
  until: z.number().int().positive(),
  /** Epoch ms: never sent sooner. */
  sendAt: z.number().int().positive().optional(),
  /** Grouping id of the request. */
  campaign: textUpTo(LIMITS.campaignId).optional(),
  /** The client's own text on it. */
  reference: textUpTo(LIMITS.reference).optional(),
  /** Number of the campaign of ours that it belongs to; see src/model/campaigns/campaign-id.ts. */
  run: z.number().int().positive().optional(),
  /**
   * Of a campaign's message: what was filled in for this recipient. It stands for the text, see
   * recipients/campaign-content.ts.
   */
  filled: z.array(z.string()).optional(),
  /** The route of its campaign, which overrules that of the sender. */
  route: marketingRouteSchema.optional(),
  /** A person wished it sent although an earlier message to the recipient may have gone out: it is flagged. */
  again: z.literal(true).optional(),
  /** `traceparent` of the trace that it was accepted in. Whatever is wrong with it, the message is sent. */
  trace: z.string().optional().catch(undefined),
})
export type SendPayload = z.infer<typeof payloadSchema>

/** By hand: every job is checked, and a schema that finds nothing takes as long as the payload's own. */
const isSealed = (data: unknown): data is { sealed: string } =>
  typeof data === 'object' && data !== null && 'sealed' in data && typeof data.sealed === 'string'

/** The payload of a job, which may be sealed. One that no key opens is none. */
export const sendPayloadSchema = z
  .unknown()
  .transform((data, context): unknown => {
    if (!isSealed(data)) return data
    const { sealed, ...open } = data
    try {
      const closed: unknown = JSON.parse(openText(sealed))
      return Object.assign(open, closed)
    } catch {
      context.addIssue({ code: 'custom', message: 'cannot be opened', path: ['sealed'] })
      return z.NEVER
    }
  })
  .pipe(payloadSchema)

/** What a job holds: recipient and content are sealed where there is a data key, the rest is for the lane. */
export function storedPayload(payload: SendPayload): object {
  const { to, content, wording, filled, ...open } = payload
  const closed = JSON.stringify({ to, content, wording, filled })
  const sealed = sealText(closed)
  return sealed === closed ? payload : { ...open, sealed }
}

/** Whether the job is sealed under a key that this process does not have: it is another one's to run. */
export const isForeignPayload = (data: unknown): boolean => isSealed(data) && isForeignSeal(data.sealed)

/** What the person reads. */
export const textOfPayload = (payload: SendPayload): string => wordedText(payload.content, payload.wording)
