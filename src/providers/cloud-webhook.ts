// Reads WhatsApp's webhooks: signature, envelope, and the content of each change. Items are read one by one, so that
// one that cannot be read does not lose the others; of an unknown one its shape is kept.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import { ACCOUNT_UPDATE_FIELDS, type AccountUpdate } from './account-updates.ts'
import { type Preference, readPreference } from './cloud-preferences.ts'
import { personItem, type ReceivedMessage, readReceived } from './cloud-received.ts'
import { readStatus, type StatusUpdate } from './cloud-statuses.ts'
import { numberUpdates, preferenceUpdate, type Read, readAccountUpdate } from './read-account-update.ts'
import { idText, metadata, spare, webhookTime } from './webhook-fields.ts'
import { itemsOfPeople, namingsOf, type WebhookNaming } from './webhook-names.ts'

/** What one webhook request holds, each kind in the order of its items. */
export interface WebhookContent {
  statuses: StatusUpdate[]
  received: ReceivedMessage[]
  preferences: Preference[]
  accountUpdates: AccountUpdate[]
  /** Names that items give to one person, in the order of the items. */
  namings: WebhookNaming[]
  /** Accounts at WhatsApp and numbers of theirs, as changes of messages name them. */
  numbers: { wabaId: string; phoneNumberId: string }[]
  /** Items that could not be read. */
  unreadable: number
}

const SIGNATURE = /^sha256=([0-9a-f]{64})$/

/** Whether a request looks signed: its body is worth reading then. */
export function looksSigned({ 'x-hub-signature-256': header }: IncomingHttpHeaders): boolean {
  return typeof header === 'string' && SIGNATURE.test(header)
}

/** Whether the signature is that of these raw bytes under the app's secret; never parse a body before this. */
export function isSigned(raw: Buffer, header: string | undefined, appSecret: string): boolean {
  const given = SIGNATURE.exec(header ?? '')?.[1]
  if (given === undefined) return false
  const expected = createHmac('sha256', appSecret).update(raw).digest()
  return timingSafeEqual(Buffer.from(given, 'hex'), expected)
}

const envelope = z.object({ entry: z.array(z.unknown()) })
const entrySchema = z.object({ id: spare(idText), time: spare(webhookTime), changes: z.array(z.unknown()) })
/** Some who forward webhooks leave the field out. */
const change = z.object({ field: z.string().nullish(), value: z.unknown() })
/** Each list is parsed separately: a fault in one must not drop the other. */
const statusList = z.object({ statuses: z.array(z.unknown()).default([]) })
const messageList = z.object({ metadata, messages: z.array(z.unknown()), contacts: z.array(z.unknown()).catch([]) })
const preferenceList = z.object({ metadata, user_preferences: z.array(z.unknown()) })
/** People of one change that are read: there is one per message at most. */
const PEOPLE_MAX = 1_000
/** Changes of one webhook about something else than messages: WhatsApp brings a handful at a time. */
const ACCOUNT_UPDATES_MAX = 1_000
/** Numbers that a webhook names as those of an account: it is about one nearly always. */
const NUMBERS_MAX = 20

/** Items that are read in one event-loop tick: 100 that cannot be read take 1 ms. */
const ITEMS_A_TURN = 200

/** A field about people's user ids, which is kept as a notice as well. */
const NAMES_CHANGED = 'user_id_update'

/** Each field of a webhook that is understood, by the name that one subscribes to. */
export const TAKEN_FIELDS: readonly string[] = ['messages', 'user_preferences', NAMES_CHANGED, ...ACCOUNT_UPDATE_FIELDS]

/** The fields of an entry that apply to all of its changes. */
interface Origin {
  wabaId: string | undefined
  atMs: number | undefined
}

/**
 * Everything in a webhook, or undefined when the body is no webhook at all. A body of 4 MB can hold ten thousands of items,
 * so others get a turn in between.
 */
export async function readWebhook(body: unknown): Promise<WebhookContent | undefined> {
  const outer = envelope.safeParse(body)
  if (!outer.success) return undefined
  const content: WebhookContent = {
    ...{ statuses: [], received: [], preferences: [], accountUpdates: [], namings: [], numbers: [] },
    unreadable: 0,
  }
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
    const parsed = entrySchema.safeParse(rawEntry)
    if (!parsed.success) content.unreadable += 1
    const origin = { wabaId: parsed.data?.id, atMs: parsed.data?.time }
    for (const rawChange of parsed.data?.changes ?? []) {
      yield undefined
      const { data = { field: 'unreadable', value: rawChange } } = change.safeParse(rawChange)
      const field = data.field ?? 'messages'
      if (field !== 'messages' && field !== 'user_preferences') {
        const about = numberIn(data.value)
        if (field === NAMES_CHANGED && about !== undefined) yield* readersOfNames(about, data.value, content)
        collect(content, origin, () => readAccountUpdate(field, data.value))
      } else {
        const before = foundIn(content)
        yield* readersOfChange(data.value, content, origin)
        // Its content is of an unknown kind.
        if (foundIn(content) === before && saysMore(data.value))
          collect(content, origin, () => readAccountUpdate(field, data.value))
      }
    }
  }
}

const foundIn = ({ statuses, received, preferences, accountUpdates, unreadable }: WebhookContent): number =>
  statuses.length + received.length + preferences.length + accountUpdates.length + unreadable

/** What every change has. */
const FRAME: ReadonlySet<string> = new Set(['messaging_product', 'metadata', 'contacts'])

/** Whether a change holds anything besides what every change has. */
const saysMore = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([name, part]) => !FRAME.has(name) && !(Array.isArray(part) && part.length === 0))

/** Adds the account update of a change, if there is one. */
function collect(content: WebhookContent, origin: Origin, read: () => Read | undefined): void {
  if (content.accountUpdates.length >= ACCOUNT_UPDATES_MAX) {
    content.unreadable += 1
    return
  }
  const update = read()
  if (update !== undefined)
    content.accountUpdates.push({ ...update, wabaId: origin.wabaId, atMs: origin.atMs ?? update.atMs })
}

function* readersOfChange(value: unknown, content: WebhookContent, origin: Origin): Generator<() => void> {
  const read = statusList.safeParse(value)
  if (!read.success) content.unreadable += 1
  for (const raw of read.data?.statuses ?? []) yield reader(raw, content, readStatus, content.statuses)
  if (typeof value !== 'object' || value === null) return
  const about = numberIn(value)
  if (about !== undefined) {
    noteNumber(about, content, origin)
    yield* readersOfNames(about, value, content)
  }
  if ('user_preferences' in value) yield* readersOfPreferences(value, content, origin)
  if ('errors' in value || 'user_actions' in value) {
    for (const update of numberUpdates(value)) yield () => collect(content, origin, () => update)
  }
  if (!('messages' in value)) return
  const received = messageList.safeParse(value)
  if (!received.success) {
    content.unreadable += 1
    return
  }
  const { metadata: of, messages, contacts } = received.data
  const people = contacts.slice(0, PEOPLE_MAX).flatMap((each) => personItem.safeParse(each).data ?? [])
  for (const raw of messages) {
    yield reader(raw, content, (item) => readReceived(of.phone_number_id, item, people), content.received)
  }
}

/** The number of ours that a change is about. */
const numberIn = (value: unknown): string | undefined =>
  z.object({ metadata }).safeParse(value).data?.metadata.phone_number_id

function* readersOfNames(about: string, value: unknown, { namings }: WebhookContent): Generator<() => void> {
  for (const { list, raw } of itemsOfPeople(value)) yield () => namings.push(...namingsOf(about, list, raw))
}

function* readersOfPreferences(value: object, content: WebhookContent, origin: Origin): Generator<() => void> {
  const read = preferenceList.safeParse(value)
  if (!read.success) content.unreadable += 1
  const id = read.data?.metadata.phone_number_id ?? ''
  const before = content.preferences.length
  for (const raw of read.data?.user_preferences ?? []) {
    yield () => {
      const found = readPreference(id, raw)
      if (found === undefined) content.unreadable += 1
      else if (found !== 'other') content.preferences.push(found)
    }
  }
  yield () => collect(content, origin, () => preferenceUpdate(id, content.preferences.slice(before)))
}

/** Reads one item into its list, or counts it as unreadable. */
const reader =
  <T>(raw: unknown, content: WebhookContent, read: (raw: unknown) => T | undefined, list: T[]) =>
  (): void => {
    const item = read(raw)
    if (item === undefined) content.unreadable += 1
    else list.push(item)
  }

function noteNumber(about: string, { numbers }: WebhookContent, { wabaId }: Origin): void {
  if (wabaId === undefined || numbers.length >= NUMBERS_MAX) return
  if (numbers.some((each) => each.phoneNumberId === about && each.wabaId === wabaId)) return
  numbers.push({ wabaId, phoneNumberId: about })
}
