// The messages of a conversation as far as they are loaded, the newest first.
import type { ListedMessage } from '../../../../src/messages/lookup/message-schema.ts'

export type Received = Extract<ListedMessage, { from: string }>

/** Messages, and the cursor of those before them; null: there are none. */
export interface Thread {
  data: readonly ListedMessage[]
  next: string | null
}

/**
 * What is known after the newest messages were loaded again: older ones stay, and what is gone from the page goes. If so
 * many are new that the page does not reach the known ones, these are forgotten: what lies between is not known.
 */
export function withNewest(known: Thread | undefined, page: Thread): Thread {
  const ids = new Set(page.data.map(({ id }) => id))
  const oldest = page.data.at(-1)
  if (known === undefined || page.next === null) return page
  // The server has looked through a part that holds none of them.
  if (oldest === undefined) return known
  if (!known.data.some(({ id }) => ids.has(id))) return page
  const older = known.data.filter(({ id, accepted_at: at }) => !ids.has(id) && at <= oldest.accepted_at)
  return { data: [...page.data, ...older], next: known.next }
}

/** What is known after the page at the cursor `from` was loaded; nothing new if that is no longer where it ends. */
export const withOlder = (known: Thread, from: string, page: Thread): Thread =>
  known.next === from ? { data: [...known.data, ...page.data], next: page.next } : known

/** What the person wrote last. */
export const lastReceived = ({ data }: Thread): Received | undefined =>
  data.find((message) => message.direction === 'inbound')

/** A message as the thread shows it. */
export interface Entry {
  message: ListedMessage
  /** The text of the message that it answers; undefined: of one that is not loaded. */
  answered: string | undefined
  /** With what the person has reacted to it; empty: with nothing. */
  reaction: string
}

/** The entries of a thread. A reaction to a loaded message is shown with that message. */
export function entriesOf({ data }: Thread): Entry[] {
  const byId = new Map(data.map((message) => [message.provider_id ?? message.id, message] as const))
  const reactions = new Map<string, string>()
  const rest = data.filter((message) => {
    const to = message.direction === 'inbound' ? message.reaction?.message_id : undefined
    if (to === undefined || !byId.has(to)) return true
    // The newest comes first, and holds.
    if (!reactions.has(to)) reactions.set(to, 'reaction' in message ? (message.reaction?.emoji ?? '') : '')
    return false
  })
  return rest.map((message) => ({
    message,
    answered: message.direction === 'inbound' ? byId.get(message.context?.message_id ?? '')?.text : undefined,
    reaction: reactions.get(message.provider_id ?? '') ?? '',
  }))
}
