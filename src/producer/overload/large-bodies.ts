// Bodies above 16 KB, and those of unknown length. Express's own parser would hold as many as clients begin, answer one
// that is too large only after its last byte, and parse all that end in the same moment in one go. Here their bytes are
// shared fairly among accounts, a refusal comes as soon as it is due, and few are worked on at a time.
import type { IncomingMessage } from 'node:http'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { JSON_LIMIT_BYTES } from '../../kernel/body-limits.ts'
import { ApiError, overloaded, tooLarge } from '../errors.ts'
import { holderOf } from './connections.ts'
import { spendBudget } from './event-loop-budget.ts'
import { createFairShares } from './fair-shares.ts'
import { createSemaphore } from './semaphore.ts'

/** Time for a body to arrive: it is held in memory meanwhile. */
export const BODY_SECONDS = 30
/** Bytes of bodies that the process holds at once: 250 of the usual limit, 16 of a batch's. */
const HELD_MAX_BYTES = 64 * 1024 * 1024
/** And those of one account, or of all clients without a key: complete bodies cannot be taken back. */
const HELD_OF_ONE_BYTES = 48 * 1024 * 1024
/** Large bodies that are processed at once: enough to be busy while some wait for Redis. */
const LARGE_AT_ONCE = 4
/** And those above the usual limit, whose values can take 30 MB; in a queue of their own. */
const HUGE_AT_ONCE = 2
/** Work that waits for something outside the process gives back its permit after so long. */
const ROOM_MS = 10_000
/** What a piece takes besides its bytes. */
const PIECE_BYTES = 256
/** Chunks of one byte are 2 µs and 200 bytes each: more chunks than this must have 64 bytes each on average. */
const CHUNKS_MAX = 512
const CHUNK_BYTES = 64

/** A large body that has come. Its bytes count as held, and its permit as taken, until `release` is called. */
export interface LargeBody {
  bytes: Buffer
  release: () => void
}

const held = createFairShares(HELD_MAX_BYTES, HELD_OF_ONE_BYTES)
const permits = { large: createSemaphore(LARGE_AT_ONCE), huge: createSemaphore(HUGE_AT_ONCE) }
const alone = createSemaphore(1)

/** Bytes of large bodies that this process holds. */
export const heldBytes = (): number => held.held()

/** Does the work, such as parsing 4 MB, in an iteration of the event loop of its own. */
export async function inOwnIteration<T>(work: () => T): Promise<T> {
  const release = await alone.acquire()
  try {
    await nextIteration()
    return work()
  } finally {
    release()
  }
}

/**
 * Reads a body of up to `limit` bytes and waits until it may be worked on. Rejects with an ApiError: 413, 408 after
 * 30 s, 400 for chunks that are too small, 503 when others need the memory. Undefined when the client has gone.
 */
export async function readLargeBody(request: IncomingMessage, limit: number): Promise<LargeBody | undefined> {
  const { socket } = request
  const share = held.hold(holderOf(socket), () => body.refuse(overloaded()))
  const body = collect(request, limit, share.add)
  // Held until the answer is out, but released at once when the client hangs up while the body waits.
  const drop = (): void => {
    body.drop()
    share.release()
  }
  socket.once('close', drop)
  let release = (): void => {
    socket.off('close', drop)
    drop()
  }
  try {
    await body.whole
    share.keep()
    const forget = release
    const giveBack = await (body.size() > JSON_LIMIT_BYTES ? permits.huge : permits.large).acquire()
    const timer = setTimeout(giveBack, ROOM_MS)
    release = () => {
      clearTimeout(timer)
      giveBack()
      forget()
    }
    // To put 4 MB together takes some ms.
    const bytes = await inOwnIteration(() => (socket.destroyed ? undefined : body.join()))
    if (bytes === undefined) release()
    return bytes && { bytes, release }
  } catch (error) {
    release()
    throw error
  }
}

/** Collects the body; what comes after a refusal is dropped. */
function collect(request: IncomingMessage, limit: number, count: (bytes: number) => void) {
  let pieces: Buffer[] = []
  let size = 0
  let refuse = (_error: Error): void => {}
  const whole = new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => refuse(tooSlow()), BODY_SECONDS * 1_000)
    const stop = (): void => {
      clearTimeout(timer)
      request.off('data', take).off('end', end).off('close', gone)
    }
    refuse = (error) => {
      stop()
      pieces = []
      request.resume()
      reject(error)
    }
    const take = (piece: Buffer): void => {
      pieces.push(piece)
      size += piece.length
      spendBudget(request.socket)
      if (size > limit) refuse(tooLarge())
      else if (pieces.length > CHUNKS_MAX && size < pieces.length * CHUNK_BYTES) refuse(tooSmallChunks())
      else count(piece.length + PIECE_BYTES)
    }
    const end = (): void => {
      stop()
      resolve()
    }
    const gone = (): void => refuse(hungUp())
    // The client hung up while the key was checked: the body would never end.
    if (request.destroyed) gone()
    else request.on('data', take).on('end', end).on('close', gone)
  })
  return {
    whole,
    size: () => size,
    refuse: (error: Error) => refuse(error),
    join: (): Buffer => (pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces, size)),
    drop: (): void => {
      pieces = []
    },
  }
}

/** The error for a client that hung up. */
const hungUp = (): Error => Object.assign(new Error('the client hung up'), { code: 'ECONNRESET' })

/** A body that has not come within its time. */
export const tooSlow = (): ApiError =>
  new ApiError(408, 'too_slow', `The request body was not received within ${BODY_SECONDS} seconds.`)

const tooSmallChunks = (): ApiError =>
  new ApiError(400, 'invalid_body', `The body comes in too many chunks of less than ${CHUNK_BYTES} bytes each.`)
