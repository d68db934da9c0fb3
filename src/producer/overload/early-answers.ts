// Answers that are known before the body has come, mostly refusals. Closing a connection on which bytes still arrive makes
// the system reset it, and the client loses the answer. So the answer is written whole at once, the rest of the body is read
// and dropped within bounds, and only then does the response end.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { spendBudget } from './event-loop-budget.ts'

/** For a rest that may be longer than this, the client is told that the connection ends with this answer. */
const SHORT_BYTES = 1024 * 1024
/** Twice the largest body that is held in memory. Clients that send more before they read may lose the answer. */
const DROP_BYTES = 8 * 1024 * 1024
/** A client that is still sending then is cut off. */
const DROP_MS = 10_000

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** Whether there is a body of which some is still to come. */
export const isStillSending = (request: IncomingMessage): boolean => hasBody(request) && !request.complete

/** Whether the connection should not be used again after an answer that comes before the end of the body. */
export const mayBeLong = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > SHORT_BYTES

/** Writes the body of the answer, and ends the response once the request has come to its end. */
export function endAfterBody(request: IncomingMessage, response: ServerResponse, text: string): void {
  response.write(text)
  cutOffLate(request)
  let dropped = 0
  request.on('data', (piece: Buffer) => {
    dropped += piece.length
    spendBudget()
    if (dropped <= DROP_BYTES) return
    // What it goes on sending stays with the client; our side of the connection is closed, so that it can see the end.
    request.pause()
    request.socket.end()
  })
  request.once('end', () => response.end())
  request.resume()
}

/** Cuts the connection when the body has not come to its end 10 s after its answer. */
export function cutOffLate(request: IncomingMessage): void {
  const { socket } = request
  const timer = setTimeout(() => request.complete || socket.destroy(), DROP_MS).unref()
  request.once('close', () => clearTimeout(timer))
}
