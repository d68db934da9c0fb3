// Reading the chat product's webhooks: signature, envelope, status and received messages. Items are read one by one,
// so that one that cannot be read never drops its neighbours; what is not about messages is skipped.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Problem } from '../messages/outcome.ts'
import { codeEntry } from '../messages/provider-codes.ts'
import type { Evidence } from '../messages/states.ts'

export interface StatusUpdate {
  /** The chat product's id of the message. */
  providerId: string
  /** What our request carried, if anything; see opaque-id.ts. */
  opaque: string | undefined
  status: Evidence
  /** Epoch ms. */
  atMs: number
  problem: Problem | undefined
}

export interface ReceivedMessage {
  phoneNumberId: string
  providerId: string
  /** Digits; empty when the person's number is not told. */
  from: string
  type: string
  text: string
  /** Epoch ms. */
  atMs: number
}

export interface WebhookContent {
  statuses: StatusUpdate[]
  received: ReceivedMessage[]
  /** Items that could not be read. */
  unreadable: number
}

/** Whether the signature is that of these raw bytes under the app's secret; never parse a body before this. */
export function isSigned(raw: Buffer, header: string | undefined, appSecret: string): boolean {
  const given = /^sha256=([0-9a-f]{64})$/.exec(header ?? '')?.[1]
  if (given === undefined) return false
  const expected = createHmac('sha256', appSecret).update(raw).digest()
  return timingSafeEqual(Buffer.from(given, 'hex'), expected)
}

/** Seconds as text; rarely milliseconds. */
const timestamp = z
  .union([z.string().regex(/^\d{1,15}$/), z.number().int().nonnegative()])
  .transform(Number)
  .transform((value) => (value > 1e11 ? value : value * 1_000))

const envelope = z.object({ entry: z.array(z.unknown()) })
const entry = z.object({ changes: z.array(z.unknown()) })
const change = z.object({
  field: z.literal('messages'),
  value: z.object({
    metadata: z.object({ phone_number_id: z.string() }),
    statuses: z.array(z.unknown()).default([]),
    messages: z.array(z.unknown()).default([]),
  }),
})

const statusItem = z.object({
  id: z.string().min(1),
  status: z.enum(['sent', 'delivered', 'read', 'failed', 'played']),
  timestamp,
  biz_opaque_callback_data: z.string().max(512).optional(),
  errors: z
    .array(
      z.object({
        code: z.number(),
        title: z.string().optional(),
        error_data: z.object({ details: z.string().optional() }).optional(),
      }),
    )
    .optional(),
})

const titled = z.object({ title: z.string() })
const captioned = z.object({ caption: z.string().optional() }).optional()
const messageItem = z.object({
  id: z.string().min(1).max(512),
  from: z.string().default(''),
  timestamp,
  type: z.string(),
  text: z.object({ body: z.string() }).optional(),
  button: z.object({ text: z.string() }).optional(),
  interactive: z.object({ button_reply: titled.optional(), list_reply: titled.optional() }).optional(),
  image: captioned,
  video: captioned,
  document: captioned,
})

/** Everything about messages in a webhook, or undefined when the body is no webhook at all. */
export function readWebhook(body: unknown): WebhookContent | undefined {
  const outer = envelope.safeParse(body)
  if (!outer.success) return undefined
  const content: WebhookContent = { statuses: [], received: [], unreadable: 0 }
  for (const rawEntry of outer.data.entry) {
    for (const rawChange of entry.safeParse(rawEntry).data?.changes ?? []) readChange(rawChange, content)
  }
  return content
}

function readChange(raw: unknown, content: WebhookContent): void {
  const parsed = change.safeParse(raw)
  if (!parsed.success) return
  const { metadata, statuses, messages } = parsed.data.value
  for (const rawStatus of statuses) {
    const item = statusItem.safeParse(rawStatus)
    if (item.success) content.statuses.push(toUpdate(item.data))
    else content.unreadable += 1
  }
  for (const rawMessage of messages) {
    const item = messageItem.safeParse(rawMessage)
    if (item.success) content.received.push(toReceived(metadata.phone_number_id, item.data))
    else content.unreadable += 1
  }
}

function toUpdate(item: z.infer<typeof statusItem>): StatusUpdate {
  return {
    providerId: item.id,
    opaque: item.biz_opaque_callback_data,
    // A voice message that was played was read.
    status: item.status === 'played' ? 'read' : item.status,
    atMs: item.timestamp,
    problem: item.status === 'failed' ? problemOf(item.errors?.[0]) : undefined,
  }
}

function problemOf(error: NonNullable<z.infer<typeof statusItem>['errors']>[number] | undefined): Problem {
  if (!error) return { code: 'failed', sentence: 'The chat product reports that it failed and gives no reason.' }
  const details = error.error_data?.details ?? error.title
  const sentence = `The chat product reports that ${codeEntry(error.code).means} (code ${error.code})`
  return { code: String(error.code), sentence: details ? `${sentence}: ${details.slice(0, 200)}` : sentence }
}

function toReceived(phoneNumberId: string, item: z.infer<typeof messageItem>): ReceivedMessage {
  const { text, button, interactive, image, video, document } = item
  return {
    phoneNumberId,
    providerId: item.id,
    from: item.from.replace(/\D/g, ''),
    type: item.type,
    text:
      text?.body ??
      button?.text ??
      interactive?.button_reply?.title ??
      interactive?.list_reply?.title ??
      (image ?? video ?? document)?.caption ??
      '',
    atMs: item.timestamp,
  }
}
