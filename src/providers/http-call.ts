// One POST to a provider, and how it ended. Its whole point is to know whether any byte of the request can have
// left: a request is written by one call, onto a connection that is open (http-connection.ts), so what failed before that
// call is proof that the provider knows nothing of the message. Error codes alone do not show it: of 84 requests that
// ended in a reset, 38 had never reached the server.

import { MISSED_SLOT } from '../messages/outcome.ts'
import type { HttpAgent } from './http-agent.ts'
import type { Connection } from './http-connection.ts'

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
  const deadline = performance.now() + timeoutMs
  return new Promise((resolve) => {
    let running: Connection | undefined
    let isOver = false

    const end = (how: HttpEnd): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      resolve(how)
    }
    const fail = (cause: string): void => end({ kind: running ? 'unanswered' : 'never_left', cause })
    const timer = setTimeout(() => {
      fail('timeout')
      running?.destroy()
    }, timeoutMs)

    agent.send(url, {
      leave(connection) {
        // A process that was stopped meanwhile hears of the connection before its timer fires, so the clock is asked.
        const now = performance.now()
        if (now >= deadline) fail('timeout')
        else if (now > leaveBy) fail(MISSED_SLOT)
        if (isOver) return undefined
        running = connection
        return { path: url.pathname, text: `${head}${Buffer.byteLength(json)}\r\n\r\n${json}` }
      },
      answered({ status, body: text, retryAfter, date }) {
        end({ kind: 'answer', status, body: text, retryAfterMs: readRetryAfter(retryAfter, date) })
      },
      failed: fail,
    })
  })
}

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
