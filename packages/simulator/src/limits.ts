// The limits of WhatsApp, each off until the control endpoint switches it on: messages per second of a sender,
// messages to one recipient, and the 24 hours after a person's last message in which anything but a template may be sent.

import { BoundedMap } from './bounded-map.ts'
import type { Refusal } from './chat-errors.ts'
import { SlidingSecond } from './sliding-second.ts'
import type { Submission } from './submission.ts'

/** A burst of 45 to one recipient, then one per 6 seconds: WhatsApp's published pair limit. */
const PAIR_BURST = 45
const PAIR_REFILL_MS = 6000
const WINDOW_MS = 24 * 60 * 60 * 1000
/** Pairs and conversations remembered. */
const REMEMBERED = 100_000

/** WhatsApp's limits, with what must be remembered of earlier messages to hold them. */
export class Limits {
  /** Messages per second and sender, or null for no limit. */
  throughput: number | null = null
  pairLimit = false
  window24h = false
  #seconds = new Map<string, SlidingSecond>()
  #pairs = new BoundedMap<{ tokens: number; atMs: number }>(REMEMBERED)
  #lastInbound = new BoundedMap<number>(REMEMBERED)

  /**
   * Counts a request and refuses it when it is one too many. A refused one does not count.
   */
  refuse(submission: Submission, nowMs: number): Refusal | null {
    const limit = this.throughput
    const second = this.#seconds.get(submission.account) ?? new SlidingSecond()
    if (limit !== null && !second.hasRoom(limit, nowMs)) return { code: 130429 }
    if (this.pairLimit && !this.#takePairToken(submission, nowMs)) return { code: 131056 }
    if (limit !== null) {
      second.take(limit, nowMs)
      this.#seconds.set(submission.account, second)
    }
    return null
  }

  /** Whether the message fails because the recipient has been silent for too long. */
  isOutsideWindow(submission: Submission, nowMs: number): boolean {
    if (!this.window24h || submission.template !== null) return false
    return !this.hasWindow(submission.wire === 'cloud' ? submission.account : '', submission.to, nowMs)
  }

  /** Whether a person has written to a business number within 24 hours. */
  hasWindow(phoneNumberId: string, to: string, nowMs: number): boolean {
    const last = this.#lastInbound.get(conversation(phoneNumberId, to))
    return last !== undefined && nowMs - last < WINDOW_MS
  }

  /** A person wrote to a business number: this opens the window for that number, and for the partner wire. */
  noteInbound(phoneNumberId: string, from: string, nowMs: number): void {
    // the partner wire does not show which phone number id belongs to an api_key
    this.#lastInbound.set(conversation(phoneNumberId, from), nowMs)
    this.#lastInbound.set(conversation('', from), nowMs)
  }

  #takePairToken(submission: Submission, nowMs: number): boolean {
    const key = conversation(submission.account, submission.to)
    const known = this.#pairs.get(key) ?? { tokens: PAIR_BURST, atMs: nowMs }
    const tokens = Math.min(PAIR_BURST, known.tokens + (nowMs - known.atMs) / PAIR_REFILL_MS)
    const allowed = tokens >= 1
    this.#pairs.set(key, { tokens: allowed ? tokens - 1 : tokens, atMs: nowMs })
    return allowed
  }
}

function conversation(account: string, person: string): string {
  return `${account} ${person}`
}
