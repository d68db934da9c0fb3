// The HTTP server around the application: limits per client on connections, headers and time. Sets a limit wherever Node has none, or
// one of minutes.
import { randomUUID } from 'node:crypto'
import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  ServerResponse,
  STATUS_CODES,
} from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Express } from 'express'
import type { Log } from '../kernel/log.ts'
import { cutOffLate, hasBody, refuse, requestIdOf } from './answer.ts'
import { ApiError, errorBody } from './errors.ts'
import { createClientAddress } from './gate.ts'
import { createConnections } from './overload/connections.ts'
import { spendBudget, watchConnection } from './overload/event-loop-budget.ts'

/** Each may hold 16 KB of headers, 16 KB of body that is not counted otherwise, and Node's own 20 KB: 100 MB in all. */
const CONNECTIONS_MAX = 2_000
/** Closing connections on top of these; beyond both, new ones wait in the system's queue. */
const CONNECTIONS_LEAVING = 256
/** How often it is logged that the limit is reached. */
const FULL_LINE_MS = 1_000
/**
 * Time for the headers; Node checks every 5 s. It includes time in which this process does not read: with 10 s a well-behaved client got
 * 408 from a producer on a busy machine.
 */
const HEADERS_MS = 30_000
const HEADERS_CHECK_MS = 5_000
/** How long an idle connection is kept. */
const KEEP_ALIVE_MS = 65_000
/**
 * A connection without traffic in either direction is cut after this, so that an unread answer ends. Longer than the longest wait for an
 * answer, a bulk move's of 60 s.
 */
const SILENCE_MS = 75_000
/** Requests on one connection that wait for their answers. Hardly any client sends a second one before the first answer. */
const PIPELINED_MAX = 16
/**
 * Most headers of a request. Node silently drops headers beyond its own limit, perhaps an Idempotency-Key, so that limit is one higher,
 * and requests with too many headers are refused.
 */
export const HEADERS_MAX = 100

/**
 * Creates the server of an application, not listening yet; `addressOf` is the address of a request's client. While it closes,
 * answers carry `Connection: close`: busy clients would otherwise keep their connections until these are cut, with requests.
 * Tests lower `connectionsMax`.
 */
export function createHttpServer(
  app: Express | RequestListener,
  log: Log,
  addressOf = createClientAddress([]),
  connectionsMax = CONNECTIONS_MAX,
): Server {
  const server = createServer(
    {
      ...('request' in app ? classesFor(app) : {}),
      connectionsCheckingInterval: HEADERS_CHECK_MS,
      requireHostHeader: false,
    },
    app,
  )
  server.maxConnections = connectionsMax + CONNECTIONS_LEAVING
  server.headersTimeout = HEADERS_MS
  // Node has one for all requests, and an upload may take hours: bodies have limits of their own (overload/).
  server.requestTimeout = 0
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.setTimeout(SILENCE_MS)
  server.maxHeadersCount = HEADERS_MAX + 1

  /** Responses that are not out yet, by connection. */
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>()
  const isBusy = (socket: Socket): boolean => (unanswered.get(socket)?.size ?? 0) > 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const logFull = (): void => {
    if (performance.now() - loggedAt < FULL_LINE_MS) return
    loggedAt = performance.now()
    log.warn({ connections: connectionsMax }, 'connections.full')
  }
  const connections = createConnections(connectionsMax, isBusy, logFull)
  server.on('connection', (socket) => {
    connections.add(socket)
    watchConnection(socket)
  })
  server.on('drop', logFull)
  // Node leaves out connections that have had no request at all, and a stop would wait for them in vain.
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    closeIdle()
    connections.closeSilent()
  }

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    spendBudget(socket)
    // Further requests from the same read of a flood; the application ignores such requests, too.
    if (socket.destroyed) return
    connections.begin(request, addressOf)
    const waiting = unanswered.get(socket) ?? new Set()
    unanswered.set(socket, waiting.add(response))
    if (waiting.size > PIPELINED_MAX) socket.destroy()
    if (!server.listening) response.shouldKeepAlive = false
    response.once('close', () => waiting.delete(response))
    if (hasBody(request)) response.once('finish', () => request.complete || cutOffLate(request))
  })
  server.on('checkExpectation', (request, response) => {
    const error = new ApiError(417, 'expectation_failed', 'The only expectation supported is 100-continue.')
    refuse(error, response, requestIdOf(request), log)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // A partly written answer cannot be repaired; and with several requests, this answer would count for the first.
    const waiting = [...(unanswered.get(socket) ?? [])]
    const isFree = waiting.length <= 1 && waiting.every(({ headersSent }) => !headersSent)
    if (socket.writable && isFree) socket.write(rawAnswer(refusalOf(error.code)))
    socket.destroy()
  })
  return server
}

/**
 * Classes that make requests and responses as the application wants them. Otherwise Express changes the prototype of each of
 * them, which costs V8 its optimisations of such objects: 40 µs a request, three times the rest of Express.
 */
function classesFor(app: Express) {
  class AppRequest extends IncomingMessage {}
  class AppResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request)
  Object.setPrototypeOf(AppResponse.prototype, app.response)
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype })
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse }
}

/** The answer for an error of Node's parser. */
function refusalOf(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError(431, 'headers_too_large', 'The headers are too large.')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new ApiError(413, 'too_large', 'The chunks are too large.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError(408, 'too_slow', 'The request took too long.')
  return new ApiError(400, 'invalid_http', 'The request is not valid HTTP.')
}

/** An answer for a connection that has no response: there is no request that could be read. */
function rawAnswer(error: ApiError): string {
  const requestId = randomUUID()
  const body = JSON.stringify(errorBody(error, requestId))
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
