// `POST /_inbound`: a person writes to a business number; the message is delivered by signed webhook.

import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { ChatProduct } from './chat-product.ts'
import { digitsOf } from './message-schema.ts'
import { inboundId } from './wamid.ts'

const MIME = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  document: 'application/pdf',
  sticker: 'image/webp',
} as const

/** Body of `POST /_inbound`. */
export const inboundSchema = z.strictObject({
  sender: z.string().regex(/^\d{1,20}$/, 'must be a phone number id (digits)'),
  from: z
    .string()
    .transform(digitsOf)
    .pipe(z.string().regex(/^\d{7,15}$/, 'must be a phone number with country code')),
  text: z.string().max(4096).default('Hello'),
  type: z.enum(['text', 'image', 'video', 'audio', 'document', 'sticker', 'button']).default('text'),
})

type Inbound = z.infer<typeof inboundSchema>

/**
 * Delivers an inbound message and returns once its webhook was answered. When that answer is not 200 the webhook is
 * repeated in the background like any other, so `delivered: false` may become true later under the same id.
 */
export async function receive(product: ChatProduct, body: Inbound): Promise<{ id: string; delivered: boolean }> {
  const { sender, from, text, type } = body
  const id = inboundId(from)
  const now = Date.now()
  product.limits.noteInbound(sender, from, now)
  product.infos.set(id, { direction: 'inbound', from, text, type, atMs: now })
  const inbound = { id, sender, from, receivedMs: now, type, content: contentOf(body) }
  return { id, delivered: await product.webhooks.deliver([{ inbound }]) }
}

/** The node named like the type; media are made up, only their caption is the given text. */
function contentOf({ type, text }: Inbound): Record<string, unknown> {
  if (type === 'text') return { text: { body: text } }
  if (type === 'button') return { button: { text, payload: text } }
  const mediaId = String(1_000_000_000_000_000 + randomBytes(6).readUIntBE(0, 6))
  const medium = { id: mediaId, mime_type: MIME[type], sha256: randomBytes(32).toString('base64') }
  if (type === 'audio') return { audio: { ...medium, voice: true } }
  if (type === 'sticker') return { sticker: { ...medium, animated: false } }
  return { [type]: { ...medium, caption: text, ...(type === 'document' ? { filename: 'document.pdf' } : {}) } }
}
