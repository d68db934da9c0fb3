// The gallery: folders; files with bulk moves, lists, the trash and uploads; the public address of each file.
import { z } from 'zod'
import { MOVE_MAX_FILES } from '../../../jobs/background.ts'
import { listUpTo } from '../../../kernel/bounded.ts'
import { named, queuedJob, success, successPage, successWith } from '../answers.ts'
import { routesOf } from '../define.ts'
import { galleryNameField, idField, pageFields, textIdField } from '../fields.ts'

export const GALLERY = '/partners/wp-gallery/manage'
/** Unless LANEWAY_UPLOAD_MAX_BYTES says otherwise. */
const UPLOAD_MAX_BYTES = 100 * 1024 * 1024

const access = { in: 'bearer', permission: 'gallery' } as const
const folder = routesOf({ access, params: z.object({ folder_id: textIdField }), shown: { folder_id: '1' } })
const file = routesOf({ access, params: z.object({ file_id: textIdField }), shown: { file_id: '5' } })
const open = routesOf({
  access: {
    in: 'open',
    why: 'is served to anybody who has the token in the address; WhatsApp fetches links without a key',
  },
})

const time = z.iso.datetime({ precision: 6 })

const folderSchema = named('Folder', {
  id: z.int().positive(),
  user_id: z.string().describe('The account’s id.'),
  name: z.string(),
  parent_id: z.int().positive().nullable().describe('Null at the top.'),
  is_system: z.boolean().describe('Whether renaming takes the permission `gallery:system`.'),
  file_count: z.int().nonnegative().describe('Its files that are not in the trash.'),
  created_at: time,
  updated_at: time,
  deleted_at: z.null().describe('Folders are not deleted.'),
})
export type FolderJson = z.infer<typeof folderSchema>

const fileSchema = named('File', {
  id: z.int().positive(),
  user_id: z.string(),
  folder_id: z.int().positive(),
  name: z.string(),
  original_name: z.string().describe('At upload.'),
  path: z.string().describe('Where the bytes are in the data folder.'),
  hash: z.string().describe('SHA-256 of the bytes.'),
  path_hash: z.null(),
  mime_type: z.string(),
  type: z.enum(['image', 'video', 'audio', 'document']).describe('The kind of file that WhatsApp sends it as.'),
  extension: z.string(),
  size: z.int().nonnegative(),
  url: z.string(),
  is_starred: z.literal(false),
  is_chatapp_compatible: z.boolean(),
  chatapp_compatibility_reason: z.string(),
  uploaded_at: time,
  created_at: time,
  updated_at: time,
  deleted_at: time.nullable().describe('When it went into the trash; null while it is active.'),
  tags: z.tuple([]),
  folder: folderSchema,
})
export type FileJson = z.infer<typeof fileSchema>

const moveSchema = z.strictObject({
  job_id: z.string(),
  status: z.enum(['pending', 'done', 'failed']),
  details: z.array(z.strictObject({ path: z.string(), message: z.string() })).readonly(),
})

export const galleryFolders = {
  list: folder.get(`${GALLERY}/folders`, 'Lists folders.', {
    query: z.strictObject(pageFields),
    answers: { 200: successPage(folderSchema) },
    examples: [{ query: { after: '0', limit: '10' }, says: 'Folders listed' }],
  }),
  create: folder.post(`${GALLERY}/folders`, 'Creates a folder.', {
    idempotent: true,
    body: z.strictObject({ name: galleryNameField, parent_id: idField.nullish() }),
    answers: { 200: successWith(folderSchema) },
    examples: [{ body: { name: 'Spring' }, says: 'Folder created' }],
  }),
  rename: folder.put(`${GALLERY}/folders/:folder_id`, 'Renames a folder; nothing else changes but updated_at.', {
    alsoAt: `${GALLERY}/folders/`,
    body: { as: 'json', schema: z.object({ name: galleryNameField }), unknown: 'named' },
    answers: { 200: successWith(folderSchema) },
    errors: { 403: ['system_folder'] },
    examples: [{ body: { name: 'Spring' }, says: 'Folder renamed' }],
  }),
}

export const galleryFiles = {
  // Before those with an id in the same place.
  move: file.post(`${GALLERY}/files/bulk-move`, 'Moves files into a folder, all or none.', {
    body: {
      as: 'json',
      schema: z.object({ file_ids: listUpTo(MOVE_MAX_FILES, idField, { min: 1 }), folder_id: idField }),
      unknown: 'named',
    },
    answers: { 200: success, 202: successWith(queuedJob()) },
    errors: { 429: ['too_many_moves'] },
    examples: [
      { body: { file_ids: [1, 2, 3], folder_id: 1 }, says: '3 file(s) moved' },
      {
        body: { file_ids: [1], folder_id: 1 },
        status: 202,
        says: 'The move is queued and not done yet. Ask status_url how it ended.',
      },
    ],
  }),
  showMove: file.get(`${GALLERY}/jobs/:job_id`, 'Shows the progress of a bulk move.', {
    params: z.object({ job_id: z.string() }),
    answers: { 200: successWith(moveSchema) },
    examples: [{ params: { job_id: 'mv_01JD3V5T9GZQ4XNB8M2K6R0WCY' }, says: '1 file(s) moved' }],
  }),
  list: file.get(`${GALLERY}/files`, 'Lists the active files of a folder, or those in the trash.', {
    query: z.strictObject({
      ...pageFields,
      folder_id: textIdField.optional().describe('Only those of this folder.'),
      trash: z.enum(['true', 'false']).default('false').describe('Those in the trash instead.'),
    }),
    answers: { 200: successPage(fileSchema) },
    examples: [{ query: { folder_id: '1' }, says: 'Files listed' }],
  }),
  trash: file.delete(`${GALLERY}/files/:file_id`, 'Moves an active file to the trash.', {
    alsoAt: `${GALLERY}/files/`,
    answers: { 200: successWith(fileSchema) },
    examples: [{ says: 'File moved to trash' }],
  }),
  restore: file.post(`${GALLERY}/files/:file_id/restore`, 'Restores a file from the trash into its folder.', {
    alsoAt: `${GALLERY}/files//restore`,
    body: { as: 'ignored' },
    answers: { 200: successWith(fileSchema) },
    examples: [{ params: { file_id: '6' }, says: 'File restored' }],
  }),
  upload: file.post(`${GALLERY}/files`, 'Uploads a file: a form with the field folder_id and one file.', {
    takesRoom: true,
    body: {
      as: 'stream',
      contentTypes: ['multipart/form-data'],
      limit: UPLOAD_MAX_BYTES,
      setting: 'LANEWAY_UPLOAD_MAX_BYTES',
      schema: z.object({
        folder_id: textIdField,
        file: z.unknown().meta({ type: 'string', contentMediaType: 'application/octet-stream' }),
      }),
    },
    answers: { 200: successWith(fileSchema) },
    errors: { 400: ['invalid_request'], 409: ['gallery_full'] },
    examples: [{ body: { folder_id: '1', file: 'spring.png' }, says: 'File uploaded' }],
  }),
  media: open.get('/media/:token/:name', 'Serves the file itself, whole or a range of it.', {
    // The name is for people, the token alone finds the file.
    params: z.object({ token: z.string(), name: z.string() }),
    headers: z.object({
      Range: z.string().optional(),
      'If-None-Match': z.string().optional(),
      'If-Match': z.string().optional(),
    }),
    answers: { 200: { contentTypes: ['*'] }, 206: { contentTypes: ['*'] }, 304: { contentTypes: ['*'] } },
    errors: { 404: ['not_found'], 412: ['precondition_failed'], 416: ['range_not_satisfiable'] },
    examples: [{ params: { token: '4cJ0q6m9wXy2', name: 'spring.png' } }],
  }),
}
