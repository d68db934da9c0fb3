// Laneway from another Node service: sends and follows messages, over HTTP or through the Redis that both reach.
//
//   const laneway = await connectLaneway({ url: 'https://laneway.example', apiKey: 'lw_…' })
//   const id = await laneway.send({ to: '+14155550123', type: 'image', image: { link } }, { idempotencyKey: 'order-17' })
//   const { status } = await laneway.waitForOutcome(id)
import { type Campaigns, openCampaigns } from './campaigns.ts'
import { type LanewayError, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import { createCaller, type HttpCaller } from './http-call.ts'
import { bodyOf, type Message } from './messages.ts'
import { openOperations } from './operations.ts'
import { type Conversations, type OptOuts, openConversations, openOptOuts } from './people.ts'
import { isOutcome, type MessageStatus, openStatuses } from './statuses.ts'
import { askOne, type Lifetime, newLifetime, type Reply, type Transport, type WaitOptions } from './transport.ts'
import type { Operations } from './types.ts'

const OUTCOME_LIMIT_MS = 60_000
/** Messages per lookup, few enough to be answered in time; and lookups at once. */
const LOT = 500
const LOTS_AT_ONCE = 2

interface Key {
  /** A key with `messages:send` for sending and for changing campaigns, `messages:read` for looking. Opt-outs need others. */
  apiKey: string
}

/** Either the address of the service, `https://…`, or that of the Redis that it runs on: `redis://…`, `redis+sentinel://…`, `redis+cluster://…`. */
export type ConnectOptions = HttpOptions | (Key & { redisUrl: string; url?: never })
/** Over HTTP. */
export type HttpOptions = Key & {
  url: string
  redisUrl?: never
  /** The account that a key of an operator acts for. */
  account?: number
}

/** How one message is sent. The wait is 30 s unless `timeoutMs` says otherwise. */
export interface SendOptions extends WaitOptions {
  /** At most 255 characters. Asking again with it, in any process, at any time within 8 days, sends nothing twice. */
  idempotencyKey?: string
  /** The trace that the message belongs to (W3C Trace Context). One that is none is ignored. */
  traceparent?: string
}

/** One message of `sendMany`, with the idempotency key it is sent under and the trace it belongs to. */
export interface SendItem {
  message: Message
  idempotencyKey?: string
  traceparent?: string
}

export type SendResult = { ok: true; id: string } | { ok: false; error: LanewayError }

/** A connected client. Every call may reject with a LanewayError; anything else that is thrown is a defect. */
export interface Laneway {
  /**
   * Hands a message over and resolves to its id once it is accepted: it is durable then, and waits to be sent. Rejects
   * with LanewayRefused, LanewayTimeout (default 30 s) or LanewayUnavailable.
   */
  send(message: Message, options?: SendOptions): Promise<string>
  /** The same for many, each with its own result, in their order. The time limit holds for each 500 of them. */
  sendMany(items: readonly SendItem[], options?: WaitOptions): Promise<SendResult[]>
  /** The status of a message, also of a received one. */
  status(id: string, options?: WaitOptions): Promise<MessageStatus>
  /**
   * Waits until a message is delivered or read, or until it will not be: failed, expired, cancelled or unknown. Rejects
   * with LanewayTimeout (default 60 s); the message continues all the same.
   */
  waitForOutcome(id: string, options?: WaitOptions): Promise<MessageStatus>
  /**
   * `for await (const change of laneway.subscribe(ids))`: the present status of each, then every change that is seen.
   * Ends when each has its outcome; leave the loop to end it before. Goes on when Redis or the service was away.
   */
  subscribe(ids: Iterable<string>): AsyncIterable<MessageStatus>
  campaigns: Campaigns
  /** Ends everything that still waits with LanewayUnavailable. */
  close(): Promise<void>
}

/** A client that is connected over HTTP, with what only HTTP offers. */
export interface LanewayOverHttp extends Laneway {
  optOuts: OptOuts
  conversations: Conversations
  /** Every operation of the interface, by family. */
  operations: Operations
}

/**
 * Connects to Laneway. Rejects with LanewayUnavailable when its Redis cannot be reached; over HTTP no request is made yet.
 */
export async function connectLaneway(options: HttpOptions): Promise<LanewayOverHttp>
export async function connectLaneway(options: ConnectOptions): Promise<Laneway>
export async function connectLaneway(options: ConnectOptions): Promise<Laneway | LanewayOverHttp> {
  const { url, redisUrl, apiKey } = options
  if ((url === undefined) === (redisUrl === undefined)) throw new TypeError('Give either url or redisUrl.')
  const life = newLifetime()
  // Loads only the one that is used: over HTTP nobody waits for BullMQ to load.
  if (url === undefined) return clientOf(await (await import('./intake.ts')).openIntake(redisUrl, apiKey, life), life)
  const caller: HttpCaller = createCaller(url, apiKey, life, 'account' in options ? options.account : undefined)
  const laneway = clientOf((await import('./http.ts')).openHttp(caller), life)
  return {
    ...laneway,
    optOuts: openOptOuts(caller),
    conversations: openConversations(caller),
    operations: openOperations(caller),
  }
}

function clientOf(transport: Transport, life: Lifetime): Laneway {
  const statuses = openStatuses(transport, life)

  return {
    async send(message, { timeoutMs, ...options } = {}) {
      const request = requestOf({ message, ...options })
      return (await askOne(transport, 'send', request, timeoutMs)).message_id
    },

    async sendMany(items, { timeoutMs } = {}) {
      const lots = Array.from({ length: Math.ceil(items.length / LOT) }, (_none, i) =>
        items.slice(i * LOT, (i + 1) * LOT).map(requestOf),
      )
      const replies: Reply<'send'>[][] = []
      // The runners share one list: while one waits for the last replies of its lot, a worker is busy with another.
      const rest = lots.entries()
      await Promise.all(
        Array.from({ length: LOTS_AT_ONCE }, async () => {
          for (const [i, lot] of rest) replies[i] = await transport.ask('send', lot, timeoutMs)
        }),
      )
      return replies.flat().map(resultOf)
    },

    status: (id, { timeoutMs } = {}) => statuses.read(id, timeoutMs),

    async waitForOutcome(id, { timeoutMs = OUTCOME_LIMIT_MS } = {}) {
      let last: MessageStatus | undefined
      let silence: LanewayError = new LanewayUnavailable('There was no answer until the time was over.')
      const deadline = performance.now() + timeoutMs
      const onSilence = (error: LanewayError): void => {
        silence = error
      }
      for await (const status of statuses.follow([id], { deadline, onSilence })) last = status
      if (last && isOutcome(last)) return last
      if (!last) throw silence
      throw new LanewayTimeout(`After ${timeoutMs / 1_000} s the message is in the state ${last.status}.`)
    },

    subscribe: (ids) => statuses.follow(ids),

    campaigns: openCampaigns(transport, life),

    async close() {
      life.end()
      await transport.close()
    },
  }
}

const requestOf = ({ message, idempotencyKey, traceparent }: SendItem) => ({
  message: bodyOf(message),
  idempotency_key: idempotencyKey,
  // Left out if there is none: an older service does not know the field and refuses it.
  ...(traceparent !== undefined && { traceparent }),
})

function resultOf(reply: Reply<'send'>): SendResult {
  return reply.ok ? { ok: true, id: reply.answer.message_id } : reply
}
