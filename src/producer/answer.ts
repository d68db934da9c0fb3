// How an answer leaves: as JSON, and what was thrown as the one envelope of all errors. With node:http alone, since some
// requests are refused before Express sees them.

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isFilesAway } from '../files/store.ts'
import type { Log } from '../log.ts'
import { Refusal } from '../messages/accept/refusal.ts'
import { isRedisAway } from '../redis/errors.ts'
import { ApiError, errorBody, internal, refused, storageAway } from './errors.ts'
import { createLineLimit } from './line-limit.ts'
import { holderOf } from './overload/connections.ts'
import { endAfterBody, isStillSending, mayBeLong } from './overload/early-answers.ts'
import { createFairShares } from './overload/fair-shares.ts'
import { rateHeaders } from './rate-limits.ts'

const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The id of a request: the caller's own when it is sane. Every answer carries it as x-request-id. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID()
}

/**
 * Of every JSON answer: it is nothing else than JSON, nobody on the way keeps a copy, and no address of ours is told to
 * others.
 */
const GUARDS = [
  ...['Content-Type', 'application/json; charset=utf-8'],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Cache-Control', 'no-store'],
  ...['Referrer-Policy', 'no-referrer'],
] as const

/** Answers up to here leave at once, into the buffers of the system. */
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
 * Whether the client has gone. Its socket knows first: the response hears of it only once the socket is closed, and the
 * error of a reset is reported in between.
 */
const hasHungUp = (response: ServerResponse): boolean => response.destroyed || response.req.socket.destroyed

/**
 * Turns whatever was thrown into an answer. Only what is our own fault is logged, here and nowhere else; that a stream
 * broke because the client hung up is nobody's, and leaves nobody to answer.
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
    // Half of a streamed answer is out: cutting the connection is the only way left to say that it is not whole.
    response.destroy()
    return
  }
  answerJson(response, requestId, { status: error.status, headers: error.headers, body: errorBody(error, requestId) })
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof Refusal) return refused(thrown)
  if (isRedisAway(thrown) || isFilesAway(thrown)) return storageAway(thrown)
  if (thrown instanceof URIError) return new ApiError(400, 'invalid_path', 'The path is not valid percent-encoding.')
  return internal(thrown)
}

/** What streams and sockets say when their other end has gone. */
const BROKEN = /^(ECONNRESET|ECONNABORTED|EPIPE|ABORT_ERR|ERR_STREAM_\w+|ERR_HTTP_\w+)$/

/** Whether the error, or what it was caused by, is a stream that ended too early. */
function isBrokenStream(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return ('code' in thrown && BROKEN.test(String(thrown.code))) || isBrokenStream(thrown.cause)
}

/** An outage or a flood must not become a flood of lines as well: of each kind so many a second say what it is. */
const LINES_A_SECOND = 5
const limits = { unavailable: createLineLimit(LINES_A_SECOND), overloaded: createLineLimit(1) }

/** How many lines like this one were left out since the last; undefined when this is one of them. */
const leftOut = ({ code }: ApiError): number | undefined =>
  code === 'unavailable' || code === 'overloaded' ? limits[code]() : 0
