// One open connection to a provider, and its writer: undici's client for HTTP/1.1, Node's for HTTP/2. The socket is opened
// before the writer is made, so that the protocol is known. A writer never gets a second socket.

import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Connection, type Protocol, STREAMS } from './http-contract.ts'
import { type OpenWriter, writeHttp1, writeHttp2 } from './http-writers.ts'

/** Listeners of a connection. */
export interface ConnectionHeard {
  /** By HTTP/2: how many requests the server takes at once over this connection, and so over its others. */
  takes(streams: number): void
  /** It can take another request. Never called again once the connection is retired. */
  free(connection: Connection): void
  /** Once, at its end. */
  gone(connection: Connection): void
}

/** nginx sends GOAWAY after 1,000 requests, or an hour, and refuses what crosses that. */
const MOST_REQUESTS = 900
const MOST_AGE_MS = 10 * 60_000
/** This long before that age it has no more room, so that its successor is open in time. */
const SOON_MS = 5_000

/** A connection of an open socket. By HTTP/2 it takes `streams` requests at once until its server announces how many. */
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
    open.destroy()
  }

  /** Not while an answer is being handled. */
  function endIfUnused(): void {
    if (isRetired && running === 0) setImmediate(destroy)
  }

  function free(): void {
    if (isFree || !connection.canTake()) return
    isFree = protocol === 'h1'
    heard.free(connection)
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
    take() {
      running += 1
      requests += 1
      isFree = false
      if (protocol === 'h2' && (requests === MOST_REQUESTS || performance.now() - openedAt > MOST_AGE_MS)) {
        isRetired = true
      }
    },
    giveBack() {
      running -= 1
      requests -= 1
      if (isRetired) endIfUnused()
      else free()
    },
    get writer() {
      return open.writer
    },
    ended(isSound) {
      running -= 1
      if (running === 0) idleSince = performance.now()
      // By HTTP/2 the session would go on, though the server may be gone.
      if (!isSound) isRetired = true
      // What the server did not wait for would be taken for the beginning of the next request.
      if (protocol === 'h1' && socket.writableLength > 0) isRetired = true
      if (isRetired) endIfUnused()
      // By HTTP/1.1 the writer reports when it is free, which is later.
      else if (protocol === 'h2') heard.free(connection)
    },
    retire() {
      isRetired = true
      endIfUnused()
    },
    destroy,
    idleSince: () => idleSince,
  }

  const open: OpenWriter =
    protocol === 'h1'
      ? writeHttp1(origin, socket, free)
      : writeHttp2(origin, socket, {
          takesNoMore: connection.retire,
          takes(allowed) {
            most = Math.min(STREAMS, allowed)
            heard.takes(most)
            if (connection.canTake()) heard.free(connection)
          },
        })
  // A TLS socket is not closed by an error, and undici would wait for its end.
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
