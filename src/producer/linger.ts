// What happens to a body whose answer is out before it is there, a refusal mostly. A connection that is cut while its
// client sends loses the answer: the system reports a reset connection to the client, and drops what it has not
// read. So the rest is read and dropped within bounds. Of a short rest the connection goes on being used; otherwise the
// answer says `Connection: close`, our side is closed after it, and the client's when it has come to its end.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { stopReading } from './cut.ts'
import { isTurnUsedUp, restUntilNextTurn } from './turn-budget.ts'

/** For a rest that can be longer than this, the connection is not used again. */
const SHORT_BYTES = 1024 * 1024
/**
 * No more is dropped than this: twice the largest body that is held in memory. Clients that send everything before they
 * read get to read the answer to that; those that send more, as files, must read while they send.
 */
const DROP_BYTES = 8 * 1024 * 1024
/** After a piece below this, Node goes on at once: it would hand out one in each turn. */
const CRUMB_BYTES = 4_096
/** Whoever is still sending then is cut off. */
const LINGER_MS = 10_000

/** Watches over a request that has a body, before it is answered. */
export function lingerAfter(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  const announced = encoding === undefined ? Number(length ?? 0) : Number.POSITIVE_INFINITY
  if (announced === 0) return
  const { socket } = request
  if (announced > SHORT_BYTES) {
    const { writeHead } = response
    response.writeHead = (...args: unknown[]): ServerResponse => {
      if (!request.complete) response.shouldKeepAlive = false
      Reflect.apply(writeHead, response, args)
      return response
    }
  }
  // Node calls it after the last answer of a connection, and would cut it in the middle of what comes.
  socket.destroySoon = () => {
    if (request.complete || socket.destroyed) Socket.prototype.destroySoon.call(socket)
    else {
      request.once('end', () => socket.destroy())
      socket.end()
    }
  }
  // Before Node's own listener, which would have it dropped uncounted.
  response.prependOnceListener('finish', () => request.complete || drop(request))
}

function drop(request: IncomingMessage): void {
  const { socket } = request
  let dropped = 0
  const limit = setTimeout(() => socket.destroy(), LINGER_MS).unref()
  request
    .on('data', (piece: Buffer) => {
      dropped += piece.length
      if (dropped > DROP_BYTES) stopReading(request)
      else if (piece.length >= CRUMB_BYTES && isTurnUsedUp()) restUntilNextTurn(request)
    })
    .once('close', () => clearTimeout(limit))
    .resume()
}
