// What one client may ask of the HTTP server as such: connections, headers, time. Everything that Node leaves without a
// limit, or with one of minutes, has one here.
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Log } from '../log.ts'
import { refuse, requestIdOf } from './answer.ts'
import { createClientAddress } from './client-address.ts'
import { createRoom } from './connections.ts'
import { watchCrumbs } from './crumbs.ts'
import { stopReading } from './cut.ts'
import { ApiError, errorBody } from './errors.ts'
import { lingerAfter } from './linger.ts'
import { HEADERS_MAX } from './listener.ts'
import { watchConnection } from './turn-budget.ts'

/** How often Node looks for clients whose headers take too long. */
export const HEADERS_CHECK_MS = 5_000

/** Each may hold 16 KB of headers, 16 KB of body that is not counted otherwise, and Node's own 20 KB: 100 MB in all. */
const CONNECTIONS_MAX = 2_000
/** Beyond these the system's own queue is where newcomers wait: those that make room are gone within a turn. */
const CONNECTIONS_LEAVING = 256
/** How often it is logged that there are as many. */
const FULL_LINE_MS = 1_000
/** Headers must be there by then. */
const HEADERS_MS = 10_000
/** A connection without a request is kept so long for the next one. */
const KEEP_ALIVE_MS = 65_000
/**
 * A connection on which nothing moves either way is cut, so that an answer that is not read ends. Longer than the longest
 * wait for an answer, a bulk move's of 60 s.
 */
const SILENCE_MS = 75_000
/** Requests on one connection that wait for their answers. Hardly any client sends a second one before the first answer. */
const PIPELINED_MAX = 16

/**
 * Puts the limits on a server that does not listen yet; `addressOf` tells where a request comes from. A server that is
 * being closed says so in its answers: a busy client would keep its connections open until they are cut, and requests
 * with them.
 */
export function limit(server: Server, log: Log, addressOf = createClientAddress([])): void {
  server.maxConnections = CONNECTIONS_MAX + CONNECTIONS_LEAVING
  server.headersTimeout = HEADERS_MS
  // Each way to take a body has a limit of its own: body.ts for those held in memory, flowing.ts for those on disk.
  server.requestTimeout = 0
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.setTimeout(SILENCE_MS)
  // One more than may come, so that what is too many is seen and refused.
  server.maxHeadersCount = HEADERS_MAX + 1

  /** Responses that are not out yet, by connection. */
  const unanswered = new WeakMap<Duplex, Set<ServerResponse>>()
  const isBusy = (socket: Socket): boolean => (unanswered.get(socket)?.size ?? 0) > 0
  let loggedAt = Number.NEGATIVE_INFINITY
  const tellFull = (): void => {
    if (performance.now() - loggedAt < FULL_LINE_MS) return
    loggedAt = performance.now()
    log.warn({ connections: CONNECTIONS_MAX }, 'connections.full')
  }
  const room = createRoom(CONNECTIONS_MAX, isBusy, tellFull)
  server.on('connection', (socket) => {
    room.add(socket)
    watchConnection(socket, () => isBusy(socket))
  })
  server.on('drop', tellFull)

  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    room.begin(socket, () => addressOf(request))
    const waiting = unanswered.get(socket) ?? new Set()
    unanswered.set(socket, waiting.add(response))
    if (waiting.size > PIPELINED_MAX) {
      stopReading(request)
      socket.destroy()
    }
    if (!server.listening) response.shouldKeepAlive = false
    response.once('close', () => waiting.delete(response))
    watchCrumbs(request)
    lingerAfter(request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const error = new ApiError(417, 'expectation_failed', 'The only expectation supported is 100-continue.')
    refuse(error, response, requestIdOf(request), log)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // What is half out cannot be put right; of several requests, the answer would be taken for that of the first.
    const waiting = [...(unanswered.get(socket) ?? [])]
    const isFree = waiting.length <= 1 && waiting.every(({ headersSent }) => !headersSent)
    if (socket.writable && isFree) socket.write(rawAnswer(refusalOf(error.code)))
    socket.destroy()
  })
}

/** What Node's parser found wrong, in our words. */
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
