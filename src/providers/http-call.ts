// One POST to a provider, and how it ended. Its whole point is to know whether any byte of the request can have
// left: a request is written by one call, onto a connection that is open (http-connection.ts), so what failed before that
// call is proof that the provider knows nothing of the message. Error codes alone do not show it: of 84 requests that
// ended in a reset, 38 had never reached the server.

import { type Deadline, deadlineIn, isOver } from '../deadline.ts'
import { MISSED_SLOT } from '../messages/outcome.ts'
import type { HttpAgent } from './http-agent.ts'
import type { Answer } from './http-answer.ts'
import type { Call, Connection } from './http-connection.ts'

export type HttpEnd =
  | { kind: 'never_left'; cause: string }
  | { kind: 'unanswered'; cause: string }
  | { kind: 'answer'; status: number; body: string; retryAfterMs: number | undefined }

/**
 * POSTs a JSON body, as an object or written already, and never rejects. `timeoutMs` bounds the whole call, from here to the last byte of the answer.
 * What would leave after `leaveBy` (`performance.now()`) does not; the connection that it waited for stays open.
 */
export function postJson(
  agent: Pick<HttpAgent, 'send'>,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: object | string,
  timeoutMs: number,
  leaveBy = Number.POSITIVE_INFINITY,
): Promise<HttpEnd> {
  const head = headOf(url, headers)
  if (head === undefined) return Promise.resolve({ kind: 'never_left', cause: 'invalid_header' })
  const json = typeof body === 'string' ? body : JSON.stringify(body)
  return new Promise((resolve) => {
    agent.send(url, new JsonCall(resolve, { head, json, path: url.pathname, timeoutMs, leaveBy }))
  })
}

const cameOn = new WeakMap<HttpEnd, Connection>()

/** Closes the connection of an answer that cannot be that to its request: what comes next there would be one too late. */
export const closeConnectionOf = (answer: HttpEnd): void => cameOn.get(answer)?.destroy()

/** What is to be written: `head` goes up to how long the body is. */
interface Request {
  head: string
  json: string
  path: string
  timeoutMs: number
  leaveBy: number
}

/** A class, for there is one of each message: closures for all of this would be as many objects again. */
class JsonCall implements Call {
  private readonly resolve: (end: HttpEnd) => void
  private readonly request: Request
  private readonly deadline: Deadline
  private readonly slotEnd: Deadline
  private readonly timer: NodeJS.Timeout
  private running: Connection | undefined
  private isOver = false

  constructor(resolve: (end: HttpEnd) => void, request: Request) {
    this.resolve = resolve
    this.request = request
    this.deadline = deadlineIn(request.timeoutMs)
    this.slotEnd = deadlineIn(request.leaveBy - performance.now())
    this.timer = setTimeout(timeOut, request.timeoutMs, this)
  }

  leave(connection: Connection): { path: string; text: string } | undefined {
    // A process that was stopped meanwhile hears of the connection before its timer fires, so the clock is asked.
    const { head, json, path } = this.request
    if (isOver(this.deadline)) this.failed('timeout')
    else if (isOver(this.slotEnd)) this.failed(MISSED_SLOT)
    if (this.isOver) return undefined
    this.running = connection
    return { path, text: `${head}${Buffer.byteLength(json)}\r\n\r\n${json}` }
  }

  answered({ status, body, retryAfter, date }: Answer): void {
    const answer = { kind: 'answer', status, body, retryAfterMs: readRetryAfter(retryAfter, date) } as const
    if (this.running) cameOn.set(answer, this.running)
    this.end(answer)
  }

  failed(cause: string): void {
    this.end({ kind: this.running ? 'unanswered' : 'never_left', cause })
  }

  timedOut(): void {
    this.failed('timeout')
    this.running?.destroy()
  }

  private end(how: HttpEnd): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.resolve(how)
  }
}

const timeOut = (call: JsonCall): void => call.timedOut()

/** Heads by their headers: those of a sender are the same for all that it sends. */
const heads = new WeakMap<object, { url: URL; head: string | undefined }>()
const NAME = /^[a-z0-9-]+$/
/** A line break would end the header and begin another one. */
const VALUE = /^[\t\x20-\x7e]*$/

/** The request up to how long its body is; undefined when something cannot stand in a header. */
function headOf(url: URL, headers: Readonly<Record<string, string>>): string | undefined {
  const known = heads.get(headers)
  if (known?.url === url) return known.head
  const all = Object.entries({
    host: url.host,
    connection: 'keep-alive',
    'content-type': 'application/json',
    ...headers,
  })
  const canStand = all.every(([name, value]) => NAME.test(name) && VALUE.test(value))
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const head = canStand ? `POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines}content-length: ` : undefined
  heads.set(headers, { url, head })
  return head
}

/** The header that hands the trace of a message on; none where it has none. */
export const traceHeader = ({ traceparent }: { traceparent?: string | undefined }): Record<string, string> =>
  traceparent === undefined ? {} : { traceparent }

/** `Retry-After` in seconds or as a date, which is one of the server's clock: ours may go ahead of it. */
function readRetryAfter(header: string | undefined, date: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (/^\d+(\.\d+)?$/.test(header)) return Math.ceil(Number(header) * 1_000)
  const at = Date.parse(header)
  const now = Date.parse(date ?? '')
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(now) ? Date.now() : now))
}
