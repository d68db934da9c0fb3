// `POST /_inbound`: a person writes to a business number; the message is delivered by signed webhook.

import { z } from 'zod'
import type { ChatProduct } from './chat-product.ts'
import { contentOf, INBOUND_TYPES } from './inbound-content.ts'
import { digitsOf } from './message-schema.ts'
import { inboundId } from './wamid.ts'

/** Body of `POST /_inbound`. */
export const inboundSchema = z
  .strictObject({
    sender: z.string().regex(/^\d{1,20}$/, 'must be a phone number id (digits)'),
    from: z
      .string()
      .transform(digitsOf)
      .pipe(z.string().regex(/^\d{7,15}$/, 'must be a phone number with country code'))
      .optional(),
    /** Of a person who may show no number. */
    user_id: z
      .string()
      .regex(/^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/, 'must be a user id such as US.13491208655302741918')
      .optional(),
    /** Of the person's profile. */
    name: z.string().min(1).max(100).optional(),
    text: z.string().max(4096).default('Hello'),
    type: z.enum(INBOUND_TYPES).default('text'),
    /** The message that is answered, reacted to, edited or deleted. */
    message_id: z.string().min(1).max(512).optional(),
    /** What was chosen, of the types `button_reply`, `list_reply` and `button`. */
    reply_id: z.string().min(1).max(256).optional(),
    /** The person came by an advertisement. */
    referral: z.literal(true).optional(),
    /** Fields of the message as they are, instead of what the type makes up. */
    content: z.record(z.string(), z.unknown()).optional(),
    /** How often the webhook comes. */
    times: z.int().min(1).max(10).default(1),
  })
  .refine(({ from, user_id }) => (from ?? user_id) !== undefined, {
    error: 'is required without user_id',
    path: ['from'],
  })

type Inbound = z.infer<typeof inboundSchema>

/**
 * Delivers an inbound message and returns once its webhook was answered. When that answer is not 200 the webhook is
 * repeated in the background like any other, so `delivered: false` may become true later under the same id.
 */
export async function receive(product: ChatProduct, body: Inbound): Promise<{ id: string; delivered: boolean }> {
  const { sender, from, user_id: userId, name, text, type, times } = body
  const id = inboundId(from ?? '0')
  const now = Date.now()
  product.limits.noteInbound(sender, from ?? userId ?? '', now)
  product.receipts.received(id, sender)
  product.infos.set(id, { direction: 'inbound', from: from ?? '', text, type, atMs: now })
  const content = { ...contentOf(body, (file) => product.media.add(file)), ...body.content }
  const inbound = { id, sender, from, userId, name, receivedMs: now, content }
  const wabaId = product.physics.of(sender)?.plan.waba_id
  let delivered = false
  for (let time = 0; time < times; time += 1) delivered = await product.webhooks.deliver([{ inbound, wabaId }])
  return { id, delivered }
}
