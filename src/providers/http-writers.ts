// The writers of requests to an open connection, which also read the answers: undici's client for HTTP/1.1, Node's for
// HTTP/2. An HTTP/2 server that sends GOAWAY still answers the requests under way; undici 7 ends them all (client-h2.js,
// onHttp2SessionGoAway), which leaves each of them in doubt (docs/adr/0097-http2-by-nodes-client.md).

import type { EventEmitter } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'
import { KEEP_ALIVE_MS, MAX_HEAD_BYTES, type Request, STREAMS, type Writer } from './http-contract.ts'
import { StreamError } from './http-proof.ts'

/** A server that announces how long it keeps a connection is taken to close it this much sooner. */
const KEPT_LESS_MS = 2_000

/** A writer, and what closes its connection: requests that are under way fail. */
export interface OpenWriter {
  writer: Writer
  destroy: () => void
}

/**
 * Writes by HTTP/1.1 to a socket that is open, one request at a time. `free` is called once it can take one, and again
 * after each. undici's client never gets another connection: it would write requests of a lost one again on the next
 * (client.js writes from kPendingIdx; client-h1.js, onHttpSocketClose, sets that back to kRunningIdx).
 */
export function writeHttp1(origin: string, socket: Socket, free: () => void): OpenWriter {
  let isConnected = false
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEPT_LESS_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // A call has one time-out for all of it, see http-call.ts.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(_options, connected) {
      // There is no second one; whatever undici still holds then ends with the client.
      if (isConnected) return
      isConnected = true
      // Not at once: undici ignores commands within this call. A socket that is closed by then would be
      // written to all the same.
      queueMicrotask(() => {
        if (socket.destroyed) connected(Object.assign(new Error('closed'), { code: 'ECONNRESET' }), null)
        else connected(null, socket)
      })
    },
  })

  function destroy(): void {
    if (isConnected) client.destroy().catch(() => {})
    else socket.destroy()
  }

  client.on('drain', free)
  // An end that undici did not expect: without a listener it would be an uncaught error.
  const events: EventEmitter = client
  events.on('error', destroy)
  return { writer: client, destroy }
}

/** The frame that opens a stream (RFC 9113, 6.2). Node names a frame that it did not send by this number. */
const HEADERS_FRAME = 1

/** Listeners of the connection. */
export interface Http2Heard {
  /** It takes no more requests; those under way may still be answered. */
  takesNoMore(): void
  /** The server takes so many at once. */
  takes(streams: number): void
}

/** What the server said of the end of the connection. */
interface Goaway {
  code: number
  /** The last stream that it processes, as it announces. */
  lastStream: number
}

/** Writes to a socket that is open. */
export function writeHttp2(origin: string, socket: Socket, heard: Http2Heard): OpenWriter {
  const session = connect(origin, {
    createConnection: () => socket,
    // Until the server announces how many.
    peerMaxConcurrentStreams: STREAMS,
    settings: { enablePush: false, maxHeaderListSize: MAX_HEAD_BYTES },
  })
  const { host } = new URL(origin)
  const goaway: Goaway = { code: constants.NGHTTP2_NO_ERROR, lastStream: Number.POSITIVE_INFINITY }
  let running = 0

  session.on('goaway', (code: number, lastStream: number) => {
    goaway.code = code
    // A later one may lower the last stream; a higher one is ignored.
    goaway.lastStream = Math.min(goaway.lastStream, lastStream)
    heard.takesNoMore()
  })
  // Each stream is notified as well.
  session.on('error', heard.takesNoMore)
  session.on('remoteSettings', ({ maxConcurrentStreams = STREAMS }) => heard.takes(maxConcurrentStreams))
  // By itself it keeps no process running.
  session.unref()

  const writer: Writer = {
    dispatch(request, handler) {
      if (session.closed || session.destroyed) heard.takesNoMore()
      running += 1
      if (running === 1 && !session.destroyed) session.ref()
      ask({ session, host, goaway }, request, handler, () => {
        running -= 1
        if (running === 0 && !session.destroyed) session.unref()
      })
    },
  }
  return { writer, destroy: () => void socket.destroy() }
}

interface Http2Connection {
  session: ClientHttp2Session
  host: string
  goaway: Goaway
}

/** Sends one request, and calls its handler as undici would. `over` is called when nothing of it is left. */
function ask(
  { session, host, goaway }: Http2Connection,
  request: Request,
  handler: Dispatcher.DispatchHandler,
  over: () => void,
): void {
  let stream: ClientHttp2Stream
  let isAnswered = false
  let isOver = false
  let error: Error | undefined
  let unsentFrame: number | undefined
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
    abort() {
      isOver = true
      stream.close(constants.NGHTTP2_CANCEL)
    },
  }

  function failed(why: Error): void {
    if (isOver) return
    isOver = true
    handler.onResponseError?.(controller, why)
  }

  try {
    // Nothing has been written to one that was closed.
    if (!session.closed && !session.destroyed) handler.onRequestStart?.(controller, undefined)
    stream = session.request(headersOf(host, request), { endStream: false })
  } catch {
    over()
    failed(new StreamError('unprocessed'))
    return
  }
  stream.on('response', (headers) => {
    isAnswered = true
    if (!isOver) handler.onResponseStart?.(controller, headers[':status'] ?? 0, headers)
  })
  stream.on('data', (piece: Buffer) => {
    if (!isOver) handler.onResponseData?.(controller, piece)
  })
  stream.on('end', () => {
    // One that is broken off may end before it closes.
    if (isOver || !isAnswered || stream.rstCode !== constants.NGHTTP2_NO_ERROR) return
    isOver = true
    handler.onResponseEnd?.(controller, {})
  })
  stream.on('frameError', (type: number) => {
    unsentFrame = type
  })
  stream.on('error', (why: Error) => {
    error = why
  })
  stream.on('close', () => {
    over()
    if (isUnprocessed(stream, goaway, unsentFrame)) failed(new StreamError('unprocessed'))
    else if (!session.destroyed) failed(new StreamError('ended'))
    else failed(error ?? Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
  })
  stream.end(request.body)
}

/**
 * Whether it is certain that the server has not processed it: it was never written, or the server refused it. That its
 * number is above the last one of a GOAWAY is no proof (ADR 0097). Node ends such streams as if they were refused, and
 * others with the code of the GOAWAY.
 */
function isUnprocessed({ id, rstCode }: ClientHttp2Stream, goaway: Goaway, unsentFrame: number | undefined): boolean {
  if (id === undefined || unsentFrame === HEADERS_FRAME) return true
  const isOwnCode = id <= goaway.lastStream && goaway.code !== constants.NGHTTP2_REFUSED_STREAM
  return isOwnCode && unsentFrame === undefined && rstCode === constants.NGHTTP2_REFUSED_STREAM
}

function headersOf(host: string, { path, headers, body }: Request): OutgoingHttpHeaders {
  const all: OutgoingHttpHeaders = {
    ':method': 'POST',
    ':scheme': 'https',
    ':authority': host,
    ':path': path,
    'content-length': Buffer.byteLength(body),
  }
  for (const [at, name] of headers.entries()) if (at % 2 === 0) all[name] = headers[at + 1]
  return all
}
