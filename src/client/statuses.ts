// Following messages: reads their records, again and again, until nothing more is to be expected.
//
// Reading is done here and not through the intake queue: it takes one or two commands where a job takes dozens, and it
// tells the status even while every worker is stopped. Changes are found by polling, because a stream of them would cost
// every message of every account a write, also of those that nobody follows.

import { deliveryOf, findOwnMessage } from '../lookup/own-message.ts'
import type { State } from '../messages/lifecycle.ts'
import { type Connection, credentialFor } from './connection.ts'
import { LanewayRefused } from './errors.ts'

/** How a message stands. */
export interface MessageStatus {
  id: string
  status: State
  /** A sentence where something went wrong or is not proven. */
  errorMessage: string | null
}

/** Statuses after which nothing more is waited for. Proof that comes later may still correct the last four. */
const OUTCOMES: readonly State[] = ['delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown']

export const isOutcome = ({ status }: MessageStatus): boolean => OUTCOMES.includes(status)

const FIRST_DELAY_MS = 50
const DELAY_GROWTH = 1.5
const LONGEST_DELAY_MS = 10_000
/** Messages read in one go; more would hold up whatever else the connection is asked. */
const AT_ONCE = 500

export type Statuses = ReturnType<typeof openStatuses>

export function openStatuses(connection: Connection, apiKey: string) {
  const { redis } = connection

  /** How these messages stand, in their order; rejects with LanewayRefused when the account has one of them not. */
  async function read(ids: readonly string[]): Promise<MessageStatus[]> {
    const now = Date.now()
    const { account } = await credentialFor(redis, apiKey, 'messages:read')
    return Promise.all(
      ids.map(async (id) => {
        const found = await findOwnMessage(redis, account, id, now)
        if (!found) {
          throw new LanewayRefused({ code: 'not_found', message: `The message ${id} does not exist.`, details: [] })
        }
        const { status, error_message } = deliveryOf(found)
        return { id, status, errorMessage: error_message }
      }),
    )
  }

  /**
   * Each status of each message: the present one first, then every change that is seen, until all have an outcome. A
   * status that lasts shorter than the delay between two looks may be passed over. While Redis is away it waits. With a
   * `deadline` (on the clock of `performance`) it ends then at the latest.
   */
  async function* follow(ids: Iterable<string>, deadline = Number.POSITIVE_INFINITY): AsyncGenerator<MessageStatus> {
    const followed = new Map(
      [...ids].map((id) => [id, { last: undefined as State | undefined, dueAt: 0, delay: FIRST_DELAY_MS }]),
    )
    while (followed.size > 0) {
      const now = performance.now()
      const due = [...followed].filter(([, { dueAt }]) => dueAt <= now).slice(0, AT_ONCE)
      const statuses = due.length === 0 ? [] : await connection.unlessAway(() => read(due.map(([id]) => id)))
      for (const [i, [id, message]] of due.entries()) {
        const status = statuses?.[i]
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
      await connection.sleep(Math.max(0, next - performance.now()))
    }
  }

  return { read, follow }
}
