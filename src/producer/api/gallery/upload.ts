// Upload of a file into a folder of the gallery.
import { z } from 'zod'
import { accountLimits } from '../../../accounts/store/accounts.ts'
import { removeOldDrafts } from '../../../files/drafts.ts'
import { addFile, GalleryFullError } from '../../../gallery/store/files.ts'
import { findFolder } from '../../../gallery/store/folders.ts'
import { keptBytes } from '../../../gallery/store/kept-bytes.ts'
import { readFields } from '../../bind.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import { readUpload } from '../../multipart.ts'
import type { Handlers } from '../../route.ts'
import { galleryNameField, textIdField } from '../fields.ts'
import type { GalleryDeps } from './deps.ts'
import type { galleryFiles } from './file-routes.ts'
import { fileJson } from './json.ts'

const formSchema = z.object({ folder_id: textIdField, file: galleryNameField })

/** Handler of uploads. */
export function uploadHandlers({
  redis,
  config,
}: Pick<GalleryDeps, 'redis' | 'config'>): Handlers<Pick<typeof galleryFiles, 'upload'>> {
  let cleaned = false
  return {
    async upload({ caller, incoming, origin }) {
      if (!cleaned) {
        cleaned = true
        await removeOldDrafts(config.files, Date.now())
      }
      const { galleryBytes: most } = await accountLimits(redis, caller.account, config.limits)
      // What cannot have any room need not be written down first.
      if (most > 0 && (await keptBytes(redis, caller.account)) >= most) throw galleryFull(most)
      const { draft, fileName, fields } = await readUpload(incoming, config.files, config.uploadMaxBytes)
      try {
        const form = { folder_id: fields.get('folder_id'), file: fileName }
        const { folder_id, file: name } = readFields(formSchema, form)
        if (draft.size === 0) throw invalid([{ path: 'file', message: 'must not be empty' }])
        const folder = await findFolder(redis, caller.account, folder_id)
        if (!folder) throw notFound(`Folder ${folder_id}`)
        const file = await addFile(redis, config.files, caller.account, folder_id, name, draft, most)
        const withIt = (await findFolder(redis, caller.account, folder_id)) ?? folder
        const data = fileJson(file, withIt, config.publicUrl ?? origin())
        return { body: { success: true, message: 'File uploaded', data } }
      } catch (error) {
        throw error instanceof GalleryFullError ? galleryFull(most) : error
      } finally {
        await draft.discard()
      }
    },
  }
}

const galleryFull = (most: number): ApiError =>
  new ApiError(409, 'gallery_full', `The gallery would have more than ${most} bytes, with its trash: at most so many.`)
