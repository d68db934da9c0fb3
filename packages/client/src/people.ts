// What exists over HTTP only: opt-outs, and conversations with people: whether one may be written to, what they wrote, and
// the files that they sent.

import { randomUUID } from 'node:crypto'
import { membersOf } from './contract.ts'
import { LanewayRefused, notAsPromised } from './errors.ts'
import type { HttpCaller } from './http-call.ts'
import type { WaitOptions } from './transport.ts'
import type { Conversation, ConversationMessage, OptOut, ReceivedMessage } from './types.ts'

/** Items asked for at a time. */
const PAGE = 500

/** All items of a list, from its first page to its last; the wait holds for each page. Leave the loop to stop. */
async function* everyItem<T>(
  caller: HttpCaller,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  isItem: (value: unknown) => value is T,
  { timeoutMs }: WaitOptions,
): AsyncGenerator<T> {
  let cursor: string | undefined
  do {
    const search = new URLSearchParams({ limit: String(PAGE) })
    for (const [name, value] of Object.entries({ ...query, cursor })) if (value !== undefined) search.set(name, value)
    const { data, next } = await caller.askOrThrow(
      { method: 'GET', path: `${path}?${search}`, keyIn: 'bearer' },
      timeoutMs,
    )
    if (!Array.isArray(data) || !data.every(isItem)) throw notAsPromised(path)
    yield* data
    cursor = typeof next === 'string' ? next : undefined
  } while (cursor !== undefined)
}

/** The member `data` of an answer. Throws when it is not what it must be. */
function dataOf<T>(answer: Readonly<Record<string, unknown>>, path: string, isData: (value: unknown) => value is T): T {
  const { data } = answer
  if (!isData(data)) throw notAsPromised(path)
  return data
}

/** Whether a value has these members, all of them texts. */
function hasTexts(value: unknown, ...names: readonly string[]): boolean {
  const members = membersOf(value)
  return names.every((name) => typeof members[name] === 'string')
}

/** People are given as a number in any spelling, or as the id of a person without one. */
export interface OptOuts {
  /** Records that they want no advertising; an earlier opt-out stays as it is. Needs `contacts:write`. */
  add(person: string, options?: WaitOptions): Promise<OptOut>
  /** Removes the opt-out, if there is one. Needs `contacts:write`. */
  remove(person: string, options?: WaitOptions): Promise<void>
  /** Undefined for a person without an opt-out. Needs `contacts:read`. */
  find(person: string, options?: WaitOptions): Promise<OptOut | undefined>
  /** All of them, the latest first. Needs `contacts:read`. */
  list(options?: WaitOptions): AsyncIterable<OptOut>
}

const PATH = '/opt-outs'
const isOptOut = (value: unknown): value is OptOut => hasTexts(value, 'person', 'source', 'since')
const pathOf = (person: string): string => `${PATH}/${encodeURIComponent(person)}`

/** The opt-outs of a client that is connected over HTTP. */
export function openOptOuts(caller: HttpCaller): OptOuts {
  /** Undefined for what the list does not have. */
  async function ofPerson(method: 'GET' | 'DELETE', person: string, timeoutMs: number | undefined) {
    const reply = await caller.ask({ method, path: pathOf(person), keyIn: 'bearer' }, timeoutMs)
    if (reply.ok) return reply.body
    if (reply.error instanceof LanewayRefused && reply.error.code === 'not_found') return undefined
    throw reply.error
  }

  return {
    async add(person, { timeoutMs } = {}) {
      const request = { method: 'POST', path: PATH, keyIn: 'bearer', body: { person } } as const
      const answer = await caller.askOrThrow({ ...request, idempotencyKey: randomUUID() }, timeoutMs)
      return dataOf(answer, PATH, isOptOut)
    },
    async remove(person, { timeoutMs } = {}) {
      await ofPerson('DELETE', person, timeoutMs)
    },
    async find(person, { timeoutMs } = {}) {
      const answer = await ofPerson('GET', person, timeoutMs)
      return answer && dataOf(answer, PATH, isOptOut)
    },
    list: (options = {}) => everyItem(caller, PATH, {}, isOptOut, options),
  }
}

/** A file that came with a message. */
export interface ReceivedFile {
  /** Its media type. People may have sent anything: do not show it as a page of your own. */
  type: string
  name: string
  /** Their number, if WhatsApp gives it. */
  bytes: number | undefined
  /** Read it to its end or cancel it. It fails when the file ends too early. */
  body: ReadableStream<Uint8Array>
}

/** Everything here needs `messages:read`, unless it says otherwise. People are given as for opt-outs. */
export interface Conversations {
  /** `sender`: by its number or name; the default sender unless given. */
  show(person: string, options?: WaitOptions & { sender?: string }): Promise<Conversation>
  /** What was sent to the person and what they wrote, the latest first; with all senders unless one is given. */
  messages(person: string, options?: WaitOptions & { sender?: string }): AsyncIterable<ConversationMessage>
  /** What was received, the latest first: of one person, by one sender, within a time, or all. */
  received(
    options?: WaitOptions & { from?: string; sender?: string; since?: Date; until?: Date },
  ): AsyncIterable<ReceivedMessage>
  /**
   * The file of a received message; the wait is until it begins. Rejects with LanewayRefused: `not_found` for a message
   * without one, `media_gone`, `media_unavailable`.
   */
  file(messageId: string, options?: WaitOptions): Promise<ReceivedFile>
  /**
   * Marks a received message as read; with `typing` the person sees for up to 25 s that an answer is being written. Needs
   * `messages:send`. Rejects with LanewayRefused: `not_found`, `not_supported_by_provider`, `not_marked_read`.
   */
  markRead(messageId: string, options?: WaitOptions & { typing?: boolean }): Promise<void>
}

const isConversation = (value: unknown): value is Conversation =>
  hasTexts(value, 'person', 'sender') && 'open' in membersOf(value) && typeof membersOf(value).opted_out === 'boolean'
const isReceived = (value: unknown): value is ReceivedMessage =>
  hasTexts(value, 'id', 'kind', 'from', 'text', 'accepted_at') && membersOf(value).direction === 'inbound'
const isMessage = (value: unknown): value is ConversationMessage =>
  hasTexts(value, 'id', 'kind', 'text', 'accepted_at', 'direction')

/** The conversations of a client that is connected over HTTP. */
export const openConversations = (caller: HttpCaller): Conversations => ({
  async show(person, { sender, timeoutMs } = {}) {
    const query = sender === undefined ? '' : `?${new URLSearchParams({ sender })}`
    const path = `/conversations/${encodeURIComponent(person)}${query}`
    return dataOf(await caller.askOrThrow({ method: 'GET', path, keyIn: 'bearer' }, timeoutMs), path, isConversation)
  },
  messages: (person, { sender, ...options } = {}) =>
    everyItem(caller, `/conversations/${encodeURIComponent(person)}/messages`, { sender }, isMessage, options),
  received: ({ from, sender, since, until, ...options } = {}) =>
    everyItem(
      caller,
      '/messages',
      { direction: 'inbound', from, sender, since: since?.toISOString(), until: until?.toISOString() },
      isReceived,
      options,
    ),
  async markRead(messageId, { typing = false, timeoutMs } = {}) {
    const path = `/messages/${encodeURIComponent(messageId)}/read`
    await caller.askOrThrow({ method: 'POST', path, keyIn: 'bearer', body: { typing } }, timeoutMs)
  },
  async file(messageId, { timeoutMs } = {}) {
    const { headers, body } = await caller.open(
      { method: 'GET', keyIn: 'bearer', path: `/messages/${encodeURIComponent(messageId)}/media` },
      timeoutMs,
    )
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
    // Not encoded as declared: the plain form is there as well.
  }
  const [, quoted, bare] = /filename=(?:"((?:[^"\\]|\\.)*)"|([^;]+))/i.exec(disposition) ?? []
  return quoted?.replace(/\\(.)/g, '$1') ?? bare?.trim() ?? 'file'
}
