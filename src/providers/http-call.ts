// One POST to a provider, and how it ended. It must know whether any byte of the request can have left (http-proof.ts), so
// the writer reports when it starts to write.

import { channel } from 'node:diagnostics_channel'
import type { Dispatcher } from 'undici'
import { bothClocks, type Deadline, deadlineIn, isOver } from '../kernel/deadline.ts'
import { MISSED_SLOT, WORKER_LATE } from '../model/messages/outcome.ts'
import type { Departure } from '../model/provider.ts'
import { causeOf, readRetryAfter } from '../outbound/answers.ts'
import type { Asked, HttpAgent } from './http-agent.ts'
import type { Connection, Request } from './http-contract.ts'
import { isOfStream, neverLeft } from './http-proof.ts'
import { stalledSince, unwatch, watch } from './stalls.ts'

export type HttpEnd =
  | { kind: 'never_left'; cause: string }
  | { kind: 'unanswered'; cause: string }
  | { kind: 'answer'; status: number; body: string; retryAfterMs: number | undefined }

/** Longest body that is read; a provider's are under 1 KB each. */
const MAX_BODY_BYTES = 256 * 1024

/** For measuring when requests leave: `{ path }` of each, right before it is written. */
const departures = channel('laneway:departure')

const AT_ANY_TIME: Departure = { leaveBy: Number.POSITIVE_INFINITY, left: () => {} }

/**
 * POSTs a JSON body, as an object or written already, and never rejects. `timeoutMs` bounds the whole call, from here
 * to the last byte of the answer; an answer that has arrived by the time the time-out is noticed counts, and where this
 * process stalled it waits a little longer (MOST_GRACE_MS). Where `departure` ends before it can leave, the connection that it
 * waited for stays open.
 */
export function postJson(
  agent: Pick<HttpAgent, 'ask'>,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: object | string,
  timeoutMs: number,
  departure: Departure = AT_ANY_TIME,
): Promise<HttpEnd> {
  const list = headersOf(headers)
  if (list === undefined) return Promise.resolve({ kind: 'never_left', cause: 'invalid_header' })
  const request: Request = {
    path: `${url.pathname}${url.search}`,
    method: 'POST',
    headers: list,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
  return new Promise((resolve) => {
    void new JsonCall(resolve, { agent, url, request, timeoutMs, departure }).send()
  })
}

/** Closes the connection after an answer that belongs to another request: each later one there would as well. */
export function closeConnectionOf(answer: HttpEnd): void {
  if (answer instanceof Answer) answer.retireConnection()
}

/** An answer, which knows the connection that it came on. */
class Answer {
  readonly kind = 'answer'
  readonly status: number
  readonly body: string
  readonly retryAfterMs: number | undefined
  readonly #connection: Connection | undefined

  constructor(status: number, body: string, retryAfterMs: number | undefined, connection: Connection | undefined) {
    this.status = status
    this.body = body
    this.retryAfterMs = retryAfterMs
    this.#connection = connection
  }

  retireConnection(): void {
    this.#connection?.retire()
  }
}

interface Sent {
  agent: Pick<HttpAgent, 'ask'>
  url: URL
  request: Request
  timeoutMs: number
  departure: Departure
}

/** A class, for there is one of each message: closures for all of this would be as many objects again. */
class JsonCall implements Dispatcher.DispatchHandler {
  private readonly resolve: (end: HttpEnd) => void
  private readonly sent: Sent
  private readonly deadline: Deadline
  private readonly slotEnd: Deadline
  private timer: NodeJS.Timeout
  /** The stall mark at its beginning (stalls.ts). */
  private readonly stalledBefore: number
  private hasGrace = true
  /** While it waits for a connection. */
  private asked: Asked | undefined
  private connection: Connection | undefined
  /** Set once the request may have left. */
  private controller: Dispatcher.DispatchController | undefined
  private isOver = false
  private status = 0
  private retryAfter: string | undefined
  private date: string | undefined
  private length: number | undefined
  private pieces: Buffer[] = []
  private received = 0

  constructor(resolve: (end: HttpEnd) => void, sent: Sent) {
    this.resolve = resolve
    this.sent = sent
    const now = bothClocks()
    this.deadline = deadlineIn(sent.timeoutMs, now)
    this.slotEnd = deadlineIn(sent.departure.leaveBy - now.steadyMs, now)
    this.timer = setTimeout(timeOut, sent.timeoutMs, this)
    this.stalledBefore = watch()
  }

  /** Writes the request as soon as there is a connection. Never rejects. */
  async send(): Promise<void> {
    this.asked = this.sent.agent.ask(this.sent.url, this.slotEnd)
    const given = await this.asked.given
    this.asked = undefined
    if (typeof given === 'string') return this.failed(given)
    // One that may not leave any more leaves its connection to the next.
    if (!this.mayLeave()) return given.giveBack()
    this.connection = given
    try {
      given.writer.dispatch(this.sent.request, this)
    } catch (error) {
      given.retire()
      this.failed(error instanceof Error ? causeOf(error) : 'unknown')
    }
  }

  /**
   * A process that was stopped meanwhile handles the connection before its timer fires, so the clock is checked. The slot comes first:
   * where both are over there is a connection now, and it was this process that was late.
   */
  private mayLeave(): boolean {
    const now = bothClocks()
    if (isOver(this.slotEnd, now)) this.failed(MISSED_SLOT)
    else if (isOver(this.deadline, now)) this.failed('timeout')
    return !this.isOver
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.controller) this.failed('repeated')
    // Throwing takes the request back and leaves the connection as it is (undici's writeH1 catches it before it writes,
    // as http-writers.ts does); `controller.abort` would close one of HTTP/1.1.
    if (this.isOver || !this.mayLeave()) throw new Error('it may not leave any more')
    this.controller = controller
    this.sent.departure.left()
    if (departures.hasSubscribers) departures.publish({ path: this.sent.url.pathname })
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.status = status
    this.retryAfter = first(headers['retry-after'])
    this.date = first(headers.date)
    const length = first(headers['content-length'])
    const hasBody = status >= 200 && status !== 204 && status !== 304
    this.length = hasBody && length !== undefined ? Number(length) : undefined
    // A body that is encoded in yet another way cannot be read.
    if ((first(headers['transfer-encoding']) ?? 'chunked').toLowerCase() !== 'chunked')
      this.breakOff('bad_answer', controller)
    else if (this.length !== undefined && this.length > MAX_BODY_BYTES) this.breakOff('answer_too_large', controller)
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.received += piece.length
    if (this.received > MAX_BODY_BYTES) this.breakOff('answer_too_large', controller)
    else this.pieces.push(piece)
  }

  onResponseEnd(): void {
    // By HTTP/2 a stream that the server broke off may end like one that is whole.
    if (this.length !== undefined && this.length !== this.received) {
      this.failed('bad_answer')
      return
    }
    const [only] = this.pieces
    const body = only !== undefined && this.pieces.length === 1 ? only : Buffer.concat(this.pieces)
    this.end(new Answer(this.status, body.toString('utf8'), this.retryAfterMs(), this.connection), true)
  }

  /** A date is on the server's clock: ours may be ahead of it. */
  private retryAfterMs(): number | undefined {
    if (this.retryAfter === undefined) return undefined
    const atMs = Date.parse(this.date ?? '')
    return readRetryAfter(this.retryAfter, Number.isNaN(atMs) ? Date.now() : atMs)
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.isOver) return
    const { connection } = this
    if (this.controller === undefined && connection?.isUsed && !connection.isOpen) {
      // The server closed it meanwhile, as it may; another one is opened.
      connection.ended(false)
      this.connection = undefined
      void this.send()
      return
    }
    this.endWithout(causeOf(error), isOfStream(error), error)
  }

  failed(cause: string): void {
    this.endWithout(cause, this.controller === undefined)
  }

  private endWithout(cause: string, isSound: boolean, error?: Error): void {
    const isProven = neverLeft({ isStarted: this.controller !== undefined, isAnswered: this.status !== 0, error })
    this.end({ kind: isProven ? 'never_left' : 'unanswered', cause }, isSound)
  }

  /** Its time is over: `turns` of the event loop are left for what has arrived, if it may have left at all. */
  timedOut(turns: number): void {
    if (this.isOver) return
    if (turns > 0 && this.controller) {
      setImmediate(timeOut, this, turns - 1)
      return
    }
    const { timeoutMs } = this.sent
    const stalledMs = stalledSince(this.stalledBefore)
    if (this.hasGrace && this.controller && stalledMs >= LEAST_GRACE_MS) {
      this.hasGrace = false
      this.timer = setTimeout(timeOut, Math.min(stalledMs, timeoutMs, MOST_GRACE_MS), this)
      return
    }
    this.breakOff(stalledMs >= timeoutMs * MOST_STALLED ? WORKER_LATE : 'timeout', this.controller)
  }

  private breakOff(cause: string, controller: Dispatcher.DispatchController | undefined): void {
    this.failed(cause)
    controller?.abort(new Error(cause))
  }

  /** `isSound`: the connection has nothing to do with how it ended. */
  private end(how: HttpEnd, isSound: boolean): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    unwatch()
    this.asked?.withdraw()
    this.connection?.ended(isSound)
    this.resolve(how)
  }
}

/**
 * After a process stalled, its timers fire before it reads its sockets, where the answer may have been waiting. Each
 * event-loop tick reads them; over TLS or HTTP/2 an answer may need a second turn to get through.
 */
const LAST_TURNS = 2
/**
 * The stall of the process is added to the time of a call once, up to this: an answer that came meanwhile is there at
 * once, unless who answers is on the same busy machine. The sweep takes the attempt for lost later than that
 * (SETTLE_WITHIN_MS).
 */
const MOST_GRACE_MS = 2_000
const LEAST_GRACE_MS = 20
/**
 * If the process stalled for this part of its time, a call without an answer proves nothing about the provider. After a shorter
 * stall it is a time-out: the stall was added, so the provider had all of its time, and this process read its sockets meanwhile.
 * A provider on the same busy machine may be late for the same reason; a campaign still pauses for that, because each such
 * message is unproven and somebody may have to look into it.
 */
const MOST_STALLED = 0.5

const timeOut = (call: JsonCall, turns = LAST_TURNS): void => call.timedOut(turns)

type Headers = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2]
const first = (value: string | string[] | undefined): string | undefined =>
  (Array.isArray(value) ? value[0] : value)?.trim()

/**
 * By the object of the headers, which is the same for all that a sender sends; undefined for headers that cannot stand
 * in a request.
 */
const known = new WeakMap<object, string[] | undefined>()
const NAME = /^[a-z0-9-]+$/
/** A line break would end the header and begin another one. */
const VALUE = /^[\t\x20-\x7e]*$/

function headersOf(headers: Readonly<Record<string, string>>): string[] | undefined {
  if (known.has(headers)) return known.get(headers)
  const all = Object.entries({ 'content-type': 'application/json', ...headers })
  const canStand = all.every(([name, value]) => NAME.test(name) && VALUE.test(value))
  const list = canStand ? all.flat() : undefined
  known.set(headers, list)
  return list
}

/** The header that passes a message's trace on; none where it has none. */
export const traceHeader = ({ traceparent }: { traceparent?: string | undefined }): Record<string, string> =>
  traceparent === undefined ? {} : { traceparent }
