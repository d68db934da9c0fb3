// The archive: the only way to accepted and received messages for code that shows, requeues, counts or erases them. Nobody
// outside of `lanes` knows how they are stored. What has not ended is here as well, from its claim on; only its lane moves it.
// Redis is behind it (docs/adr/0114-the-archive.md).
//
// A record and what became of it are written by the steps of a message's life, in the same atomic step that moves the
// message: claim.ts, steps.ts, finalize-unsent.ts, and inbound.ts for a received one. `put` is the part that comes before.

import type { MessageId } from '../../kernel/message-id.ts'
import type { Redis } from '../../redis/connect.ts'
import { findInbound, findInboundBy, type InboundMessage } from '../messages/inbound.ts'
import { type EndedPage, type EndedQuery, readEnded } from './ended.ts'
import { type Erased, eraseReceived, eraseSent } from './erase.ts'
import { type Found, readView, type Views } from './find.ts'
import { type IndexedMessage, indexMessages, keepIndexed } from './message-index.ts'
import { type SearchQuery, type SearchStep, search } from './search.ts'
import { type Walked, type WalkQuery, walkPeople } from './walk-people.ts'

export type { InboundMessage } from '../messages/inbound.ts'
export type { Progress } from '../messages/records.ts'
export { type Cursor, readCursor, writeCursor } from './entries.ts'
export type { Erased } from './erase.ts'
export type { MessageFacts } from './facts.ts'
export type { Found, KeptMessage } from './find.ts'
export type { Candidate, SearchFilter } from './search.ts'
export type { Walked, WalkQuery } from './walk-people.ts'

/** Messages that were sent, by their ids. */
interface SentIds {
  lane: number
  ulids: readonly string[]
}

/** The digest of WhatsApp's id of a received message in a search, a walk or an event. */
interface ReceivedName {
  account: number
  name: string
}

/** The archive behind this connection. */
export function archiveOf(redis: Redis) {
  /**
   * Lists messages of one lane that are about to be sent, for `retentionMs` after their validity. Again changes nothing.
   * Without a record, a message may be proposed by searches and walks, but `find` returns nothing.
   */
  function put(of: { lane: number; messages: readonly IndexedMessage[]; retentionMs: number }): Promise<void>
  /** Keeps listed messages that are queued again until then at least (epoch ms). */
  function put(of: SentIds & { keptUntilMs: number }): Promise<void>
  function put(
    of:
      | { lane: number; messages: readonly IndexedMessage[]; retentionMs: number }
      | { lane: number; ulids: readonly string[]; keptUntilMs: number },
  ): Promise<void> {
    return 'messages' in of
      ? indexMessages(redis, of.lane, of.messages, of.retentionMs)
      : keepIndexed(redis, of.lane, of.ulids, of.keptUntilMs)
  }

  /** A received message; undefined when there is none. Rejects with a CorruptRecordError for one that is unreadable. */
  function find(of: ReceivedName | { account: number; id: string }): Promise<InboundMessage | undefined>
  /** Messages of one lane in the order of their ids, in one round trip; `view` is how much of each is read. */
  function find<V extends keyof Views = 'whole'>(of: SentIds, view?: V): Promise<Found<Views[V]>[]>
  function find(
    of: SentIds | ReceivedName | { account: number; id: string },
    view: keyof Views = 'whole',
  ): Promise<unknown> {
    if ('ulids' in of) return readView[view](redis, of.lane, of.ulids)
    return 'id' in of ? findInbound(redis, of.account, of.id) : findInboundBy(redis, of.account, of.name)
  }

  /** All messages of a lane that may be of some people, in pieces; see walk-people.ts. */
  function walk(query: WalkQuery): AsyncGenerator<Walked[]>
  /** The next page of the lane's messages that ended without being delivered; see ended.ts. */
  function walk(query: EndedQuery): Promise<EndedPage>
  function walk(query: WalkQuery | EndedQuery): AsyncGenerator<Walked[]> | Promise<EndedPage> {
    return 'people' in query ? walkPeople(redis, query) : readEnded(redis, query)
  }

  return {
    put,
    find,

    /** Messages of some lanes that may match, the newest first, in steps; see search.ts. */
    search: (query: SearchQuery): AsyncGenerator<SearchStep> => search(redis, query),

    /** Erases whom a message was to or from and what it said, if it is of this person and has ended; see erase.ts. */
    erase: (message: MessageId | ReceivedName, person: string): Promise<Erased> =>
      'ulid' in message ? eraseSent(redis, message, person) : eraseReceived(redis, message, person),

    walk,
  }
}

/** What the archive does. */
export type Archive = ReturnType<typeof archiveOf>
