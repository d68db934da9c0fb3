// Reads which names a webhook gives to one person: of who wrote, of whom a message went to, of who has changed a setting, a
// number or a user id. A number comes first.
import { z } from 'zod'
import { isUserId, parsePerson } from '../messages/recipient.ts'
import type { Naming } from '../people/names/person.ts'
import { spare } from './webhook-fields.ts'

/** Names of one person, as a webhook about one of our numbers tells them. */
export interface WebhookNaming extends Naming {
  phoneNumberId: string
  /** The person wrote, or changed something. Otherwise it comes with what became of a message to them. */
  isTheirAct: boolean
}

const text = spare(z.union([z.string().max(200), z.number().int().transform(String)]))
const system = spare(
  z.object({ wa_id: text, new_wa_id: text, user_id: text, parent_user_id: text, previous_user_id: text }),
)
const item = z.object({
  ...{ recipient_id: text, recipient_user_id: text, recipient_parent_user_id: text },
  ...{ from: text, from_user_id: text, from_parent_user_id: text },
  ...{ wa_id: text, user_id: text, parent_user_id: text },
  system,
})
const lists = ['statuses', 'contacts', 'messages', 'user_preferences'] as const

/** The namings of one item of a change; of most items none. `about`: the number of ours that the change is about. */
export function namingsOf(phoneNumberId: string, list: (typeof lists)[number], raw: unknown): WebhookNaming[] {
  const { data } = item.safeParse(raw)
  if (data === undefined) return []
  const numbers = [data.recipient_id, data.from, data.wa_id]
  const ids = [data.recipient_user_id, data.from_user_id, data.user_id]
  const parents = [data.recipient_parent_user_id, data.from_parent_user_id, data.parent_user_id]
  const names = namesIn([...numbers, ...ids, ...parents])
  const of = { phoneNumberId, isTheirAct: list === 'messages' || list === 'user_preferences' }
  const now =
    data.system &&
    namesIn([data.system.new_wa_id ?? data.system.wa_id, data.system.user_id, data.system.parent_user_id])
  if (now === undefined || now.length === 0) return names.length < 2 ? [] : [{ ...of, names }]
  // What they wrote from is what they had before.
  const { previous_user_id: id, new_wa_id: isNew, wa_id: number } = data.system ?? {}
  const before = [...names, ...namesIn([id, isNew && number])].filter((name) => !now.includes(name))
  const [first] = before
  if (first === undefined) return now.length < 2 ? [] : [{ ...of, names: now }]
  return before.map((name) => ({ ...of, names: now, before: name }))
}

/** Those that are a number or a user id, each once. A number may stand there in two spellings. */
function namesIn(texts: readonly (string | undefined)[]): string[] {
  const names = texts.flatMap((each) => {
    const ours = each === undefined ? undefined : parsePerson(each)
    if (each === undefined || ours === undefined) return []
    return ours === each || isUserId(ours) ? [ours] : [ours, each.replace(/\D/g, '')]
  })
  return [...new Set(names)]
}

/** Calls `each` with every item of a change that may name a person. */
export function* itemsOfPeople(value: object): Generator<{ list: (typeof lists)[number]; raw: unknown }> {
  for (const list of lists) {
    const items: unknown = Reflect.get(value, list)
    if (Array.isArray(items)) for (const raw of items) yield { list, raw }
  }
}
