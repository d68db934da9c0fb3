// Reads the bytes of a body, bounded in size, in time, in what they hold, and in how many of them the process holds.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { holderOf } from './connections.ts'
import { onCrumbs } from './crumbs.ts'
import { ApiError, overloaded } from './errors.ts'
import type { JsonCount } from './json-count.ts'
import type { Share, Shares } from './shares.ts'
import { isTurnUsedUp, restUntilNextTurn } from './turn-budget.ts'

/** A body must be there by then: what has come of it is held in memory. */
const BODY_SECONDS = 30

/** Bodies up to here are neither counted as held nor wait for a turn: as many as there may be connections are 32 MB. */
export const SMALL_BYTES = 16 * 1_024

/** Pieces below this are put together at once: kept as they come, a byte on its own takes 100. */
const CRUMB_BYTES = 4_096
/** A body that is there. */
export interface Body {
  readonly length: number
  /**
   * Its bytes, once: 4 MB take some ms to be put together, which is left to whoever works on them. None when the client
   * has gone meanwhile: they are let go of at once, however long the work on them waits for its turn.
   */
  take(): Buffer
  /** Its bytes are not needed any more, and do not count as held. */
  drop(): void
}

/** No body. */
export const NO_BODY: Body = { length: 0, take: () => Buffer.alloc(0), drop: () => {} }

/**
 * Reads the whole body. Rejects with an ApiError as soon as more than `limit` bytes are announced or come, or they hold
 * more than `count` lets pass, or they take too long, or the process needs their memory: Express's own reader answers
 * only after the last byte, of a body without end never. Settles never when the client goes away, for nobody waits for
 * an answer then. What comes after a refusal is dropped. The bytes count as held until the answer is out.
 */
export function readBytes(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, count, held }: { limit: number; count: JsonCount | undefined; held: Shares },
): Promise<Body> {
  return new Promise((resolve, reject) => {
    // Gone while the key was looked at: it would never end.
    if (request.destroyed) return
    const announced = Number(request.headers['content-length'])
    if (announced > limit) {
      reject(tooLarge())
      return
    }
    let pieces: Pieces | undefined = createPieces()
    let size = 0
    let holding: Share | undefined
    const stop = (): void => {
      clearTimeout(timer)
      request.off('data', take).off('end', finish).off('close', hungUp)
    }
    const giveUp = (error: ApiError): void => {
      stop()
      holding?.release()
      pieces = undefined
      request.resume()
      reject(error)
    }
    const hungUp = (): void => {
      stop()
      holding?.release()
    }
    const hold = (more: number): void => {
      if (holding === undefined) {
        const mine = held.hold(holderOf(request.socket), () => giveUp(overloaded()))
        whenOver(request, response, () => {
          pieces = undefined
          mine.release()
        })
        holding = mine
      }
      holding.add(more)
    }
    const take = (chunk: Buffer): void => {
      size += chunk.length
      pieces?.add(chunk)
      if (size > limit) {
        giveUp(tooLarge())
        return
      }
      if (size > SMALL_BYTES) hold(holding === undefined ? size : chunk.length)
      // Not of crumbs: Node would hand out one in each turn.
      const isLate = size > SMALL_BYTES && chunk.length >= CRUMB_BYTES && isTurnUsedUp()
      const countOn = (): void => {
        // Nothing is left to count of a body that was given up while it waited for its turn.
        const fault = pieces && count?.add(chunk)
        if (fault) giveUp(fault)
        else if (isLate) request.resume()
      }
      if (isLate) restUntilNextTurn(request, countOn)
      else countOn()
    }
    const finish = (): void => {
      stop()
      holding?.keep()
      const takeAll = (): Buffer => {
        const all = pieces?.all() ?? NO_BODY.take()
        pieces = undefined
        return all
      }
      resolve({ length: size, take: takeAll, drop: () => holding?.release() })
    }
    const timer = setTimeout(() => giveUp(tooSlow()), BODY_SECONDS * 1_000)
    request.on('data', take).on('end', finish).on('close', hungUp)
    onCrumbs(request, giveUp)
  })
}

type Pieces = ReturnType<typeof createPieces>

/** The pieces of a body, in about as much memory as they have bytes. */
function createPieces() {
  const whole: Buffer[] = []
  let crumbs: Buffer | undefined
  let used = 0
  let count = 0
  let size = 0

  function sweepUp(): void {
    if (crumbs && used > 0) whole.push(Buffer.from(crumbs.subarray(0, used)))
    used = 0
  }
  function keep(piece: Buffer): void {
    if (piece.length >= CRUMB_BYTES) {
      sweepUp()
      whole.push(piece)
      return
    }
    crumbs ??= Buffer.allocUnsafeSlow(SMALL_BYTES)
    if (used + piece.length > crumbs.length) sweepUp()
    piece.copy(crumbs, used)
    used += piece.length
  }

  return {
    add(piece: Buffer): void {
      count += 1
      size += piece.length
      // Nearly all bodies are one piece, which is taken as it is.
      if (count === 1) whole.push(piece)
      else {
        if (count === 2) keep(whole.pop() ?? piece)
        keep(piece)
      }
    },
    all(): Buffer {
      sweepUp()
      const [only] = whole
      return whole.length === 1 && only ? only : Buffer.concat(whole, size)
    },
  }
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

/** A body of more bytes than it may have. */
export const tooLarge = (): ApiError => new ApiError(413, 'too_large', 'The body is too large.')

const tooSlow = (): ApiError =>
  new ApiError(408, 'too_slow', `The request body was not received within ${BODY_SECONDS} seconds.`)
