// Reading WhatsApp's webhooks: signature, envelope, status and received messages. Items are read one by one,
// so that one that cannot be read never drops its neighbours; what is not about messages is skipped.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Evidence } from '../messages/lifecycle.ts'
import type { Problem } from '../messages/outcome.ts'
import { codeEntry } from '../messages/provider-codes.ts'
import type { ReceivedParts } from '../messages/received.ts'
import { isProviderId } from './answer-body.ts'
import { contentOf, isMessage, type MessageItem, messageItem, personItem } from './cloud-received.ts'

/** That a person stops or resumes the advertising of one of our numbers. */
export interface Preference {
  phoneNumberId: string
  /** Digits, the user id, or both. */
  people: string[]
  intent: 'stop' | 'resume'
  /** Epoch ms; undefined where WhatsApp says nothing that is a time. */
  atMs: number | undefined
}

/**
 * When something happened, as webhooks write it: seconds as text or as a number, rarely milliseconds. Read as epoch ms.
 */
const webhookTime = z
  .union([z.string().regex(/^\d{1,15}$/), z.number().int().nonnegative()])
  .transform(Number)
  .transform((value) => (value > 1e11 ? value : value * 1_000))

const name = z.string().max(200).optional().catch(undefined)

/** The list of a change. */
const preferenceList = z.object({
  metadata: z.object({ phone_number_id: z.union([z.string(), z.number().transform(String)]) }),
  user_preferences: z.array(z.unknown()),
})

const item = z.object({
  wa_id: name,
  user_id: name,
  category: z.string(),
  value: z.enum(['stop', 'resume']),
  timestamp: webhookTime.optional().catch(undefined),
})

/** One item of it; `other` for a preference about something else than advertising, undefined for what cannot be read. */
function readPreference(phoneNumberId: string, raw: unknown): Preference | 'other' | undefined {
  const { data } = item.safeParse(raw)
  if (data === undefined) return undefined
  if (data.category !== 'marketing_messages') return 'other'
  const people = [data.wa_id?.replace(/\D/g, ''), data.user_id].flatMap((each) => (each ? [each] : []))
  return people.length === 0 ? undefined : { phoneNumberId, people, intent: data.value, atMs: data.timestamp }
}

/** What a webhook says about a message that we sent. */
export interface StatusUpdate {
  /** WhatsApp's id of the message. */
  providerId: string
  /** What our request carried, if anything; see cloud-api.ts. */
  opaque: string | undefined
  status: Evidence
  /** Epoch ms; undefined where WhatsApp says nothing that is a time. */
  atMs: number | undefined
  problem: Problem | undefined
}

/** A message that a person sent to one of our numbers. */
export interface ReceivedMessage {
  phoneNumberId: string
  providerId: string
  /** Digits, or the person's user id where WhatsApp does not give the number. */
  from: string
  /** WhatsApp's own word; `unsupported` for one that is not known. */
  type: string
  text: string
  parts: ReceivedParts
  /** Epoch ms; undefined where WhatsApp says nothing that is a time. */
  atMs: number | undefined
}

/** What one webhook request holds, each kind in the order of its items. */
export interface WebhookContent {
  statuses: StatusUpdate[]
  received: ReceivedMessage[]
  preferences: Preference[]
  /** Items that could not be read. */
  unreadable: number
  /** Names of the fields that are none of ours, such as `message_echoes`; few and short. */
  otherFields: Set<string>
}

const SIGNATURE = /^sha256=([0-9a-f]{64})$/

/** Whether a header looks like a signature, whatever of. */
export const isSignature = (header: unknown): boolean => typeof header === 'string' && SIGNATURE.test(header)

/** Whether the signature is that of these raw bytes under the app's secret; never parse a body before this. */
export function isSigned(raw: Buffer, header: string | undefined, appSecret: string): boolean {
  const given = SIGNATURE.exec(header ?? '')?.[1]
  if (given === undefined) return false
  const expected = createHmac('sha256', appSecret).update(raw).digest()
  return timingSafeEqual(Buffer.from(given, 'hex'), expected)
}

const envelope = z.object({ entry: z.array(z.unknown()) })
const entry = z.object({ changes: z.array(z.unknown()) })
/** Some who forward webhooks leave the field out. */
const change = z.object({ field: z.enum(['messages', 'user_preferences']).nullish(), value: z.unknown() })
/** Each list stands for itself: what is wrong with one must not drop the other. */
const statusList = z.object({ statuses: z.array(z.unknown()).default([]) })
const messageList = z.object({
  metadata: z.object({ phone_number_id: z.union([z.string(), z.number().transform(String)]) }),
  messages: z.array(z.unknown()),
  contacts: z.array(z.unknown()).catch([]),
})
/** People of one change that are looked at: there is one per message at most. */
const PEOPLE_MAX = 1_000

/** More of them in one webhook tell nobody more. */
const OTHER_FIELDS_MAX = 20
const named = z.object({ field: z.string().regex(/^[a-z_]{1,64}$/) })
const otherField = (raw: unknown): string => named.safeParse(raw).data?.field ?? 'unreadable'

/** A part that an item can do without: an odd one must not make the whole item unreadable. */
const spare = <S extends z.ZodType>(schema: S) => schema.optional().catch(undefined)

const reportedError = z.object({
  // Some who forward webhooks write figures as text.
  code: z.union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
  title: spare(z.string()),
  error_data: spare(z.object({ details: z.string().optional() })),
})

const statusItem = z.object({
  id: z.string().refine(isProviderId),
  status: z.enum(['sent', 'delivered', 'read', 'failed', 'played']),
  // What became of a message is worth more than when: without a time it is taken for now.
  timestamp: spare(webhookTime),
  biz_opaque_callback_data: spare(z.string().max(512)),
  // Only the first is looked at: there is never another, and a list of 100,000 odd ones takes seconds to refuse.
  errors: spare(z.array(z.unknown()).transform(([first]) => reportedError.safeParse(first).data)),
})

/** Items that are read in one event-loop tick: 100 that cannot be read take 1 ms. */
const ITEMS_A_TURN = 200

/**
 * Everything about messages in a webhook, or undefined when the body is no webhook at all. A body of 4 MB can hold ten
 * thousands of items, so others get a turn in between.
 */
export async function readWebhook(body: unknown): Promise<WebhookContent | undefined> {
  const outer = envelope.safeParse(body)
  if (!outer.success) return undefined
  const content: WebhookContent = { statuses: [], received: [], preferences: [], unreadable: 0, otherFields: new Set() }
  let items = 0
  for (const readItem of readersOf(outer.data.entry, content)) {
    readItem?.()
    items += 1
    if (items % ITEMS_A_TURN === 0) await nextTurn()
  }
  return content
}

/** How to read each item into `content`; undefined for a step without an item. */
function* readersOf(entries: readonly unknown[], content: WebhookContent): Generator<(() => void) | undefined> {
  for (const rawEntry of entries) {
    yield undefined
    const parsed = entry.safeParse(rawEntry)
    if (!parsed.success) content.unreadable += 1
    for (const rawChange of parsed.data?.changes ?? []) {
      yield undefined
      const { data } = change.safeParse(rawChange)
      if (data) yield* readersOfChange(data.value, content)
      // What is about something else than messages is none of ours.
      else if (content.otherFields.size < OTHER_FIELDS_MAX) content.otherFields.add(otherField(rawChange))
    }
  }
}

function* readersOfChange(value: unknown, content: WebhookContent): Generator<() => void> {
  const read = statusList.safeParse(value)
  if (!read.success) content.unreadable += 1
  for (const rawStatus of read.data?.statuses ?? []) {
    yield () => {
      const item = statusItem.safeParse(rawStatus)
      if (item.success) content.statuses.push(toUpdate(item.data))
      else content.unreadable += 1
    }
  }
  if (typeof value !== 'object' || value === null) return
  if ('user_preferences' in value) yield* readersOfPreferences(value, content)
  if (!('messages' in value)) return
  const received = messageList.safeParse(value)
  if (!received.success) {
    content.unreadable += 1
    return
  }
  const { metadata, messages, contacts } = received.data
  const people = contacts.slice(0, PEOPLE_MAX).flatMap((each) => personItem.safeParse(each).data ?? [])
  for (const rawMessage of messages) {
    yield () => {
      const item = messageItem.safeParse(rawMessage)
      if (item.success && isMessage(item.data))
        content.received.push(toReceived(metadata.phone_number_id, item.data, people))
      else content.unreadable += 1
    }
  }
}

function* readersOfPreferences(value: object, content: WebhookContent): Generator<() => void> {
  const read = preferenceList.safeParse(value)
  if (!read.success) content.unreadable += 1
  for (const raw of read.data?.user_preferences ?? []) {
    yield () => {
      const found = readPreference(read.data?.metadata.phone_number_id ?? '', raw)
      if (found === undefined) content.unreadable += 1
      else if (found !== 'other') content.preferences.push(found)
    }
  }
}

function toUpdate(item: z.infer<typeof statusItem>): StatusUpdate {
  return {
    providerId: item.id,
    opaque: item.biz_opaque_callback_data,
    // A voice message that was played was read.
    status: item.status === 'played' ? 'read' : item.status,
    atMs: item.timestamp,
    problem: item.status === 'failed' ? problemOf(item.errors) : undefined,
  }
}

function problemOf(error: z.infer<typeof reportedError> | undefined): Problem {
  if (!error) return { code: 'failed', sentence: 'WhatsApp reports that it failed and gives no reason.' }
  const details = error.error_data?.details ?? error.title
  const sentence = `WhatsApp reports: ${codeEntry(error.code).means} (code ${error.code})`
  return { code: String(error.code), sentence: details ? `${sentence}: ${details.slice(0, 200)}` : sentence }
}

function toReceived(
  phoneNumberId: string,
  item: MessageItem,
  people: Parameters<typeof contentOf>[1],
): ReceivedMessage {
  const { id: providerId } = item
  return { phoneNumberId, providerId, ...contentOf(item, people), atMs: webhookTime.safeParse(item.timestamp).data }
}
