// The public address of a gallery file: whoever has the link gets the bytes, as the chat product does when it sends it.
// People upload what they like and browsers open it under our name, so nothing that can run a script is shown inline.
import type { Response } from 'express'
import { contentPath } from '../../gallery/store/content.ts'
import { findFileByToken, type GalleryFile } from '../../gallery/store/files.ts'
import { hasHungUp } from '../answer.ts'
import { ApiError, internal, notFound } from '../errors.ts'
import type { Answer, Call, Route } from '../route.ts'
import type { GalleryDeps } from './gallery-route.ts'

/** Types that a browser may show in place; the rest is offered for saving. SVG is an image that can run scripts. */
const INLINE = /^(image\/(?!svg)|audio\/|video\/|text\/plain$|application\/pdf$)/
const MEDIA = /^(image\/(?!svg)|audio\/|video\/)/

export function mediaRoutes({ redis, config }: Pick<GalleryDeps, 'redis' | 'config'>): Route[] {
  async function serve({ params }: Call): Promise<Answer> {
    // The name in the address is for people, the token alone finds the file.
    const file = await findFileByToken(redis, params.token ?? '')
    if (!file || file.deleted_at !== null) throw notFound('This file')
    return { write: (response) => send(response, file, config.dataDir) }
  }

  return [
    {
      method: 'get',
      path: '/media/:token/:name',
      access: {
        in: 'open',
        why: 'the token in the address is the secret; the chat product fetches links without a key',
      },
      body: { as: 'ignored' },
      handle: serve,
    },
  ]
}

/** Streams the bytes, whole or the range asked for. */
function send(response: Response, file: GalleryFile, dataDir: string): Promise<void> {
  if (!INLINE.test(file.mime_type)) response.attachment(file.name)
  if (!MEDIA.test(file.mime_type)) response.set('Content-Security-Policy', "default-src 'none'; sandbox")
  response.set({
    'Content-Type': file.mime_type === 'text/plain' ? 'text/plain; charset=utf-8' : file.mime_type,
    'X-Content-Type-Options': 'nosniff',
    // The same bytes for ever; but a file can go into the trash, so a cache has to ask.
    ETag: `"${file.hash}"`,
    'Cache-Control': 'no-cache',
  })
  return new Promise((resolve, reject) => {
    response.sendFile(contentPath(file.hash), { root: dataDir, cacheControl: false, lastModified: false }, (error) => {
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
