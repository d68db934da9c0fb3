// Bodies that are streamed to disk may take hours, as long as they make progress: a gigabyte over a slow line does. A client that stops
// sending is cut off, or its connection and half a file would be kept for ever.
import { isRedisAway } from '../../redis/errors.ts'
import { ApiError } from '../errors.ts'
import type { StreamedBody } from '../route.ts'
import { spendBudget } from './event-loop-budget.ts'

/** So many bytes must come within each span of this: 0.5 KB/s, or a byte now and then would keep half a file for ever. */
const SPAN_SECONDS = 30
const SPAN_BYTES = 16 * 1_024

/**
 * Watches a request's connection. `fault` rejects with an ApiError when less than 16 KB come within 30 s (408);
 * call `stop` when it is read.
 */
export function watchFlow(request: StreamedBody, spanMs = SPAN_SECONDS * 1_000) {
  let bytes = request.socket.bytesRead
  let timer: NodeJS.Timeout | undefined
  const fault = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => {
      // Unread bytes that have arrived mean that we are slow.
      const isOurs = request.readableLength > 0 || request.complete
      if (!isOurs && request.socket.bytesRead - bytes < SPAN_BYTES) reject(tooSlow(spanMs))
      bytes = request.socket.bytesRead
    }, spanMs)
    timer.unref()
  })
  // Marks a late rejection as handled.
  fault.catch(() => {})
  return { fault, stop: () => clearInterval(timer) }
}

/** The body as it comes; throws an ApiError when it comes too slowly. The request itself is left as it is then. */
export async function* flowing(request: StreamedBody, spanMs?: number): AsyncGenerator<Buffer> {
  const { fault, stop } = watchFlow(request, spanMs)
  const pieces: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const { done, value } = await Promise.race([pieces.next(), fault])
      if (done) return
      spendBudget(request.socket)
      yield value
    }
  } finally {
    stop()
    // Ends the iterator, so that others can read the rest. Not awaited: the piece that it waits for may never come.
    void pieces.return?.()
  }
}

/** How often the key is checked again while a body arrives. */
const CHECK_MS = 1_000

/** The same, as long as the key is valid: a body can take days, and its content is used as it comes. */
export async function* flowingWhile(
  assertStillAllowed: () => Promise<unknown>,
  request: StreamedBody,
): AsyncGenerator<Buffer> {
  let checkedAt = performance.now()
  for await (const piece of flowing(request)) {
    if (performance.now() - checkedAt > CHECK_MS) {
      // Unknown while Redis is away.
      await assertStillAllowed().catch((error: unknown) => {
        if (!isRedisAway(error)) throw error
      })
      checkedAt = performance.now()
    }
    yield piece
  }
}

const tooSlow = (spanMs: number): ApiError =>
  new ApiError(408, 'too_slow', `Less than ${SPAN_BYTES / 1_024} KB of the body came within ${spanMs / 1_000} seconds.`)
