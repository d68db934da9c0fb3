// The body and the signature of a webhook as WhatsApp sends it: one POST with up to a thousand changes,
// grouped by business number, signed over the bytes that are sent.

import { createHmac } from 'node:crypto'
import { chatError } from './chat-errors.ts'
import type { PricedAs } from './submission.ts'
import type { StatusUpdate } from './timeline.ts'

/** What the updates of one accepted message have in common; shared by all of them, so that a million stay small. */
export interface TrackedMessage {
  id: string
  /** Phone number id of the sender. */
  sender: string
  to: string
  opaque: string | null
  category: PricedAs
  /** No status `delivered` comes, so that `read` carries its price. */
  skipsDelivered?: boolean
}

/** A message that a person sent to a business number, with the fields that depend on its type. */
export interface InboundMessage {
  id: string
  /** Phone number id it was sent to. */
  sender: string
  /** Digits; a person who shows no number has only a user id. */
  from: string | undefined
  userId: string | undefined
  /** Of the person's profile. */
  name: string | undefined
  /** Epoch ms. */
  receivedMs: number
  /** Type, node, and what it answers. */
  content: Record<string, unknown>
}

/** A change that is about no message: of an account, a number or a template, or clicks of people. */
export interface AccountUpdate {
  field: string
  value: Record<string, unknown>
  /** Epoch ms. */
  atMs: number
}

/**
 * One change in a webhook; without an account at WhatsApp it is of the one that owns every number. `answered` is called
 * with the time (epoch ms) at which it was answered with 200.
 */
export type Change = (
  | { message: TrackedMessage; update: StatusUpdate }
  | { inbound: InboundMessage }
  | { accountUpdate: AccountUpdate }
) & { wabaId?: string | undefined; answered?: ((atMs: number) => void) | undefined }

/** Stands for the business account that owns every number. */
const BUSINESS_ACCOUNT_ID = '100000000000001'

/** The bytes to post. Characters outside ASCII are escaped, as WhatsApp does: only the raw bytes verify. */
export function webhookBody(changes: readonly Change[], displayNumberOf: DisplayNumberOf): Buffer {
  const byAccount = new Map<string, Change[]>()
  for (const change of changes) {
    const { wabaId = BUSINESS_ACCOUNT_ID } = change
    const known = byAccount.get(wabaId)
    if (known === undefined) byAccount.set(wabaId, [change])
    else known.push(change)
  }
  const entry = [...byAccount].flatMap(([id, all]) => {
    const about = messageFields(all, displayNumberOf)
    return [
      ...(about.length === 0 ? [] : [{ id, changes: about }]),
      ...all.flatMap((change) => accountUpdateEntry(id, change)),
    ]
  })
  const body = { object: 'whatsapp_business_account', entry }
  return Buffer.from(JSON.stringify(body).replace(/[\u0080-\uffff]/g, escaped))
}

/** Of each number its messages and statuses. */
function messageFields(
  changes: readonly Change[],
  displayNumberOf: DisplayNumberOf,
): { field: string; value: unknown }[] {
  const bySender = new Map<string, { statuses: unknown[]; contacts: unknown[]; messages: unknown[] }>()
  for (const change of changes) {
    if ('accountUpdate' in change) continue
    const sender = 'inbound' in change ? change.inbound.sender : change.message.sender
    let value = bySender.get(sender)
    if (value === undefined) {
      value = { statuses: [], contacts: [], messages: [] }
      bySender.set(sender, value)
    }
    if ('inbound' in change) {
      const { from, userId, name = 'Simulated Person' } = change.inbound
      value.contacts.push({ profile: { name }, ...idsOf({ wa_id: from, user_id: userId }) })
      value.messages.push(inboundOf(change.inbound))
    } else {
      value.statuses.push(statusOf(change.message, change.update))
    }
  }
  return [...bySender].flatMap(([sender, { statuses, contacts, messages }]) => {
    const head = { messaging_product: 'whatsapp', metadata: metadataOf(sender, displayNumberOf) }
    return [
      ...(statuses.length > 0 ? [{ field: 'messages', value: { ...head, statuses } }] : []),
      ...(messages.length > 0 ? [{ field: 'messages', value: { ...head, contacts, messages } }] : []),
    ]
  })
}

/** Each with an entry of its own, whose time is the only one. */
function accountUpdateEntry(id: string, change: Change): object[] {
  if (!('accountUpdate' in change)) return []
  const { field, value, atMs } = change.accountUpdate
  return [{ id, time: Math.floor(atMs / 1000), changes: [{ field, value }] }]
}

/** Value of `X-Hub-Signature-256`. */
export function signatureOf(body: Buffer, appSecret: string): string {
  return `sha256=${createHmac('sha256', appSecret).update(body).digest('hex')}`
}

function statusOf(message: TrackedMessage, update: StatusUpdate): Record<string, unknown> {
  return {
    id: message.id,
    status: update.status,
    timestamp: seconds(update.happenedMs),
    recipient_id: message.to,
    ...(message.opaque === null ? {} : { biz_opaque_callback_data: message.opaque }),
    ...(isPriced(message, update) && {
      pricing: { billable: true, pricing_model: 'PMP', type: 'regular', category: message.category },
    }),
    ...(update.code === undefined ? {} : { errors: [webhookError(update.code)] }),
  }
}

/** WhatsApp reports the price when a message was sent, and once more when it has arrived. */
const isPriced = ({ skipsDelivered = false }: TrackedMessage, { status }: StatusUpdate): boolean =>
  status === 'sent' || status === 'delivered' || (status === 'read' && skipsDelivered)

function webhookError(code: NonNullable<StatusUpdate['code']>): Record<string, unknown> {
  const { title, details } = chatError(code)
  return { code, title, message: title, error_data: { details } }
}

function inboundOf(inbound: InboundMessage): Record<string, unknown> {
  const { from, userId, id, receivedMs, content } = inbound
  return { ...idsOf({ from, from_user_id: userId }), id, timestamp: seconds(receivedMs), ...content }
}

/** Only those that are known. */
const idsOf = (ids: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(ids).flatMap(([name, id]) => (id === undefined ? [] : [[name, id]])))

/** The number, as digits, of a phone number id. */
export type DisplayNumberOf = (phoneNumberId: string) => string

/** Knows the numbers of these ids, and makes up one for any other id, which differs from id to id. */
export const displayNumbers =
  (known: ReadonlyMap<string, string>): DisplayNumberOf =>
  (phoneNumberId) =>
    known.get(phoneNumberId) ?? `1555${phoneNumberId.slice(-7).padStart(7, '0')}`

/** How a webhook names a business number. */
export function metadataOf(phoneNumberId: string, displayNumberOf: DisplayNumberOf): Record<string, string> {
  return { display_phone_number: displayNumberOf(phoneNumberId), phone_number_id: phoneNumberId }
}

function seconds(epochMs: number): string {
  return String(Math.floor(epochMs / 1000))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
