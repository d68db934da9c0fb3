// The messages of a conversation as far as they are loaded, the newest first.
import type { ListedMessage } from '../../../../src/messages/lookup/message-schema.ts'

export type Received = Extract<ListedMessage, { from: string }>

/** Messages, and the cursor of those before them; null: there are none. */
export interface Thread {
  data: readonly ListedMessage[]
  next: string | null
}

/**
 * The thread after the newest messages were loaded again: older ones stay, and those that are gone from the page go. If so
 * many are new that the page does not reach the loaded ones, these are dropped, because of the gap in between.
 */
export function withNewest(known: Thread | undefined, page: Thread): Thread {
  const ids = new Set(page.data.map(({ id }) => id))
  const oldest = page.data.at(-1)
  if (known === undefined || page.next === null) return page
  // The server has searched a part that holds none of them.
  if (oldest === undefined) return known
  if (!known.data.some(({ id }) => ids.has(id))) return page
  const older = known.data.filter(({ id, accepted_at: at }) => !ids.has(id) && at <= oldest.accepted_at)
  return { data: [...page.data, ...older], next: known.next }
}

/** The thread after the page at the cursor `from` was loaded; unchanged if it does not end there any more. */
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
  /** The person's reaction to it; empty: none. */
  reaction: string
}

/** The entries of a thread. A reaction to a loaded message is shown with that message. */
export function entriesOf({ data }: Thread): Entry[] {
  const byId = new Map(data.map((message) => [message.provider_id ?? message.id, message] as const))
  const reactions = new Map<string, string>()
  const rest = data.filter((message) => {
    const to = message.direction === 'inbound' ? message.reaction?.message_id : undefined
    if (to === undefined || !byId.has(to)) return true
    // The newest comes first and counts.
    if (!reactions.has(to)) reactions.set(to, 'reaction' in message ? (message.reaction?.emoji ?? '') : '')
    return false
  })
  return rest.map((message) => ({
    message,
    answered: message.direction === 'inbound' ? byId.get(message.context?.message_id ?? '')?.text : undefined,
    reaction: reactions.get(message.provider_id ?? '') ?? '',
  }))
}
