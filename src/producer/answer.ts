// How an answer leaves: as JSON, and what was thrown as the one envelope of all errors. With node:http alone, for the
// requests that Express handles and for those that never reach it.
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Refusal } from '../accept/refusal.ts'
import type { Log } from '../log.ts'
import { isRedisAway } from '../store/redis-errors.ts'
import { ApiError, errorBody, internal, redisAway, refused } from './errors.ts'

const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The id of a request: the caller's own when it is sane. Every answer carries it as x-request-id. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID()
}

export function answerJson(
  response: ServerResponse,
  requestId: string,
  answer: { status?: number; headers?: Readonly<Record<string, string>>; body: object },
): void {
  const text = JSON.stringify(answer.body)
  response.writeHead(answer.status ?? 200, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
    'x-request-id': requestId,
    ...answer.headers,
  })
  response.end(text)
}

/** Turns whatever was thrown into an answer. Only what is our own fault is logged, here and nowhere else. */
export function refuse(thrown: unknown, response: ServerResponse, requestId: string, log: Log): void {
  const error = toApiError(thrown)
  if (error.status >= 500) {
    const cause = error.cause instanceof Error ? error.cause : error
    log[error.status === 500 ? 'error' : 'warn'](
      { request_id: requestId, code: error.code, err: cause },
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
  if (isRedisAway(thrown)) return redisAway(thrown)
  if (thrown instanceof URIError) return new ApiError(400, 'invalid_path', 'The path is not valid percent-encoding.')
  return internal(thrown)
}
