// One POST to a provider, and how it ended. Its whole point is to know whether any byte of the request can have
// left: undici calls onRequestStart right before it writes the head of a request onto an open connection, so an error
// before that is proof that the provider knows nothing of the message. Error codes alone do not show it: of 84 requests
// that ended in a reset, 38 had never reached the server.
import type { Dispatcher } from 'undici'
import { MISSED_SLOT } from '../messages/outcome.ts'
import type { HttpAgent } from './http-agent.ts'

/** Longest answer that is read; a provider's is under 1 KB. */
const MAX_ANSWER_BYTES = 256 * 1024

export type HttpEnd =
  | { kind: 'never_left'; cause: string }
  | { kind: 'unanswered'; cause: string }
  | { kind: 'answer'; status: number; body: string; retryAfterMs: number | undefined }

/**
 * POSTs a JSON body, as an object or written already, and never rejects. `timeoutMs` bounds the whole call, from here to the last byte of the answer.
 * What would leave after `leaveBy` (`performance.now()`) does not; the connection that it waited for stays open.
 */
export function postJson(
  agent: Pick<HttpAgent, 'dispatch'>,
  url: URL,
  headers: Record<string, string>,
  body: object | string,
  timeoutMs: number,
  leaveBy = Number.POSITIVE_INFINITY,
): Promise<HttpEnd> {
  const deadline = performance.now() + timeoutMs
  return new Promise((resolve) => {
    let running: Dispatcher.DispatchController | undefined
    let isOver = false
    let status = 0
    let retryAfterMs: number | undefined
    let received = 0
    const chunks: Buffer[] = []

    const end = (how: HttpEnd): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      resolve(how)
    }
    const fail = (cause: string): void => end({ kind: running ? 'unanswered' : 'never_left', cause })
    const timer = setTimeout(() => {
      fail('timeout')
      running?.abort(new Error('timeout'))
    }, timeoutMs)

    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      },
      {
        onRequestStart(controller) {
          // Its time was over while it waited for a connection: aborting here still keeps every byte back. A process
          // that was stopped meanwhile hears of the connection before its timer fires, so the clock is asked as well.
          if (performance.now() >= deadline) fail('timeout')
          else if (performance.now() > leaveBy) {
            fail(MISSED_SLOT)
            // Aborting would end the connection, and the request that is sent in another slot would wait for one again.
            throw new Error(MISSED_SLOT)
          }
          if (isOver) controller.abort(new Error('given up'))
          else running = controller
        },
        onResponseStart(_controller, statusCode, responseHeaders) {
          status = statusCode
          retryAfterMs = readRetryAfter(responseHeaders['retry-after'], responseHeaders.date)
        },
        onResponseData(controller, chunk) {
          received += chunk.length
          if (received > MAX_ANSWER_BYTES) {
            fail('answer_too_large')
            controller.abort(new Error('answer too large'))
          } else chunks.push(chunk)
        },
        onResponseEnd() {
          end({ kind: 'answer', status, body: Buffer.concat(chunks).toString('utf8'), retryAfterMs })
        },
        onResponseError(_controller, error) {
          fail(causeOf(error))
        },
      },
    )
  })
}

/** The header that hands the trace of a message on; none where it has none. */
export const traceHeader = ({ traceparent }: { traceparent?: string | undefined }): Record<string, string> =>
  traceparent === undefined ? {} : { traceparent }

/** `Retry-After` in seconds or as a date, which is one of the server's clock: ours may go ahead of it. */
function readRetryAfter(header: string | string[] | undefined, date: unknown): number | undefined {
  if (typeof header !== 'string') return undefined
  if (/^\d+(\.\d+)?$/.test(header)) return Math.ceil(Number(header) * 1_000)
  const at = Date.parse(header)
  const now = typeof date === 'string' ? Date.parse(date) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, at - (Number.isNaN(now) ? Date.now() : now))
}

/**
 * A short word for what went wrong, safe to log: an error code, never a message that may hold an address or a token.
 */
function causeOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const known: Readonly<Record<string, string>> = {
    ECONNREFUSED: 'refused',
    ENOTFOUND: 'name_not_found',
    EAI_AGAIN: 'name_not_found',
    UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
    ETIMEDOUT: 'connect_timeout',
    UND_ERR_HEADERS_TIMEOUT: 'timeout',
    UND_ERR_BODY_TIMEOUT: 'timeout',
    UND_ERR_SOCKET: 'reset',
    ECONNRESET: 'reset',
    EPIPE: 'reset',
  }
  return known[code] ?? code.toLowerCase()
}
