// Upload of a file into a folder of the gallery.
import { z } from 'zod'
import { removeOldDrafts } from '../../gallery/store/content.ts'
import { addFile } from '../../gallery/store/files.ts'
import { findFolder } from '../../gallery/store/folders.ts'
import { baseUrlOf } from '../base-url.ts'
import { invalid, notFound } from '../errors.ts'
import { fieldsOf, galleryNameField, textIdField } from '../fields.ts'
import { readUpload } from '../multipart.ts'
import type { Answer, Call, Route } from '../route.ts'
import { fileJson } from './gallery-json.ts'
import { galleryAccess as access, GALLERY, type GalleryDeps } from './gallery-route.ts'

const uploadSchema = z.object({ folder_id: textIdField, file: galleryNameField })

export function uploadRoutes({ redis, config }: Pick<GalleryDeps, 'redis' | 'config'>): Route[] {
  let cleaned = false

  async function upload({ caller, request }: Call): Promise<Answer> {
    if (!cleaned) {
      cleaned = true
      await removeOldDrafts(config.dataDir, Date.now())
    }
    const { draft, fileName, fields } = await readUpload(request, config.dataDir, config.uploadMaxBytes)
    try {
      const { folder_id, file: name } = fieldsOf(uploadSchema, { folder_id: fields.get('folder_id'), file: fileName })
      if (draft.size === 0) throw invalid([{ path: 'file', message: 'must not be empty' }])
      const folder = await findFolder(redis, caller.account, folder_id)
      if (!folder) throw notFound(`Folder ${folder_id}`)
      const file = await addFile(redis, caller.account, folder_id, name, draft)
      const withIt = (await findFolder(redis, caller.account, folder_id)) ?? folder
      return {
        body: { success: true, message: 'File uploaded', data: fileJson(file, withIt, baseUrlOf(config, request)) },
      }
    } finally {
      await draft.discard()
    }
  }

  return [{ method: 'post', path: `${GALLERY}/files`, access, body: { as: 'stream' }, handle: upload }]
}
