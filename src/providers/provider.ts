// What every provider can do. Two wires exist: partner-api and cloud-api.
import type { Content } from '../messages/content.ts'
import type { Evidence } from '../messages/lifecycle.ts'
import type { CallEnd, Problem } from '../messages/outcome.ts'

/** The sender as a provider needs it; the token is in clear and must not leave the call. */
export interface ProviderSender {
  /** Digits with country code. */
  number: string
  baseUrl: string
  token: string
  phoneNumberId: string
}

export interface ProviderMessage {
  id: string
  attempt: string
  /** Digits with country code. */
  to: string
  content: Content
  campaign: string | undefined
}

/** What a status poll found. */
export type PollEnd =
  | { kind: 'status'; status: Evidence; problem: Problem | undefined }
  /** Known there, nothing new to tell. */
  | { kind: 'pending' }
  /** It takes no polls for now; `retryAfterMs` where it says for how long. */
  | { kind: 'throttled'; retryAfterMs: number | undefined }
  /** No answer, an unreadable one, or the provider does not know the message: ask again later. */
  | { kind: 'no_answer'; cause: string }

export interface Provider {
  /**
   * Sends once and says how the call ended. Never rejects, never repeats. `timeoutMs` bounds the whole call, and nothing
   * leaves after `leaveBy` (`performance.now()`).
   */
  send(sender: ProviderSender, message: ProviderMessage, timeoutMs: number, leaveBy?: number): Promise<CallEnd>
  /** Asks for the status of a message. Only on wires that tell nothing by themselves; never rejects. */
  poll?: (sender: ProviderSender, providerId: string, timeoutMs: number) => Promise<PollEnd>
}
