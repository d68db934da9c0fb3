// Bodies that are streamed to disk may take as long as they need, as long as they come: a gigabyte over a slow line takes
// hours. A client that stops sending is cut off, or its connection and half a file would be kept for ever.
import type { IncomingMessage } from 'node:http'
import { ApiError } from './errors.ts'

/** Some byte must come within this. */
const SILENT_SECONDS = 30

/** Watches a request's connection. `silence` rejects with a 408 when nothing comes for 30 s; call `stop` when it is read. */
export function watchFlow(request: IncomingMessage, silentMs = SILENT_SECONDS * 1_000) {
  let bytes = request.socket.bytesRead
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setInterval(() => {
      if (request.socket.bytesRead === bytes) reject(tooSlow(silentMs))
      bytes = request.socket.bytesRead
    }, silentMs)
    timer.unref()
  })
  // It may come when nobody waits for it any more.
  silence.catch(() => {})
  return { silence, stop: () => clearInterval(timer) }
}

/** The body as it comes; throws an ApiError 408 when it stops coming. The request itself is left as it is then. */
export async function* flowing(request: IncomingMessage, silentMs?: number): AsyncGenerator<Buffer> {
  const { silence, stop } = watchFlow(request, silentMs)
  const pieces: AsyncIterator<Buffer> = request.iterator({ destroyOnReturn: false })
  try {
    for (;;) {
      const { done, value } = await Promise.race([pieces.next(), silence])
      if (done) return
      yield value
    }
  } finally {
    stop()
  }
}

const tooSlow = (silentMs: number): ApiError =>
  new ApiError(408, 'too_slow', `No byte of the body came for ${silentMs / 1_000} seconds.`)
