// Files: list them by folder or trash, put one into the trash, restore one.
import { type GalleryFile, listFilesIn, listTrash, restoreFile, trashFile } from '../../../gallery/store/files.ts'
import { findFolder, findFolders } from '../../../gallery/store/folders.ts'
import { invalid, notFound } from '../../errors.ts'
import type { CallOf, Handlers, RouteSpec } from '../../route.ts'
import { pageOf } from '../page.ts'
import type { GalleryDeps } from './deps.ts'
import type { galleryFiles } from './file-routes.ts'
import { fileJson } from './json.ts'

type FileRoutes = Pick<typeof galleryFiles, 'list' | 'trash' | 'restore'>

/** Handlers of lists of files and of the trash. */
export function fileHandlers({ redis, config }: Pick<GalleryDeps, 'redis' | 'config'>): Handlers<FileRoutes> {
  /** Files of one account as they are answered, each with its folder. */
  async function inJson(
    files: readonly GalleryFile[],
    { caller, origin }: Pick<CallOf<RouteSpec>, 'caller' | 'origin'>,
  ) {
    const ids = [...new Set(files.map((file) => file.folder_id))]
    const folders = new Map((await findFolders(redis, caller.account, ids)).map((folder) => [folder.id, folder]))
    const base = config.publicUrl ?? origin()
    return files.map((file) => {
      const folder = folders.get(file.folder_id)
      if (!folder) throw new Error(`file ${file.id} is in the folder ${file.folder_id}, which does not exist`)
      return fileJson(file, folder, base)
    })
  }

  async function inJsonWithFolder(file: GalleryFile, call: Pick<CallOf<RouteSpec>, 'caller' | 'origin'>) {
    const [json] = await inJson([file], call)
    if (!json) throw new Error('one file is answered as one')
    return json
  }

  return {
    async list(call) {
      const { after, limit, folder_id, trash } = call.query
      const { account } = call.caller
      if ((folder_id === undefined) === (trash === 'false')) {
        throw invalid([{ path: 'folder_id', message: 'give either a folder_id or trash=true' }])
      }
      if (folder_id !== undefined && !(await findFolder(redis, account, folder_id))) {
        throw notFound(`Folder ${folder_id}`)
      }
      const files =
        folder_id === undefined
          ? await listTrash(redis, account, after, limit + 1)
          : await listFilesIn(redis, account, folder_id, after, limit + 1)
      const { page, nextAfter } = pageOf(files, limit)
      const data = await inJson(page, call)
      return { body: { success: true, message: 'Files listed', data, next_after: nextAfter } }
    },
    async trash(call) {
      const { file_id } = call.params
      const file = await trashFile(redis, call.caller.account, file_id)
      if (!file) throw notFound(`File ${file_id}`)
      return { body: { success: true, message: 'File moved to trash', data: await inJsonWithFolder(file, call) } }
    },
    async restore(call) {
      const { file_id } = call.params
      const file = await restoreFile(redis, call.caller.account, file_id)
      if (!file) throw notFound(`File ${file_id} in the trash`)
      return { body: { success: true, message: 'File restored', data: await inJsonWithFolder(file, call) } }
    },
  }
}
