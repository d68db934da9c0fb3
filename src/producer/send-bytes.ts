// Answers that are not one JSON object: bytes in pieces, and files that are kept.
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { ApiError } from './errors.ts'
import type { FileAnswer, StreamAnswer } from './route.ts'

/** Writes as fast as the client reads. If reading fails, the connection is cut: the answer must not look complete. */
export async function sendStream(response: Response, { headers, stream, saveAs }: StreamAnswer): Promise<void> {
  if (saveAs !== undefined) response.attachment(saveAs)
  response.status(200).set({ 'Cache-Control': 'no-store', ...headers })
  // Nothing of the stream is sent, and one without an end would never be: the head would wait for it for ever.
  if (response.req.method === 'HEAD') {
    stream.destroy()
    response.end()
    return
  }
  await flow(stream, response)
}

async function flow(stream: Readable, response: Response): Promise<void> {
  try {
    await pipeline<Readable, Response>(stream, response)
  } catch (error) {
    // A client that hung up needs no answer.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}

/**
 * Sends a file, whole or the requested range. Throws an ApiError: 412 for a file other than the named one, 416 for a range that it does
 * not have. A remote read is aborted when the client hangs up.
 */
export async function sendFile(response: Response, { headers, file }: FileAnswer): Promise<void> {
  const { req: request } = response
  const { files, name, saveAs, etag } = file
  const address = await files.addressOf(name, { type: headers['Content-Type'] ?? 'application/octet-stream', saveAs })
  if (address !== undefined) {
    response.redirect(302, address)
    return
  }
  const size = await files.sizeOf(name)
  if (!namesIt(request.get('If-Match'), etag)) {
    throw new ApiError(412, 'precondition_failed', 'The file is not the one the request names.')
  }
  const isWanted = namesIt(request.get('If-Range'), etag)
  const ranges = isWanted ? request.range(size, { combine: true }) : undefined
  if (ranges === -1) {
    throw new ApiError(416, 'range_not_satisfiable', 'The file has no bytes in this range.', {
      headers: { 'Content-Range': `bytes */${size}` },
    })
  }
  if (saveAs !== undefined) response.attachment(saveAs)
  response.status(200).set({ ...headers, ETag: etag, 'Accept-Ranges': 'bytes' })
  if (request.fresh) {
    response.status(304).removeHeader('Content-Type')
    response.end()
    return
  }
  // For several ranges the whole file is a valid answer.
  const range = Array.isArray(ranges) && ranges.type === 'bytes' && ranges.length === 1 ? ranges[0] : undefined
  const part = range ? { from: range.start, to: range.end + 1 } : { from: 0, to: size }
  response.set('Content-Length', String(part.to - part.from))
  if (range) response.status(206).set('Content-Range', `bytes ${range.start}-${range.end}/${size}`)
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  await flow(await files.read(name, part), response)
}

/** Whether a precondition is met: it is missing, names everything, or names the file. */
const namesIt = (condition: string | undefined, etag: string): boolean =>
  condition === undefined || condition.trim() === '*' || condition.split(',').some((each) => each.trim() === etag)
