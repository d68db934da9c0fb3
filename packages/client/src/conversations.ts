// Conversations with people: whether one may be written to, what they wrote, and the files that they sent.
import { membersOf } from './contract.ts'
import type { HttpCaller } from './http-call.ts'
import { dataOf, everyItem, hasTexts } from './pages.ts'
import type { WaitOptions } from './transport.ts'
import type { Conversation, ReceivedMessage } from './types.ts'

/** A file that came with a message. */
export interface ReceivedFile {
  /** Its media type. People may have sent anything: do not show it as a page of your own. */
  type: string
  name: string
  /** How many, where WhatsApp says so. */
  bytes: number | undefined
  /** Read it to its end or cancel it. It fails when the file ends too early. */
  body: ReadableStream<Uint8Array>
}

/** Everything here needs `messages:read`. People are given as for opt-outs. */
export interface Conversations {
  /** `sender`: by its number or name; the default sender unless given. */
  show(person: string, options?: WaitOptions & { sender?: string }): Promise<Conversation>
  /** What was received, the latest first: of one person, by one sender, within a time, or all. */
  received(
    options?: WaitOptions & { from?: string; sender?: string; since?: Date; until?: Date },
  ): AsyncIterable<ReceivedMessage>
  /**
   * The file of a received message; the wait is until it begins. Rejects with LanewayRefused: `not_found` for a message
   * without one, `media_gone`, `media_unavailable`.
   */
  file(messageId: string, options?: WaitOptions): Promise<ReceivedFile>
}

const isConversation = (value: unknown): value is Conversation =>
  hasTexts(value, 'person', 'sender') && 'open' in membersOf(value) && typeof membersOf(value).opted_out === 'boolean'
const isReceived = (value: unknown): value is ReceivedMessage =>
  hasTexts(value, 'id', 'kind', 'from', 'text', 'accepted_at') && membersOf(value).direction === 'inbound'

/** The conversations of a client that is connected over HTTP. */
export const openConversations = (caller: HttpCaller): Conversations => ({
  async show(person, { sender, timeoutMs } = {}) {
    const query = sender === undefined ? '' : `?${new URLSearchParams({ sender })}`
    const path = `/conversations/${encodeURIComponent(person)}${query}`
    return dataOf(await caller.askOrThrow({ method: 'GET', path, keyIn: 'bearer' }, timeoutMs), path, isConversation)
  },
  received: ({ from, sender, since, until, ...options } = {}) =>
    everyItem(
      caller,
      '/messages',
      { direction: 'inbound', from, sender, since: since?.toISOString(), until: until?.toISOString() },
      isReceived,
      options,
    ),
  async file(messageId, { timeoutMs } = {}) {
    const { headers, body } = await caller.open(`/messages/${encodeURIComponent(messageId)}/media`, timeoutMs)
    const bytes = headers.get('content-length')
    return {
      type: headers.get('content-type') ?? 'application/octet-stream',
      name: nameIn(headers.get('content-disposition') ?? ''),
      bytes: bytes === null ? undefined : Number(bytes),
      body: body ?? new ReadableStream<Uint8Array>({ start: (stream) => stream.close() }),
    }
  },
})

/** The name in `attachment; filename="…"`, or in its form for all of Unicode, which wins. */
function nameIn(disposition: string): string {
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1]
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded)
  } catch {
    // Not what it says: the plain form is there as well.
  }
  const [, quoted, bare] = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition) ?? []
  return quoted?.replace(/\\(.)/g, '$1') ?? bare?.trim() ?? 'file'
}
