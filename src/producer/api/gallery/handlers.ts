// The gallery: folders, files, bulk moves, uploads, and the public address of each file.
import { bind, type Route } from '../../bind.ts'
import type { GalleryDeps } from './deps.ts'
import { fileHandlers } from './file-handlers.ts'
import { galleryFiles } from './file-routes.ts'
import { folderHandlers } from './folder-handlers.ts'
import { galleryFolders } from './folder-routes.ts'
import { mediaHandlers } from './media.ts'
import { moveHandlers } from './move-handlers.ts'
import { uploadHandlers } from './upload.ts'

/** The routes of routes/gallery-folders.ts and routes/gallery-files.ts. */
export const galleryRoutes = (deps: GalleryDeps): Route[] => [
  ...bind(galleryFolders)(folderHandlers(deps)),
  ...bind(galleryFiles)({
    ...moveHandlers(deps),
    ...fileHandlers(deps),
    ...uploadHandlers(deps),
    ...mediaHandlers(deps),
  }),
]
