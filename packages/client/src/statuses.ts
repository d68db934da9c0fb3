// Following messages by polling until each has its outcome. A stream of changes would cost a write for every message of
// every account, including those that nobody follows.
import { type LanewayError, LanewayRefused } from './errors.ts'
import { ANSWER_LIMIT_MS, askOne, type Lifetime, type Transport } from './transport.ts'
import type { MessageState } from './types.ts'

/** The status of a message. */
export interface MessageStatus {
  id: string
  status: MessageState
  /** A sentence where something went wrong or is not proven. */
  errorMessage: string | null
}

/** Statuses that end the wait. Later proof may still correct the last four. */
const OUTCOMES: readonly MessageState[] = ['delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown']

/** Whether the client stops waiting at this status. */
export const isOutcome = ({ status }: MessageStatus): boolean => OUTCOMES.includes(status)

const FIRST_DELAY_MS = 50
const DELAY_GROWTH = 1.5
const LONGEST_DELAY_MS = 10_000
/** Messages read in one go; more would hold up all other requests. */
const AT_ONCE = 500

/** How long messages are followed, and what is called when no answer came. */
export interface FollowOptions {
  /** Ends then at the latest, on the clock of `performance`. */
  deadline?: number
  /** Called with the reason when there was no answer; the client tries again all the same. */
  onSilence?: (error: LanewayError) => void
}

/** Statuses of messages, read once or followed. */
export interface Statuses {
  /** The status of a message; rejects with LanewayRefused when the account does not have it. */
  read(id: string, timeoutMs?: number): Promise<MessageStatus>
  /**
   * Each status of each message: the present one first, then every change that is seen, until all have an outcome. A
   * status that lasts shorter than the delay between two polls may be missed.
   */
  follow(ids: Iterable<string>, options?: FollowOptions): AsyncGenerator<MessageStatus>
}

/** The statuses of a connected client. Every wait in them ends with LanewayUnavailable when `life` ends. */
export function openStatuses(transport: Transport, life: Lifetime): Statuses {
  /** The statuses of these messages, in their order; undefined for those without an answer. */
  async function look(
    ids: readonly string[],
    timeoutMs: number,
    onSilence: FollowOptions['onSilence'],
  ): Promise<(MessageStatus | undefined)[]> {
    const requests = ids.map((message_id) => ({ message_id }))
    const replies = await transport.ask('status', requests, timeoutMs)
    return ids.map((id, i) => {
      const reply = replies[i]
      if (reply?.ok) return { id, status: reply.answer.status, errorMessage: reply.answer.error_message }
      if (reply?.error instanceof LanewayRefused) throw reply.error
      if (reply) onSilence?.(reply.error)
      return undefined
    })
  }

  async function* follow(
    ids: Iterable<string>,
    { deadline = Number.POSITIVE_INFINITY, onSilence }: FollowOptions = {},
  ): AsyncGenerator<MessageStatus> {
    const followed = new Map(
      [...ids].map((id) => [id, { last: undefined as MessageState | undefined, dueAt: 0, delay: FIRST_DELAY_MS }]),
    )
    while (followed.size > 0) {
      const now = performance.now()
      const due = [...followed].filter(([, { dueAt }]) => dueAt <= now).slice(0, AT_ONCE)
      const names = due.map(([id]) => id)
      const limitMs = Math.max(1, Math.min(ANSWER_LIMIT_MS, deadline - now))
      const statuses = due.length === 0 ? [] : await look(names, limitMs, onSilence)
      for (const [i, [id, message]] of due.entries()) {
        const status = statuses[i]
        const isNew = status !== undefined && status.status !== message.last
        message.delay = isNew ? FIRST_DELAY_MS : Math.min(message.delay * DELAY_GROWTH, LONGEST_DELAY_MS)
        message.dueAt = performance.now() + message.delay
        if (!isNew) continue
        message.last = status.status
        if (isOutcome(status)) followed.delete(id)
        yield status
      }
      let next = Number.POSITIVE_INFINITY
      for (const { dueAt } of followed.values()) next = Math.min(next, dueAt)
      if (followed.size === 0 || next > deadline) return
      await life.sleep(Math.max(0, next - performance.now()))
    }
  }

  return {
    async read(id, timeoutMs) {
      const { status, error_message } = await askOne(transport, 'status', { message_id: id }, timeoutMs)
      return { id, status, errorMessage: error_message }
    },
    follow,
  }
}
