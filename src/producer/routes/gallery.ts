// The gallery: all its routes under {gallery} = /partners/wp-gallery/manage, and the public address of its files.
//
//   PUT    {gallery}/folders/{id}          rename a folder
//   POST   {gallery}/files/bulk-move       move files into a folder, all or none
//   POST   {gallery}/files/{id}/restore    put a file from the trash back into its folder
//
// and in the same style what the interface leaves out. Lists take `?after=<last id seen>&limit=<1 to 1000, default 100>`
// and answer `data` (an array) and `next_after` (null on the last page).
//
//   GET    {gallery}/folders               list folders
//   POST   {gallery}/folders               create a folder: { name, parent_id? }
//   GET    {gallery}/files?folder_id=      list the active files of a folder
//   GET    {gallery}/files?trash=true      list the trash
//   POST   {gallery}/files                 upload: multipart/form-data with the field folder_id and one file
//   DELETE {gallery}/files/{id}            move a file to the trash
//   GET    {gallery}/jobs/{id}             state of a bulk move: pending, done or failed
//   GET    /media/{token}/{name}           the file itself; open, the token is the secret
import type { Route } from '../route.ts'
import { fileRoutes } from './gallery-files.ts'
import { folderRoutes } from './gallery-folders.ts'
import { mediaRoutes } from './gallery-media.ts'
import { moveRoutes } from './gallery-moves.ts'
import type { GalleryDeps } from './gallery-route.ts'
import { uploadRoutes } from './gallery-upload.ts'

export function galleryRoutes(deps: GalleryDeps): Route[] {
  // Fixed paths before those with an id in the same place.
  return [...folderRoutes(deps), ...moveRoutes(deps), ...fileRoutes(deps), ...uploadRoutes(deps), ...mediaRoutes(deps)]
}
