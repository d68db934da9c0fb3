// One page of messages, newest first. Each call examines a bounded number: with a selective filter a page may be
// short or empty and still carry a cursor to go on from.
import type { Sender } from '../../accounts/senders.ts'
import { archiveOf, type Candidate, type Cursor } from '../../lanes/archive/archive.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { findMessage } from './lookup.ts'
import { listedReceived, listedSent } from './message-document.ts'
import { directionsOf, type MessageFilter, matches, namesIn } from './message-filter.ts'
import type { ListedMessage } from './message-schema.ts'

/** A search: whose messages, by which filter, from where on. */
export interface Search {
  /** Whose messages are looked through. */
  senders: readonly Sender[]
  filter: MessageFilter
  limit: number
  /** Where an earlier page ended. */
  after?: Cursor | undefined
  nowMs: number
  /** Where the lists of campaigns are, for messages that nobody has claimed. */
  lists: ListSettings
  /** Whether the client is still connected. */
  isWanted?: () => boolean
}

/** A page; `next` is where the next one begins, undefined once all were read. */
export interface Page {
  messages: ListedMessage[]
  next: Cursor | undefined
}

/** How long a page may search; reading what it shows comes on top. */
const SEARCH_MS = 150
/**
 * Steps of the search, however long they take. They read more than a hundred segments, which is all of most accounts: a
 * process that is slow finds there what a quick one does, instead of an empty page each time somebody asks.
 */
const STEPS_AT_LEAST = 8

/** The page of the senders' messages that follows `after`. A record that is not what Laneway wrote is passed over. */
export async function findMessages(redis: Redis, search: Search): Promise<Page> {
  const { senders, filter, limit, after, isWanted = () => true } = search
  const endMs = performance.now() + SEARCH_MS
  const messages: ListedMessage[] = []
  let steps = 0
  const { campaignId: group, ...same } = filter
  const query = {
    lanes: senders.map(({ id }) => id),
    filter: { ...same, ...directionsOf(filter), group, names: namesIn(filter) },
    ...{ after, limit },
  }
  for await (const { candidates, next } of archiveOf(redis).search(query)) {
    for (let from = 0; from < candidates.length; ) {
      const some = candidates.slice(from, from + limit - messages.length)
      const read = await Promise.all(some.map((candidate) => readCandidate(redis, candidate, search)))
      for (const [i, message] of read.entries()) {
        if (message === undefined || !matches(message, filter)) continue
        messages.push(message)
        if (messages.length === limit) return { messages, next: some[i]?.cursor }
      }
      from += some.length
    }
    steps += 1
    const isOver = steps >= STEPS_AT_LEAST && performance.now() > endMs
    if (next === undefined || isOver || !isWanted()) return { messages, next }
  }
  return { messages, next: undefined }
}

/** Undefined for one that is gone, or that cannot be read. */
async function readCandidate(redis: Redis, of: Candidate, search: Search): Promise<ListedMessage | undefined> {
  const { lane } = of
  const sender = search.senders.find(({ id }) => id === lane)
  try {
    if (of.kind === 'sent') {
      const message = await findMessage(redis, { lane, ulid: of.ulid }, search.nowMs, search.lists)
      return message && listedSent(message, sender)
    }
    const message = sender && (await archiveOf(redis).find({ account: sender.account, name: of.name }))
    return message && listedReceived(message, sender)
  } catch (error) {
    if (error instanceof CorruptRecordError) return undefined
    throw error
  }
}
