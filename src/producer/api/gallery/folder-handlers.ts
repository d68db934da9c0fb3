// Folders: list, create, rename.

import { permits } from '../../../accounts/permissions.ts'
import { createFolder, findFolder, listFolders, newFolderId, renameFolder } from '../../../gallery/store/folders.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Handlers } from '../../route.ts'
import { pageOf } from '../page.ts'
import type { GalleryDeps } from './deps.ts'
import type { galleryFolders } from './folder-routes.ts'
import { folderJson } from './json.ts'

/**
 * Listing, creating and renaming. Throw an ApiError: 404 `not_found`, 403 `system_folder`; a Refusal for a reused key.
 */
export const folderHandlers = ({ redis }: Pick<GalleryDeps, 'redis'>): Handlers<typeof galleryFolders> => ({
  async list({ caller, query: { after, limit } }) {
    const { page, nextAfter } = pageOf(await listFolders(redis, caller.account, after, limit + 1), limit)
    return { body: { success: true, message: 'Folders listed', data: page.map(folderJson), next_after: nextAfter } }
  },

  async create({ caller, body: { name, parent_id: parentId }, sent, headers }) {
    if (typeof parentId === 'number' && !(await findFolder(redis, caller.account, parentId))) {
      throw notFound(`Folder ${parentId}`)
    }
    const { account } = caller
    const use = { account, route: 'folder', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
    const folder = await once(redis, use, {
      prepare: async () => ({
        name: String(await newFolderId(redis)),
        work: { name, ...(parentId ? { parentId } : {}) },
      }),
      make: (id, wanted) => createFolder(redis, account, { ...wanted, id: Number(id) }),
      find: (id) => findFolder(redis, account, Number(id)),
    })
    return { body: { success: true, message: 'Folder created', data: folderJson(folder) } }
  },

  async rename({ caller, params, body }) {
    const folder = await findFolder(redis, caller.account, params.folder_id)
    if (!folder) throw notFound(`Folder ${params.folder_id}`)
    if (folder.is_system && !permits(caller, 'gallery:system')) {
      throw new ApiError(403, 'system_folder', `Folder ${folder.id} is a system folder and cannot be renamed.`)
    }
    const renamed = await renameFolder(redis, caller.account, folder.id, body.name)
    return { body: { success: true, message: 'Folder renamed', data: folderJson(renamed) } }
  },
})
