// The gallery: folders, files, uploads, and the public address of each file. Bulk moves are in moves.ts.
import { z } from 'zod'
import { accountLimits } from '../../../accounts/accounts.ts'
import { removeOldDrafts } from '../../../files/drafts.ts'
import { contentPath } from '../../../gallery/content.ts'
import {
  addFile,
  findFileByToken,
  type GalleryFile,
  GalleryFullError,
  keptBytes,
  listFiles,
  restoreFile,
  trashFile,
} from '../../../gallery/files.ts'
import {
  createFolder,
  findFolder,
  findFolders,
  listFolders,
  newFolderId,
  renameFolder,
} from '../../../gallery/folders.ts'
import { permits } from '../../../model/accounts/permissions.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route, readForm } from '../../bind.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import { readUpload } from '../../multipart.ts'
import type { ContextOf, RouteSpec } from '../../route.ts'
import { succeeds } from '../answers.ts'
import { galleryNameField, textIdField } from '../fields.ts'
import { addressOf, found, makeOnceById, pageOf } from '../requests.ts'
import { fileJson, folderJson } from './json.ts'
import { type GalleryDeps, moveHandlers } from './moves.ts'
import { galleryFiles, galleryFolders } from './routes.ts'

type Call = Pick<ContextOf<RouteSpec>, 'caller' | 'origin'>

/** Types that a browser may show in place; others are offered for saving. SVG is an image that can run scripts. */
const INLINE = /^(image\/(?!svg)|audio\/|video\/|text\/plain$|application\/pdf$)/
const MEDIA = /^(image\/(?!svg)|audio\/|video\/)/

const formSchema = z.object({ folder_id: textIdField, file: galleryNameField })

export const folderRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(galleryFolders)({
    async list({ caller, query: { after, limit } }) {
      const { page, nextAfter } = pageOf(await listFolders(redis, caller.account, after, limit + 1), limit)
      return { body: { success: true, message: 'Folders listed', data: page.map(folderJson), next_after: nextAfter } }
    },

    async create(call) {
      const { account } = call.caller
      const { name, parent_id: parentId } = call.body
      if (typeof parentId === 'number') found(await findFolder(redis, account, parentId), `Folder ${parentId}`)
      const folder = await makeOnceById(redis, call, 'folder', {
        newId: newFolderId,
        make: (id) => createFolder(redis, account, { name, ...(parentId ? { parentId } : {}), id }),
        find: (id) => findFolder(redis, account, id),
      })
      return succeeds('Folder created', folderJson(folder))
    },

    async rename({ caller, params, body }) {
      const folder = found(await findFolder(redis, caller.account, params.folder_id), `Folder ${params.folder_id}`)
      if (folder.is_system && !permits(caller, 'gallery:system')) {
        throw new ApiError(403, 'system_folder', `Folder ${folder.id} is a system folder and cannot be renamed.`)
      }
      return succeeds('Folder renamed', folderJson(await renameFolder(redis, caller.account, folder.id, body.name)))
    },
  })

export function fileRoutes(deps: GalleryDeps): Route[] {
  const { redis, config } = deps
  let cleaned = false

  /** Files of one account as they are answered, each with its folder. */
  async function inJson(files: readonly GalleryFile[], call: Call) {
    const ids = [...new Set(files.map((file) => file.folder_id))]
    const folders = new Map((await findFolders(redis, call.caller.account, ids)).map((folder) => [folder.id, folder]))
    return files.map((file) => {
      const folder = folders.get(file.folder_id)
      if (!folder) throw new Error(`file ${file.id} is in the folder ${file.folder_id}, which does not exist`)
      return fileJson(file, folder, addressOf(config, call, ''))
    })
  }

  async function oneInJson(file: GalleryFile, call: Call) {
    const [json] = await inJson([file], call)
    if (!json) throw new Error('one file is answered as one')
    return json
  }

  return bind(galleryFiles)({
    ...moveHandlers(deps),

    async list(call) {
      const { after, limit, folder_id, trash } = call.query
      const { account } = call.caller
      if ((folder_id === undefined) === (trash === 'false')) {
        throw invalid([{ path: 'folder_id', message: 'give either a folder_id or trash=true' }])
      }
      if (folder_id !== undefined) found(await findFolder(redis, account, folder_id), `Folder ${folder_id}`)
      const files = await listFiles(redis, account, folder_id ?? 'trash', after, limit + 1)
      const { page, nextAfter } = pageOf(files, limit)
      const data = await inJson(page, call)
      return { body: { success: true, message: 'Files listed', data, next_after: nextAfter } }
    },

    async trash(call) {
      const { file_id } = call.params
      const file = found(await trashFile(redis, call.caller.account, file_id), `File ${file_id}`)
      return succeeds('File moved to trash', await oneInJson(file, call))
    },

    async restore(call) {
      const { file_id } = call.params
      const file = found(await restoreFile(redis, call.caller.account, file_id), `File ${file_id} in the trash`)
      return succeeds('File restored', await oneInJson(file, call))
    },

    async upload(call) {
      if (!cleaned) {
        cleaned = true
        await removeOldDrafts(config.files, Date.now())
      }
      const { account } = call.caller
      const { galleryBytes: most } = await accountLimits(redis, account, config.limits)
      // A full gallery is refused before anything is stored.
      if (most > 0 && (await keptBytes(redis, account)) >= most) throw galleryFull(most)
      const { draft, fileName, fields } = await readUpload(call.incoming, config.files, config.uploadMaxBytes)
      try {
        const { form, headers } = await readForm(formSchema, { ...Object.fromEntries(fields), file: fileName }, call)
        const { folder_id, file: name } = form
        if (draft.size === 0) throw invalid([{ path: 'file', message: 'must not be empty' }])
        found(await findFolder(redis, account, folder_id), `Folder ${folder_id}`)
        const file = await addFile(redis, config.files, account, folder_id, name, draft, { most })
        return { headers, ...succeeds('File uploaded', await oneInJson(file, call)) }
      } catch (error) {
        throw error instanceof GalleryFullError ? galleryFull(most) : error
      } finally {
        await draft.discard()
      }
    },

    // Anybody with the link gets the bytes, as WhatsApp does when it sends the file. People upload what they
    // like and browsers open it under our name, so nothing that can run a script is shown inline.
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
          etag: `"${hash}"`,
          saveAs: INLINE.test(type) ? undefined : name,
        },
      }
    },
  })
}

const galleryFull = (most: number): ApiError =>
  new ApiError(409, 'gallery_full', `The gallery would exceed its limit of ${most} bytes, trash included.`)
