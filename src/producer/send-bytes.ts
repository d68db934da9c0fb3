// Answers that are not one JSON object: bytes in pieces, and files from the disk.
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { hasHungUp } from './answer.ts'
import { ApiError, internal } from './errors.ts'
import type { FileAnswer, StreamAnswer } from './route.ts'

/** Writes as fast as the client reads. When reading fails, the connection is cut: the answer must not look whole. */
export async function sendStream(response: Response, { headers, stream }: StreamAnswer): Promise<void> {
  response.status(200).set(headers)
  try {
    await pipeline<Readable, Response>(stream, response)
  } catch (error) {
    // Who hangs up in the middle needs no answer.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}

/** Sends a file, whole or the range asked for; an ApiError when a range or a precondition cannot be met. */
export function sendFile(response: Response, { headers, file }: FileAnswer): Promise<void> {
  if (file.saveAs !== undefined) response.attachment(file.saveAs)
  response.set(headers)
  return new Promise((resolve, reject) => {
    response.sendFile(file.path, { root: file.root, cacheControl: false, lastModified: false }, (error) => {
      // Once the head is out, or the client has gone, nothing can be answered: the headers can no longer be touched, and
      // an error thrown here would end the process.
      if (!error) resolve()
      else if (response.headersSent || hasHungUp(response)) {
        response.destroy()
        resolve()
      } else reject(refusal(error, response))
    })
  })
}

/** What `sendFile` reports: a range or a precondition that cannot be met, or content that is not where it must be. */
function refusal(error: Error, response: Response): ApiError {
  const status = 'status' in error ? error.status : 500
  const range = response.get('Content-Range')
  for (const name of ['Content-Type', 'Content-Disposition', 'ETag', 'Cache-Control']) response.removeHeader(name)
  if (status === 416) {
    return new ApiError(416, 'range_not_satisfiable', 'The file has no bytes in this range.', {
      headers: range ? { 'Content-Range': range } : {},
    })
  }
  if (status === 412) return new ApiError(412, 'precondition_failed', 'The file is not the one the request names.')
  return internal(error)
}
