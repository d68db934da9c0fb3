// Answers in JSON, and errors in their one envelope. Uses node:http alone, since some requests are refused before they reach Express.
//
// Some answers, mostly refusals, are known before the body has come. Closing a connection on which bytes still arrive makes
// the system reset it, and the client loses the answer. So the answer is written whole at once, the rest of the body is read
// and dropped within bounds, and only then does the response end.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createLineLimit, type Log } from '../kernel/log.ts'
import { type ApiError, errorBody } from './errors.ts'
import { holderOf } from './overload/connections.ts'
import { spendBudget } from './overload/event-loop-budget.ts'
import { createFairShares } from './overload/fair-shares.ts'
import { rateHeaders } from './rate-headers.ts'
import { toApiError } from './to-api-error.ts'

const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The id of a request: the caller's own when it is sane. Every answer carries it as x-request-id. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID()
}

/** Headers of every JSON answer: no content sniffing, no caching, no referrer. */
const GUARDS = [
  ...['Content-Type', 'application/json; charset=utf-8'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Referrer-Policy', 'no-referrer'],
] as const

/** Answers up to this size are written at once, into the buffers of the system. */
const SMALL_ANSWER_BYTES = 64 * 1_024
/** Bytes of larger answers that wait for their clients to read them, in the whole process. */
const answers = createFairShares(64 * 1024 * 1024)

/** Answers in JSON. Does nothing when the client has gone. */
export function answerJson(
  response: ServerResponse,
  requestId: string,
  answer: { status?: number; headers?: Readonly<Record<string, string>>; body: object },
): void {
  if (response.destroyed) return
  const text = JSON.stringify(answer.body)
  const size = Buffer.byteLength(text)
  const head = [...GUARDS, 'Content-Length', size, 'x-request-id', requestId, ...rateHeaders(response)]
  for (const name in answer.headers) head.push(name, answer.headers[name] ?? '')
  const isEarly = isStillSending(response.req)
  if (isEarly && mayBeLong(response.req)) head.push('Connection', 'close')
  response.writeHead(answer.status ?? 200, head)
  if (isEarly) endAfterBody(response.req, response, text)
  else response.end(text)
  if (size > SMALL_ANSWER_BYTES && !response.writableFinished) {
    const holding = answers.hold(holderOf(response.req.socket), () => response.destroy())
    response.once('close', holding.release)
    holding.add(size)
  }
}

/**
 * Whether the client has gone. Checks the socket: the response learns of it only once the socket is closed, after the error of a reset.
 */
const hasHungUp = (response: ServerResponse): boolean => response.destroyed || response.req.socket.destroyed

/**
 * Answers an error. Only our own failures are logged, here and nowhere else. A stream that broke because the client hung up is neither
 * logged nor answered.
 */
export function refuse(thrown: unknown, response: ServerResponse, requestId: string, log: Log): void {
  if (hasHungUp(response) && isBrokenStream(thrown)) return
  const error = toApiError(thrown)
  const left = error.status >= 500 ? leftOut(error) : undefined
  if (left !== undefined) {
    const cause = error.cause instanceof Error ? error.cause : error
    const dropped = left > 0 && { dropped: left }
    log[error.status === 500 ? 'error' : 'warn'](
      { request_id: requestId, code: error.code, ...dropped, err: cause },
      'request.failed',
    )
  }
  if (response.headersSent) {
    // Part of a streamed answer is out: only a cut connection can still show that it is incomplete.
    response.destroy()
    return
  }
  answerJson(response, requestId, { status: error.status, headers: error.headers, body: errorBody(error, requestId) })
}

/** Error codes of streams and sockets whose other end has gone. */
const BROKEN = /^(ECONNRESET|ECONNABORTED|EPIPE|ABORT_ERR|ERR_STREAM_\w+|ERR_HTTP_\w+)$/

/** Whether the error, or what it was caused by, is a stream that ended too early. */
function isBrokenStream(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return ('code' in thrown && BROKEN.test(String(thrown.code))) || isBrokenStream(thrown.cause)
}

/** Limits log lines per kind and second, so that an outage or a flood does not flood the log. */
const LINES_A_SECOND = 5
const limits = { unavailable: createLineLimit(LINES_A_SECOND), overloaded: createLineLimit(1) }

/** How many lines like this one were left out since the last; undefined when this is one of them. */
const leftOut = ({ code }: ApiError): number | undefined =>
  code === 'unavailable' || code === 'overloaded' ? limits[code]() : 0

/** If the rest may be longer than this, the answer has `Connection: close`. */
const SHORT_BYTES = 1024 * 1024
/** Twice the largest body that is held in memory. Clients that send more before they read may lose the answer. */
const DROP_BYTES = 8 * 1024 * 1024
/** A client that is still sending then is cut off. */
const DROP_MS = 10_000

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Whether there is a body and some of it is still to come. */
const isStillSending = (request: IncomingMessage): boolean => hasBody(request) && !request.complete

/** Whether the connection should not be used again after an answer that comes before the end of the body. */
const mayBeLong = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > SHORT_BYTES

/** Writes the body of the answer, and ends the response once the request has come to its end. */
function endAfterBody(request: IncomingMessage, response: ServerResponse, text: string): void {
  response.write(text)
  cutOffLate(request)
  let dropped = 0
  request.on('data', (piece: Buffer) => {
    dropped += piece.length
    spendBudget(request.socket)
    if (dropped <= DROP_BYTES) return
    // Nothing more is read; our side of the connection is closed, so that the client gets the end.
    request.pause()
    request.socket.end()
  })
  request.once('end', () => response.end())
  request.resume()
}

/** Cuts the connection when the body has not come to its end 10 s after its answer. */
export function cutOffLate(request: IncomingMessage): void {
  const { socket } = request
  const timer = setTimeout(() => request.complete || socket.destroy(), DROP_MS).unref()
  request.once('close', () => clearTimeout(timer))
}
