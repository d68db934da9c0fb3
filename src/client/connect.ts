// Laneway from another Node service that reaches the same Redis: sends and follows messages without HTTP.
//
//   const laneway = await connectLaneway({ redisUrl: 'redis://…', apiKey: 'lw_…' })
//   const id = await laneway.send({ to: '+14155550123', type: 'image', image: { link } }, { idempotencyKey: 'order-17' })
//   const { status } = await laneway.waitForOutcome(id)
import { intakeAnswers } from '../jobs/intake.ts'
import { openAsking, type Reply } from './ask.ts'
import { type Campaigns, openCampaigns } from './campaigns.ts'
import { openConnection } from './connection.ts'
import { type LanewayError, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import { bodyOf, type Message } from './messages.ts'
import { isOutcome, type MessageStatus, openStatuses } from './statuses.ts'
import type { WaitOptions } from './wait-options.ts'

const OUTCOME_LIMIT_MS = 60_000
/** Messages asked for at once, few enough that the last is not late for its answer; and so many such lots at a time. */
const LOT = 500
const LOTS_AT_ONCE = 2

export interface ConnectOptions {
  /** The Redis that Laneway runs on, `redis://…` or `rediss://…`. */
  redisUrl: string
  /** A key with `messages:send` for sending, `messages:read` for statuses. */
  apiKey: string
}

export interface SendOptions extends WaitOptions {
  /** At most 255 characters. Asking again with it, in any process, at any time within 8 days, sends nothing twice. */
  idempotencyKey?: string
}

export interface SendItem {
  message: Message
  idempotencyKey?: string
}

export type SendResult = { ok: true; id: string } | { ok: false; error: LanewayError }

export interface Laneway {
  /**
   * Hands a message over and resolves to its id once it is accepted: it is durable then, and waits to be sent. Rejects
   * with LanewayRefused, LanewayTimeout (default 30 s) or LanewayUnavailable.
   */
  send(message: Message, options?: SendOptions): Promise<string>
  /** The same for many, each with its own result, in their order. The time limit holds for each 500 of them. */
  sendMany(items: readonly SendItem[], options?: WaitOptions): Promise<SendResult[]>
  /** How a message stands; its id may also be that of a received one. */
  status(id: string): Promise<MessageStatus>
  /**
   * Waits until a message is delivered or read, or until it will not be: failed, expired, cancelled or unknown. Rejects
   * with LanewayTimeout (default 60 s); the message goes its way all the same.
   */
  waitForOutcome(id: string, options?: WaitOptions): Promise<MessageStatus>
  /**
   * `for await (const change of laneway.subscribe(ids))`: the present status of each, then every change that is seen.
   * Ends when each has its outcome; leave the loop to end it before. Rides out a Redis that is away.
   */
  subscribe(ids: Iterable<string>): AsyncIterable<MessageStatus>
  campaigns: Campaigns
  /** Ends everything that still waits with LanewayUnavailable. */
  close(): Promise<void>
}

/** Connects to Laneway's Redis. Rejects with LanewayUnavailable when it cannot be reached. */
export async function connectLaneway({ redisUrl, apiKey }: ConnectOptions): Promise<Laneway> {
  const connection = await openConnection(redisUrl)
  const asking = openAsking(connection, apiKey)
  const statuses = openStatuses(connection, apiKey)

  return {
    async send(message, { idempotencyKey, timeoutMs } = {}) {
      const request = requestOf({ message, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) })
      return (await asking.askOne('send', intakeAnswers.send, request, timeoutMs)).message_id
    },

    async sendMany(items, { timeoutMs } = {}) {
      const lots = Array.from({ length: Math.ceil(items.length / LOT) }, (_none, i) =>
        items.slice(i * LOT, (i + 1) * LOT).map(requestOf),
      )
      const replies: Reply[][] = []
      // The runners share one list: while one looks for the last ends of its lot, a worker is busy with another.
      const rest = lots.entries()
      await Promise.all(
        Array.from({ length: LOTS_AT_ONCE }, async () => {
          for (const [i, lot] of rest) replies[i] = await asking.ask('send', lot, timeoutMs)
        }),
      )
      return replies.flat().map(resultOf)
    },

    async status(id) {
      const [status] = (await connection.unlessAway(() => statuses.read([id]))) ?? []
      if (!status) throw new LanewayUnavailable('Redis is away.')
      return status
    },

    async waitForOutcome(id, { timeoutMs = OUTCOME_LIMIT_MS } = {}) {
      let last: MessageStatus | undefined
      for await (const status of statuses.follow([id], performance.now() + timeoutMs)) last = status
      if (last && isOutcome(last)) return last
      if (!last) throw new LanewayUnavailable('Redis was away until the time was over.')
      throw new LanewayTimeout(`After ${timeoutMs / 1_000} s the message is in the state ${last.status}.`)
    },

    subscribe: (ids) => statuses.follow(ids),

    campaigns: openCampaigns(connection, asking, apiKey),

    async close() {
      connection.close()
      await asking.close()
    },
  }
}

const requestOf = ({ message, idempotencyKey }: SendItem): object => ({
  message: bodyOf(message),
  idempotency_key: idempotencyKey,
})

function resultOf(reply: Reply): SendResult {
  return reply.ok ? { ok: true, id: intakeAnswers.send.parse(reply.answer).message_id } : reply
}
