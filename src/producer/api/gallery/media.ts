// The public address of a gallery file: whoever has the link gets the bytes, as the chat product does when it sends it.
// People upload what they like and browsers open it under our name, so nothing that can run a script is shown inline.
import { contentPath } from '../../../gallery/store/content.ts'
import { findFileByToken } from '../../../gallery/store/files.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../../route.ts'
import type { GalleryDeps } from './deps.ts'
import type { galleryFiles } from './file-routes.ts'

/** Types that a browser may show in place; the rest is offered for saving. SVG is an image that can run scripts. */
const INLINE = /^(image\/(?!svg)|audio\/|video\/|text\/plain$|application\/pdf$)/
const MEDIA = /^(image\/(?!svg)|audio\/|video\/)/

/** Handler of a file's public address. */
export const mediaHandlers = ({
  redis,
  config,
}: Pick<GalleryDeps, 'redis' | 'config'>): Handlers<Pick<typeof galleryFiles, 'media'>> => ({
  async media({ params }) {
    const file = await findFileByToken(redis, params.token)
    if (!file || file.deleted_at !== null) throw notFound('This file')
    const { mime_type: type, name, hash } = file
    return {
      headers: {
        ...(MEDIA.test(type) ? {} : { 'Content-Security-Policy': "default-src 'none'; sandbox" }),
        'Content-Type': type === 'text/plain' ? 'text/plain; charset=utf-8' : type,
        'X-Content-Type-Options': 'nosniff',
        // A file can go into the trash, so a cache has to ask.
        'Cache-Control': 'no-cache',
      },
      file: {
        files: config.files,
        name: contentPath(hash),
        // The same bytes for ever.
        etag: `"${hash}"`,
        saveAs: INLINE.test(type) ? undefined : name,
      },
    }
  },
})
