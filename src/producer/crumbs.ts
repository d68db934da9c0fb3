// Bodies in chunks of a few bytes. Node hands out each chunk by itself, 2 µs of work and 200 bytes of memory for one
// byte, and all that one read of 64 KB holds in one go: 10,000. It does not ask whether anybody wants them yet, so they
// are counted where they come in.
import type { IncomingMessage } from 'node:http'
import { stopReading } from './cut.ts'
import { ApiError, overloaded } from './errors.ts'
import { isTurnUsedUp, readNoMoreInThisTurn } from './turn-budget.ts'

/** More chunks than this must have so many bytes each on the average. */
const CHUNKS_MAX = 512
const CHUNK_BYTES = 64
/** And in an event-loop tick that is used up: 200 clients send them at the same moment. */
const CHUNKS_MAX_LATE = 64

interface Watched {
  fault?: ApiError
  heard?: (fault: ApiError) => void
}
const watched = new WeakMap<IncomingMessage, Watched>()

/** Counts the chunks of a request from now on. Nothing more of it is read when they are too many. */
export function watchCrumbs(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return
  const own: Watched = {}
  watched.set(request, own)
  const { push } = request
  let count = 0
  let size = 0
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk !== null) {
      count += 1
      size += chunk.length
      if (count > CHUNKS_MAX_LATE && size < count * CHUNK_BYTES && (count > CHUNKS_MAX || isTurnUsedUp())) {
        stopReading(request)
        if (isTurnUsedUp()) readNoMoreInThisTurn()
        own.fault = count > CHUNKS_MAX ? inCrumbs() : overloaded()
        own.heard?.(own.fault)
        return false
      }
    }
    return Reflect.apply(push, request, [chunk, encoding])
  }
}

/** Calls back with the ApiError to refuse the request with when its chunks are too small, now or later. */
export function onCrumbs(request: IncomingMessage, heard: (fault: ApiError) => void): void {
  const own = watched.get(request)
  if (own?.fault) heard(own.fault)
  else if (own) own.heard = heard
}

const inCrumbs = (): ApiError =>
  new ApiError(400, 'invalid_body', `The body comes in too many chunks of less than ${CHUNK_BYTES} bytes each.`)
