// Folders: list, create, rename.
import { z } from 'zod'
import { once } from '../../accept/once.ts'
import { createFolder, findFolder, listFolders, newFolderId, renameFolder } from '../../gallery/store/folders.ts'
import { bodyDigest } from '../../messages/store/idempotency.ts'
import { ApiError, notFound } from '../errors.ts'
import { fieldsOf, galleryNameField, idField, pageFields, pageOf, textIdField } from '../fields.ts'
import { ignoredIn } from '../ignored.ts'
import type { Answer, Call, Route } from '../route.ts'
import { folderJson } from './gallery-json.ts'
import { galleryAccess as access, GALLERY, type GalleryDeps } from './gallery-route.ts'

const listSchema = z.strictObject(pageFields)
const createSchema = z.strictObject({ name: galleryNameField, parent_id: idField.nullish() })
const renameSchema = z.object({ folder_id: textIdField, name: galleryNameField })

export function folderRoutes({ redis }: Pick<GalleryDeps, 'redis'>): Route[] {
  async function list({ caller, query }: Call): Promise<Answer> {
    const { after, limit } = fieldsOf(listSchema, query)
    const { page, nextAfter } = pageOf(await listFolders(redis, caller.account, after, limit + 1), limit)
    return { body: { success: true, message: 'Folders listed', data: page.map(folderJson), next_after: nextAfter } }
  }

  async function create({ caller, body, header }: Call): Promise<Answer> {
    const { name, parent_id: parentId } = fieldsOf(createSchema, body)
    if (typeof parentId === 'number' && !(await findFolder(redis, caller.account, parentId))) {
      throw notFound(`Folder ${parentId}`)
    }
    const { account } = caller
    const use = { account, route: 'folder', key: header('idempotency-key'), digest: () => bodyDigest(body) }
    const folder = await once(redis, use, {
      prepare: async () => ({
        name: String(await newFolderId(redis)),
        work: { name, ...(parentId ? { parentId } : {}) },
      }),
      make: (id, wanted) => createFolder(redis, account, { ...wanted, id: Number(id) }),
      find: async (id) => {
        const there = await findFolder(redis, account, Number(id))
        // The process may have died before it was listed.
        return there && createFolder(redis, account, { name: there.name, id: there.id })
      },
    })
    return { body: { success: true, message: 'Folder created', data: folderJson(folder) } }
  }

  async function rename({ caller, params, body }: Call): Promise<Answer> {
    const fields = fieldsOf(renameSchema, { folder_id: params.folder_id ?? '', name: body.name })
    const folder = await findFolder(redis, caller.account, fields.folder_id)
    if (!folder) throw notFound(`Folder ${fields.folder_id}`)
    if (folder.is_system && !caller.permissions.includes('gallery:system')) {
      throw new ApiError(403, 'system_folder', `Folder ${folder.id} is a system folder and cannot be renamed.`)
    }
    const renamed = await renameFolder(redis, caller.account, folder.id, fields.name)
    const data = folderJson(renamed)
    return { headers: ignoredIn(body, ['name']), body: { success: true, message: 'Folder renamed', data } }
  }

  return [
    { method: 'get', path: `${GALLERY}/folders`, access, body: { as: 'ignored' }, handle: list },
    { method: 'post', path: `${GALLERY}/folders`, access, body: { as: 'json' }, handle: create },
    { method: 'put', path: `${GALLERY}/folders/:folder_id`, access, body: { as: 'json' }, handle: rename },
    // The id is missing: the same handler says so.
    { method: 'put', path: `${GALLERY}/folders/`, access, body: { as: 'json' }, handle: rename },
  ]
}
