// Folders and files as the gallery answers them.

import { contentPath } from '../../../gallery/content.ts'
import { type GalleryFile, publicPathOf } from '../../../gallery/files.ts'
import type { Folder } from '../../../gallery/folders.ts'
import { compatibilityOf } from '../../../gallery/media-compatibility.ts'
import type { FileJson, FolderJson } from './routes.ts'

/** A folder as it is answered. */
export function folderJson(folder: Folder): FolderJson {
  return {
    id: folder.id,
    user_id: String(folder.account),
    name: folder.name,
    parent_id: folder.parent_id,
    is_system: folder.is_system,
    file_count: folder.file_count,
    created_at: isoMicros(folder.created_at),
    updated_at: isoMicros(folder.updated_at),
    deleted_at: null,
  }
}

/** A file as it is answered. `baseUrl` is the public address of the service, without a slash at its end. */
export function fileJson(file: GalleryFile, folder: Folder, baseUrl: string): FileJson {
  const compatibility = compatibilityOf(file.mime_type, file.size)
  return {
    id: file.id,
    user_id: String(file.account),
    folder_id: file.folder_id,
    name: file.name,
    original_name: file.original_name,
    path: contentPath(file.hash),
    hash: file.hash,
    path_hash: null,
    mime_type: file.mime_type,
    type: kindOf(file.mime_type),
    extension: file.extension,
    size: file.size,
    url: `${baseUrl}${publicPathOf(file)}`,
    is_starred: false,
    is_chatapp_compatible: compatibility.compatible,
    chatapp_compatibility_reason: compatibility.reason,
    uploaded_at: isoMicros(file.uploaded_at),
    created_at: isoMicros(file.created_at),
    updated_at: isoMicros(file.updated_at),
    deleted_at: file.deleted_at === null ? null : isoMicros(file.deleted_at),
    tags: [],
    folder: folderJson(folder),
  }
}

/** The kind of file that WhatsApp sends it as. */
function kindOf(mimeType: string): FileJson['type'] {
  const [kind] = mimeType.split('/')
  return kind === 'image' || kind === 'video' || kind === 'audio' ? kind : 'document'
}

/** Microseconds since 1970 as ISO 8601 with six fraction digits and Z. */
export function isoMicros(micros: number): string {
  const millis = new Date(Math.floor(micros / 1_000)).toISOString()
  return `${millis.slice(0, -1)}${String(micros % 1_000).padStart(3, '0')}Z`
}
