// Reads the bytes of a body, bounded in size, in time, in what they hold, and in how many of them the process holds.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError, overloaded } from './errors.ts'
import type { HeldBytes, Holding } from './held-bytes.ts'
import type { JsonCount } from './json-count.ts'

/** A body must be there by then: what has come of it is held in memory. */
const BODY_SECONDS = 30

/** Bodies up to here are neither counted as held nor wait for a turn: as many as there may be connections are 32 MB. */
export const SMALL_BYTES = 16 * 1_024

/**
 * Reads the whole body. Rejects with an ApiError as soon as more than `limit` bytes are announced or come, or they hold
 * more than `count` lets pass, or they take too long, or the process needs their memory: Express's own reader answers
 * only after the last byte, of a body without end never. Settles never when the client goes away, for nobody waits for
 * an answer then. What comes after a refusal is dropped. The bytes count as held until the answer is out.
 */
export function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, count, held }: { limit: number; count: JsonCount | undefined; held: HeldBytes },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // Gone while the key was looked at: it would never end.
    if (request.destroyed) return
    const announced = Number(request.headers['content-length'])
    if (announced > limit) {
      reject(tooLarge())
      return
    }
    let bytes: Buffer = NOTHING
    let size = 0
    let holding: Holding | undefined
    const stop = (): void => {
      clearTimeout(timer)
      request.off('data', take).off('end', finish).off('close', hungUp)
    }
    const giveUp = (error: ApiError): void => {
      stop()
      holding?.release()
      bytes = NOTHING
      request.resume()
      reject(error)
    }
    const hungUp = (): void => {
      stop()
      holding?.release()
    }
    const hold = (more: number): void => {
      if (holding === undefined) {
        const mine = held.hold(() => giveUp(overloaded()))
        whenOver(request, response, mine.release)
        holding = mine
      }
      holding.add(more)
    }
    const take = (chunk: Buffer): void => {
      const before = size
      size += chunk.length
      const fault = size > limit ? tooLarge() : count?.add(chunk)
      if (fault) {
        giveUp(fault)
        return
      }
      // A body that comes in one piece is taken as it is. Pieces are copied together at once: kept as they come, a body
      // sent byte by byte would take a hundred times its size.
      if (before === 0) bytes = chunk
      else {
        if (size > bytes.length) {
          const larger = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(SMALL_BYTES, 2 * size)))
          bytes.copy(larger, 0, 0, before)
          bytes = larger
        }
        chunk.copy(bytes, before)
      }
      if (size > SMALL_BYTES) hold(holding === undefined ? size : chunk.length)
    }
    const finish = (): void => {
      stop()
      holding?.keep()
      resolve(bytes.subarray(0, size))
    }
    const timer = setTimeout(() => giveUp(tooSlow()), BODY_SECONDS * 1_000)
    request.on('data', take).on('end', finish).on('close', hungUp)
  })
}

/** Calls back when the answer is out or can no longer be. A response that waits behind another one never says so. */
function whenOver(request: IncomingMessage, response: ServerResponse, over: () => void): void {
  const { socket } = request
  const once = (): void => {
    socket.off('close', once)
    response.off('close', once)
    over()
  }
  socket.on('close', once)
  response.on('close', once)
}

const NOTHING = Buffer.alloc(0)

const tooLarge = (): ApiError => new ApiError(413, 'too_large', 'The body is too large.')

const tooSlow = (): ApiError =>
  new ApiError(408, 'too_slow', `The body must be there within ${BODY_SECONDS} seconds of the request.`)
