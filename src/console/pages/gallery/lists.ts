// Folders and files of the gallery, whose lists have pages of their own kind.
import type { FileJson, FolderJson } from '../../../producer/api/gallery/routes.ts'
import { call, type Page } from '../../state/http.ts'

/** The address of everything of the gallery. */
export const GALLERY = '/partners/wp-gallery/manage'

interface GalleryPage<T> {
  data: T[]
  next_after: number | null
}
const FOLDERS = 1_000
const FILES = 60

/** All folders, up to a thousand. */
export const listFolders = async (signal: AbortSignal): Promise<FolderJson[]> =>
  (await call<GalleryPage<FolderJson>>('GET', `${GALLERY}/folders`, { query: { limit: FOLDERS }, signal })).data

/** What lists a page of the files of a folder, or of the trash. */
export const listFiles =
  (folder: number | undefined) =>
  async (after: string | undefined, signal?: AbortSignal): Promise<Page<FileJson>> => {
    const query = { limit: FILES, after, folder_id: folder, trash: folder === undefined ? 'true' : undefined }
    const page = await call<GalleryPage<FileJson>>('GET', `${GALLERY}/files`, { query, ...(signal ? { signal } : {}) })
    return { data: page.data, next: page.next_after === null ? null : String(page.next_after) }
  }
