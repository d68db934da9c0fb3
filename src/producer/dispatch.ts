// Hands requests to whoever answers them: of each connection one at a time, and in each event-loop tick no more
// than there is time for. A connection may send many requests in one go, and 200 connections do so at the same moment;
// a client that has sent one waits for the first of each of them at most.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { holderOf } from './connections.ts'
import type { Share, Shares } from './shares.ts'
import { countArrival, inNextTurns, isTurnUsedUp } from './turn-budget.ts'

/** What one read of a connection brings at most. Requests that wait behind another one hold as much. */
const READ_BYTES = 64 * 1_024

interface Arrived {
  request: IncomingMessage
  response: ServerResponse
}

/** A listener for the event `request`. Bytes of requests that wait behind another one count as held. */
export function createDispatch(handle: RequestListener, held: Shares): RequestListener {
  /**
   * They begin in the next turn. One of each line in turn: requests without a body are short, /healthz among them, and
   * would wait behind the bodies of a flood.
   */
  const ready = { short: [] as Arrived[], long: [] as Arrived[] }
  let isShortNext = true
  /** What waits behind the request that is being answered, by connection. */
  const lines = new WeakMap<Socket, { behind: Arrived[]; holding: Share | undefined }>()

  function begin({ request, response }: Arrived): void {
    const { socket } = request
    // A connection that was cut, or is being closed, while requests that came with the last of its bytes are handed out.
    if (!socket.destroyed && !socket.writableEnded) handle(request, response)
  }

  const begins = inNextTurns(() => {
    const [first, second] = isShortNext ? [ready.short, ready.long] : [ready.long, ready.short]
    isShortNext = !isShortNext
    const arrived = first.shift() ?? second.shift()
    if (arrived) begin(arrived)
    return arrived !== undefined
  })

  function beginSoon(arrived: Arrived): void {
    ready[hasBody(arrived.request) ? 'long' : 'short'].push(arrived)
    begins.begin()
  }

  /** The next one of the connection, once an answer is out or can no longer be. */
  function over(socket: Socket): void {
    const line = lines.get(socket)
    const next = line?.behind.shift()
    if (line === undefined || next === undefined || socket.destroyed) {
      line?.holding?.release()
      lines.delete(socket)
      return
    }
    if (line.behind.length === 0) {
      line.holding?.release()
      line.holding = undefined
      socket.resume()
    }
    next.response.once('close', () => over(socket))
    beginSoon(next)
  }

  return (request, response) => {
    countArrival()
    const { socket } = request
    const line = lines.get(socket)
    if (line === undefined) {
      lines.set(socket, { behind: [], holding: undefined })
      response.once('close', () => over(socket))
      if (isTurnUsedUp()) beginSoon({ request, response })
      else begin({ request, response })
      return
    }
    line.behind.push({ request, response })
    // What else it sends stays with the client.
    socket.pause()
    if (line.holding !== undefined) return
    line.holding = held.hold(holderOf(socket), () => socket.destroy())
    line.holding.add(READ_BYTES)
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
