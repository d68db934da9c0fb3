// What the HTTP server calls for each request: the fast path when it takes the request, else Express.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { refuse, requestIdOf } from './answer.ts'
import { buildApp } from './app.ts'
import { createDispatch } from './dispatch.ts'
import { doubledHeader } from './doubled.ts'
import { ApiError } from './errors.ts'
import { createEdge } from './exchange.ts'
import { createFastPath } from './fast-path.ts'
import type { Gate } from './gate.ts'
import { tellLimit } from './tell-limit.ts'

/**
 * Most headers of a request. Node drops what is beyond its own limit without a word, an Idempotency-Key among them, so
 * that limit must be higher than this one; see limits.ts.
 */
export const HEADERS_MAX = 100

/** The listener of the whole application. `router` is Express's, which lists every route there is. */
export function createListener(
  deps: Parameters<typeof buildApp>[0] & { gate: Gate },
): RequestListener & { router: unknown } {
  const edge = createEdge(deps.gate)
  const app = buildApp(deps, edge)
  const fastPath = createFastPath(deps, edge)
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    // Names and values in turn.
    if (request.rawHeaders.length > 2 * HEADERS_MAX) refuse(tooManyHeaders(), response, requestIdOf(request), deps.log)
    else if (doubledHeader(request) !== undefined) {
      refuse(doubled(doubledHeader(request)), response, requestIdOf(request), deps.log)
    } else if (request.headers.host === undefined && request.httpVersion === '1.1') {
      refuse(withoutHost(), response, requestIdOf(request), deps.log)
    } else admit(request, response)
  }
  const { rates } = deps.gate
  function admit(request: IncomingMessage, response: ServerResponse): void {
    const begin = (): void => {
      if (!fastPath(request, response)) app(request, response)
    }
    const refused = (error: unknown): void => {
      const requestId = requestIdOf(request)
      tellLimit(deps.gate, error, { request, requestId })
      refuse(error, response, requestId, deps.log)
    }
    try {
      const counted = rates.ofAddress(request, response)
      if (counted === undefined) begin()
      else counted.then(begin).catch(refused)
    } catch (error) {
      refused(error)
    }
  }
  return Object.assign(createDispatch(answer, edge.held), { router: app.router })
}

/** Node would answer this itself, without a word and without a request id, also to who sends too many headers. */
const withoutHost = (): ApiError => new ApiError(400, 'invalid_http', 'A request has a header Host.')

const doubled = (name = ''): ApiError =>
  new ApiError(400, 'invalid_http', `A request has the header ${name} only once.`, { headers: { Connection: 'close' } })

const tooManyHeaders = (): ApiError =>
  new ApiError(431, 'too_many_headers', `A request has at most ${HEADERS_MAX} headers.`)
