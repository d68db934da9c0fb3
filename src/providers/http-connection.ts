// One open connection to a provider, and what writes requests to it: undici's client by HTTP/1.1, Node's by HTTP/2. The
// connection is made before that is, so that its protocol is known by then, and neither ever gets another one.
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Connection, type Protocol, STREAMS, type Writer } from './http-contract.ts'
import { writeHttp1 } from './http1-writer.ts'
import { writeHttp2 } from './http2-writer.ts'

/** Who hears of a connection. */
export interface ConnectionHeard {
  /** By HTTP/2, its server takes so many requests at once; so will its others. */
  takes(streams: number): void
  /** It can take a request more. Never said again once it is retired. */
  free(connection: Connection): void
  /** Once, at its end. */
  gone(connection: Connection): void
}

/** nginx says GOAWAY after 1,000 requests, or an hour, and refuses what crosses that. */
const MOST_REQUESTS = 900
const MOST_AGE_MS = 10 * 60_000
/** Its successor is opened by then. */
const SOON_MS = 5_000

/** A connection of an open socket. By HTTP/2 it takes `streams` requests at once until its server says how many. */
export function createConnection(
  origin: string,
  socket: Socket | TLSSocket,
  streams: number,
  heard: ConnectionHeard,
): Connection {
  const protocol = protocolOf(socket)
  let most = protocol === 'h2' ? streams : 1
  const openedAt = performance.now()
  let running = 0
  let requests = 0
  let idleSince = openedAt
  let isRetired = false
  let isFree = false

  function destroy(): void {
    isRetired = true
    writer.destroy()
  }

  /** Not while an answer is being handled. */
  function endIfUnused(): void {
    if (isRetired && running === 0) setImmediate(destroy)
  }

  const connection: Connection = {
    protocol,
    get room() {
      if (isRetired || socket.destroyed || performance.now() - openedAt > MOST_AGE_MS - SOON_MS) return 0
      return Math.max(0, Math.min(most - running, MOST_REQUESTS - requests))
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
      writer.write(call)
    },
    ended(isSound) {
      running -= 1
      if (running === 0) idleSince = performance.now()
      // By HTTP/2 it goes on, though perhaps nobody is there any more.
      if (!isSound) isRetired = true
      // What the server did not wait for would be the beginning of the next request.
      if (protocol === 'h1' && socket.writableLength > 0) isRetired = true
      if (isRetired) endIfUnused()
      // By HTTP/1.1 the writer says when it is free, which is later.
      else if (protocol === 'h2') heard.free(connection)
    },
    retire() {
      isRetired = true
      endIfUnused()
    },
    destroy,
    idleSince: () => idleSince,
  }

  const writer: Writer =
    protocol === 'h1'
      ? writeHttp1(origin, socket, () => {
          if (isFree || !connection.canTake()) return
          isFree = true
          heard.free(connection)
        })
      : writeHttp2(origin, socket, {
          takesNoMore: connection.retire,
          takes(allowed) {
            most = Math.min(STREAMS, allowed)
            heard.takes(most)
            if (connection.canTake()) heard.free(connection)
          },
        })
  // One of TLS that errs is not closed by that, and undici would wait for its end.
  socket.on('error', () => socket.destroy())
  socket.once('close', () => {
    isRetired = true
    heard.gone(connection)
    // Streams of HTTP/2 say first how they ended.
    setImmediate(destroy)
  })
  return connection
}

const protocolOf = (socket: Socket | TLSSocket): Protocol =>
  'alpnProtocol' in socket && socket.alpnProtocol === 'h2' ? 'h2' : 'h1'
