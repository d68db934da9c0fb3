// What every provider can do. Two wires exist: partner-api and cloud-api.

import type { MarketingRoute } from './accounts/sender.ts'
import type { Content } from './messages/content.ts'
import type { Evidence } from './messages/lifecycle.ts'
import type { CallEnd, Problem } from './messages/outcome.ts'

/** The sender as a provider needs it; the token is in clear and must not leave the call. */
export interface ProviderSender {
  /** Digits with country code. */
  number: string
  baseUrl: string
  token: string
  phoneNumberId: string
}

/** When a request may leave: no byte of it leaves after `leaveBy` (ms, monotonic clock). `left` is called when the first does. */
export interface Departure {
  leaveBy: number
  left(): void
}

/** One attempt to send a message. `id` and `attempt` come back in webhooks on wires that carry them. */
export interface ProviderMessage {
  id: string
  attempt: string
  /** Digits with country code. */
  to: string
  content: Content
  /** Of a campaign's message: `content`, the same object for all of them, has placeholders for these (model/messages/placeholders.ts). */
  values?: readonly string[] | undefined
  /** Of an approved marketing template, on wires that have an address for these. */
  route?: MarketingRoute | undefined
  campaign: string | undefined
  /** The trace that the request belongs to, where there is one. */
  traceparent?: string | undefined
}

/** A file to be uploaded. */
export interface UploadedFile {
  mimeType: string
  /** Without dot. */
  extension: string
  /** Bytes. */
  size: number
  /** Its bytes; they can be read once. */
  content: AsyncIterable<Uint8Array>
}

/** What a status poll found. */
export type PollEnd =
  | { kind: 'status'; status: Evidence; problem: Problem | undefined }
  /** Known there, nothing new. */
  | { kind: 'pending' }
  /** It takes no polls for now; `retryAfterMs` if it gives one. */
  | { kind: 'throttled'; retryAfterMs: number | undefined }
  /** No answer, an unreadable one, or the provider does not know the message: ask again later. */
  | { kind: 'no_answer'; cause: string }

/** Talks to one kind of upstream. No method throws: every end of a call is a value. */
export interface Provider {
  /**
   * Sends once and returns how the call ended. Never rejects, never repeats. `timeoutMs` bounds the whole call; it leaves within
   * `departure`, or not at all.
   */
  send(sender: ProviderSender, message: ProviderMessage, timeoutMs: number, departure?: Departure): Promise<CallEnd>
  /** Asks for the status of a message. Only on wires without webhooks. */
  poll?: (sender: ProviderSender, providerId: string, timeoutMs: number) => Promise<PollEnd>
  /**
   * Uploads a file; `accepted` has the id that messages of the sender name it by. Rejects as reading the file does. Only on
   * wires that take uploads: the others fetch files by their address.
   */
  upload?: (sender: ProviderSender, file: UploadedFile, stopped: AbortSignal) => Promise<CallEnd>
}
