// Reads which names a webhook gives to one person: who wrote, who got a message, or who changed a setting, a number or a user
// id. A number comes first.
import { z } from 'zod'
import { parsePerson } from '../kernel/recipient.ts'
import type { ReceivedParts } from '../model/messages/received.ts'
import type { Naming } from '../model/people/person.ts'
import { spare, webhookTime } from './webhook-fields.ts'

/** Names of one person, from a webhook about one of our numbers. */
export interface WebhookNaming extends Naming {
  phoneNumberId: string
  /** The person wrote, or changed something. Otherwise it comes with what became of a message to them. */
  isTheirAct: boolean
  /** When they did, or their id changed (epoch ms); undefined of a report, and where WhatsApp gives no valid time. */
  atMs?: number | undefined
  /** Of a report: what was sent along with the message, to tell ours by. */
  opaque?: string | undefined
}

const text = spare(z.union([z.string().max(200), z.number().int().transform(String)]))
const change = spare(z.object({ previous: text, current: text }))
const system = spare(
  z.object({
    ...{ wa_id: text, new_wa_id: text, user_id: text, parent_user_id: text, previous_user_id: text },
    body: spare(z.string().max(2_000)),
  }),
)
const item = z.object({
  ...{ recipient_id: text, recipient_user_id: text, recipient_parent_user_id: text },
  ...{ from: text, from_user_id: text, from_parent_user_id: text },
  ...{ wa_id: text, user_id: text, parent_user_id: text },
  system,
  timestamp: spare(webhookTime),
  biz_opaque_callback_data: spare(z.string().max(512)),
})
const changedItem = z.object({ wa_id: text, user_id: change, parent_user_id: change, timestamp: spare(webhookTime) })
const lists = ['statuses', 'contacts', 'messages', 'user_preferences', 'user_id_update'] as const

/** How WhatsApp writes what there was before a change, if nowhere else. What was before is a name of theirs. */
const CHANGED = /changed from (\S+) to (\S+)$/

/** The namings of one item of a change; most items have none. `phoneNumberId`: the number of ours that the change is about. */
export function namingsOf(phoneNumberId: string, list: (typeof lists)[number], raw: unknown): WebhookNaming[] {
  const isTheirAct = list === 'messages' || list === 'user_preferences'
  const isReported = list === 'statuses' || list === 'contacts'
  const of = { phoneNumberId, isTheirAct, ...(isReported && { isReported }) }
  if (list === 'user_id_update') {
    const { wa_id, user_id: id, parent_user_id: parent, timestamp: atMs } = changedItem.safeParse(raw).data ?? {}
    return changeOf(
      { ...of, atMs },
      namesIn([wa_id, id?.current, parent?.current]),
      namesIn([id?.previous, parent?.previous]),
    )
  }
  const { data } = item.safeParse(raw)
  if (data === undefined) return []
  const names = namesIn([
    ...[data.recipient_id, data.from, data.wa_id],
    ...[data.recipient_user_id, data.from_user_id, data.user_id],
    ...[data.recipient_parent_user_id, data.from_parent_user_id, data.parent_user_id],
  ])
  const { body = '', new_wa_id: number, wa_id: either, user_id: id, parent_user_id: parent, ...was } = data.system ?? {}
  const now = namesIn([number ?? either, id, parent])
  const origin = { ...of, ...(of.isTheirAct && { atMs: data.timestamp }) }
  if (now.length === 0) return changeOf({ ...origin, opaque: data.biz_opaque_callback_data }, names, [])
  const [, former, next] = CHANGED.exec(body) ?? []
  const said = namesIn([next]).every((name) => now.includes(name)) ? former : undefined
  // What they wrote from is what they had before.
  return changeOf(origin, now, [...names, ...namesIn([was.previous_user_id, number && either, said])])
}

/** Every name in a message of the system about a change of them. */
export function namesInChange(
  { wa_id, user_id, previous_user_id }: NonNullable<ReceivedParts['system']>,
  body: string,
): string[] {
  return namesIn([wa_id, user_id, previous_user_id, ...(CHANGED.exec(body)?.slice(1) ?? [])])
}

/** That the person has these names now, and had those before. */
function changeOf(of: Omit<WebhookNaming, keyof Naming>, names: string[], before: readonly string[]): WebhookNaming[] {
  const former = [...new Set(before)].filter((name) => !names.includes(name))
  if (names.length === 0 || names.length + former.length < 2) return []
  return former.length === 0 ? [{ ...of, names }] : former.map((name) => ({ ...of, names, before: name }))
}

/** Those that are a number or a user id, each once. The other form of a number is no name of its own (people/names). */
function namesIn(texts: readonly (string | undefined)[]): string[] {
  const names = texts.flatMap((text) => (text === undefined ? [] : (parsePerson(text) ?? [])))
  return [...new Set(names)]
}

/** Every item of a change that may name a person. */
export function* itemsOfPeople(value: unknown): Generator<{ list: (typeof lists)[number]; raw: unknown }> {
  if (typeof value !== 'object' || value === null) return
  for (const list of lists) {
    const items: unknown = Reflect.get(value, list)
    if (Array.isArray(items)) for (const raw of items) yield { list, raw }
  }
}
