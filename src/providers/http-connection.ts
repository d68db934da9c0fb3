// One open connection to a provider, and undici's client on it. The connection is made before the client is, so that its
// protocol is known by then, and the client never gets another one: undici would write requests of a lost connection
// again on the next (client.js writes from kPendingIdx; client-h1.js, onHttpSocketClose, and client-h2.js,
// onHttp2SessionGoAway and onHttp2SocketClose, set that back to kRunningIdx). By HTTP/2 it would also take the end of the
// lost connection for that of the next (onHttp2SocketClose).
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Client, type Dispatcher } from 'undici'

/** What requests are written by. */
export type Protocol = 'h1' | 'h2'

/** A request, and undici's handler of it. */
export interface Call extends Dispatcher.DispatchHandler {
  /** What is asked of undici. */
  readonly request: Dispatcher.DispatchOptions
  /** Whether it may leave now, over this connection; if not, it has ended. */
  leave(connection: Connection): boolean
  /** It has not left: why, in a short word. */
  failed(cause: string): void
}

/** Who hears of a connection. */
export interface ConnectionHeard {
  /** It can take a request more. Never said again once it is retired. */
  free(connection: Connection): void
  /** Once, at its end. */
  gone(connection: Connection): void
}

/** An open connection. */
export interface Connection {
  readonly protocol: Protocol
  /** Requests that it can take besides those under way, for as long as they are; soon none, if it is soon to be left. */
  readonly room: number
  /** Those under way on it, with those that undici holds for it. */
  readonly running: number
  /** Carried a request before the one that it carries now. */
  readonly isUsed: boolean
  readonly isOpen: boolean
  /** It can take another one. */
  canTake(): boolean
  take(call: Call): void
  /** The call has ended. Without an answer, and not by a word of the server about it alone, nothing is known of the next. */
  ended(isSound: boolean): void
  /** Takes no more, and is closed once nothing is under way on it. */
  retire(): void
  /** Closes it; requests that are under way fail. */
  destroy(): void
  /** Nobody has used it since (`performance.now()`). */
  idleSince(): number
}

/** Idle ones are closed before the usual 5 s of a server, so that few requests meet a socket that is just being closed. */
export const KEEP_ALIVE_MS = 4_000
/** A server that says how long it keeps a connection is taken to close it so much sooner. */
const KEPT_LESS_MS = 2_000
/** A provider's head of an answer is under 1 KB. */
const MAX_HEAD_BYTES = 16 * 1024
/** RFC 9113 advises servers against allowing fewer streams, and undici does not say how many this one allows. */
export const STREAMS = 100
/** A server's GOAWAY puts all that is under way in doubt, and nginx sends one after so many requests, or an hour. */
const MOST_REQUESTS = 900
const MOST_AGE_MS = 10 * 60_000
/** Its successor is opened by then. */
const SOON_MS = 5_000

const OF_PROTOCOL = {
  h1: { pipelining: 1, keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEAD_BYTES },
  // It has no time for idle ones, and its pings would only tell what the time-outs of requests do.
  h2: { pipelining: STREAMS, maxConcurrentStreams: STREAMS, pingInterval: 0 },
} as const satisfies Record<Protocol, Client.Options>

/** A connection of an open socket. */
export function createConnection(origin: string, socket: Socket | TLSSocket, heard: ConnectionHeard): Connection {
  const protocol = protocolOf(socket)
  const most = protocol === 'h2' ? STREAMS : 1
  const openedAt = performance.now()
  let running = 0
  let requests = 0
  let idleSince = openedAt
  let isRetired = false
  let isConnected = false
  let isFree = false

  const client = new Client(origin, {
    ...OF_PROTOCOL[protocol],
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEPT_LESS_MS,
    // A call has one time-out for all of it, see http-call.ts.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(_options, connected) {
      // There is no second one; whatever undici still holds then ends with the client.
      if (isConnected) return
      isConnected = true
      // Later: what it says at once undici does not hear. One that is closed by then would be written to all the same.
      queueMicrotask(() => {
        if (socket.destroyed) connected(Object.assign(new Error('closed'), { code: 'ECONNRESET' }), null)
        else connected(null, socket)
      })
    },
  })

  function destroy(): void {
    isRetired = true
    // undici destroys it with an error; see below why by HTTP/2 it must have one.
    if (isConnected) client.destroy().catch(() => {})
    else socket.destroy()
  }

  /** Not within undici's own handling of an answer. */
  function endIfUnused(): void {
    if (isRetired && running === 0) setImmediate(destroy)
  }

  const connection: Connection = {
    protocol,
    get room() {
      if (isRetired || socket.destroyed || performance.now() - openedAt > MOST_AGE_MS - SOON_MS) return 0
      return Math.min(most - running, MOST_REQUESTS - requests)
    },
    get running() {
      return running
    },
    get isUsed() {
      return requests > 1
    },
    get isOpen() {
      return !socket.destroyed
    },
    canTake: () => !isRetired && running < most && !socket.destroyed,
    take(call) {
      running += 1
      requests += 1
      isFree = false
      if (protocol === 'h2' && (requests === MOST_REQUESTS || performance.now() - openedAt > MOST_AGE_MS)) {
        isRetired = true
      }
      client.dispatch(call.request, call)
    },
    ended(isSound) {
      running -= 1
      if (running === 0) idleSince = performance.now()
      // By HTTP/2 undici goes on, though perhaps nobody is there any more.
      if (!isSound) isRetired = true
      // What the server did not wait for would be the beginning of the next request.
      if (protocol === 'h1' && socket.writableLength > 0) isRetired = true
      if (isRetired) endIfUnused()
      // By HTTP/1.1 undici says when it is free, which is later.
      else if (protocol === 'h2') heard.free(connection)
    },
    retire() {
      isRetired = true
      endIfUnused()
    },
    destroy,
    idleSince: () => idleSince,
  }

  if (protocol === 'h1') {
    client.on('drain', () => {
      if (isFree || !connection.canTake()) return
      isFree = true
      heard.free(connection)
    })
  }
  // What undici says of an end that it did not expect; nobody else shall hear it as an uncaught error.
  const events: EventEmitter = client
  events.on('error', destroy)
  // One of TLS that errs is not closed by that, and undici would wait for its end.
  socket.on('error', () => socket.destroy())
  socket.once('close', () => {
    isRetired = true
    heard.gone(connection)
    // Of a socket that closed without an error undici makes one, from a socket that it has let go of by then, and throws
    // into nobody's hands (client-h2.js, onHttp2SessionClose).
    if (protocol === 'h2' && socket.errored === null) socket.emit('error', new Error('closed'))
    // Streams of HTTP/2 say first how they ended.
    setImmediate(destroy)
  })
  return connection
}

const protocolOf = (socket: Socket | TLSSocket): Protocol =>
  'alpnProtocol' in socket && socket.alpnProtocol === 'h2' ? 'h2' : 'h1'
