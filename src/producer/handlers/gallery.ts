// The gallery: folders, files, bulk moves, uploads, and the public address of each file.
import { bind, type Route } from '../bind.ts'
import { galleryFiles } from '../routes/gallery-files.ts'
import { galleryFolders } from '../routes/gallery-folders.ts'
import type { GalleryDeps } from './gallery-deps.ts'
import { fileHandlers } from './gallery-files.ts'
import { folderHandlers } from './gallery-folders.ts'
import { mediaHandlers } from './gallery-media.ts'
import { moveHandlers } from './gallery-moves.ts'
import { uploadHandlers } from './gallery-upload.ts'

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
