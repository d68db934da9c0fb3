// Files: list them by folder or trash, put one into the trash, restore one.
import { z } from 'zod'
import { type GalleryFile, listFilesIn, listTrash, restoreFile, trashFile } from '../../gallery/store/files.ts'
import { findFolder, findFolders } from '../../gallery/store/folders.ts'
import { baseUrlOf } from '../base-url.ts'
import { invalid, notFound } from '../errors.ts'
import { fieldsOf, pageFields, pageOf, textIdField } from '../fields.ts'
import type { Answer, Call, Route } from '../route.ts'
import { fileJson } from './gallery-json.ts'
import { galleryAccess as access, GALLERY, type GalleryDeps } from './gallery-route.ts'

const pathSchema = z.object({ file_id: textIdField })
const listSchema = z.strictObject({
  ...pageFields,
  folder_id: textIdField.optional(),
  trash: z.enum(['true', 'false']).default('false'),
})

export function fileRoutes({ redis, config }: Pick<GalleryDeps, 'redis' | 'config'>): Route[] {
  /** Files of one account as they are answered, each with its folder. */
  async function inJson(files: readonly GalleryFile[], { caller, request }: Call) {
    const ids = [...new Set(files.map((file) => file.folder_id))]
    const folders = new Map((await findFolders(redis, caller.account, ids)).map((folder) => [folder.id, folder]))
    return files.map((file) => {
      const folder = folders.get(file.folder_id)
      if (!folder) throw new Error(`file ${file.id} is in the folder ${file.folder_id}, which does not exist`)
      return fileJson(file, folder, baseUrlOf(config, request))
    })
  }

  async function list(call: Call): Promise<Answer> {
    const { after, limit, folder_id, trash } = fieldsOf(listSchema, call.query)
    const account = call.caller.account
    if ((folder_id === undefined) === (trash === 'false')) {
      throw invalid([{ path: 'folder_id', message: 'give either a folder_id or trash=true' }])
    }
    if (folder_id !== undefined && !(await findFolder(redis, account, folder_id))) throw notFound(`Folder ${folder_id}`)
    const files =
      folder_id === undefined
        ? await listTrash(redis, account, after, limit + 1)
        : await listFilesIn(redis, account, folder_id, after, limit + 1)
    const { page, nextAfter } = pageOf(files, limit)
    const data = await inJson(page, call)
    return { body: { success: true, message: 'Files listed', data, next_after: nextAfter } }
  }

  async function trash(call: Call): Promise<Answer> {
    const { file_id } = fieldsOf(pathSchema, { file_id: call.params.file_id ?? '' })
    const file = await trashFile(redis, call.caller.account, file_id)
    if (!file) throw notFound(`File ${file_id}`)
    const [data] = await inJson([file], call)
    return { body: { success: true, message: 'File moved to trash', data } }
  }

  async function restore(call: Call): Promise<Answer> {
    const { file_id } = fieldsOf(pathSchema, { file_id: call.params.file_id ?? '' })
    const file = await restoreFile(redis, call.caller.account, file_id)
    if (!file) throw notFound(`File ${file_id} in the trash`)
    const [data] = await inJson([file], call)
    return { body: { success: true, message: 'File restored', data } }
  }

  const body = { as: 'ignored' } as const
  return [
    { method: 'get', path: `${GALLERY}/files`, access, body, handle: list },
    { method: 'delete', path: `${GALLERY}/files/:file_id`, access, body, handle: trash },
    { method: 'post', path: `${GALLERY}/files/:file_id/restore`, access, body, handle: restore },
    // The id is missing: the same handlers say so.
    { method: 'delete', path: `${GALLERY}/files/`, access, body, handle: trash },
    { method: 'post', path: `${GALLERY}/files//restore`, access, body, handle: restore },
  ]
}
