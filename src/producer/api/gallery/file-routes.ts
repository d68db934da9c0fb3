// Files of the gallery: bulk moves, lists, the trash, uploads, and the public address of each.
import { z } from 'zod'
import { MOVE_MAX_FILES } from '../../../jobs/bulk-move.ts'
import { listUpTo } from '../../../messages/bounded.ts'
import { route } from '../../route.ts'
import { success, successPage, successWith } from '../answers.ts'
import { idField, pageFields, textIdField } from '../fields.ts'
import { galleryAccess as access, exampleFolder, folderSchema, GALLERY } from './folder-routes.ts'

/** Unless LANEWAY_UPLOAD_MAX_BYTES says otherwise. */
const UPLOAD_MAX_BYTES = 100 * 1024 * 1024

const time = z.iso.datetime({ precision: 6 })

export const fileSchema = z.strictObject({
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
fileSchema.register(z.globalRegistry, { id: 'File' })
export type FileJson = z.infer<typeof fileSchema>

const params = z.object({ file_id: textIdField })
const body = { as: 'ignored' } as const
const jobId = 'mv_01JD3V5T9GZQ4XNB8M2K6R0WCY'

const exampleFile = {
  id: 1,
  user_id: '1',
  folder_id: 1,
  name: 'spring.png',
  original_name: 'spring.png',
  path: 'gallery/9f/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  hash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  path_hash: null,
  mime_type: 'image/png',
  type: 'image',
  extension: 'png',
  size: 68_210,
  url: 'http://127.0.0.1:3000/media/4cJ0q6m9wXy2/spring.png',
  is_starred: false,
  is_chatapp_compatible: true,
  chatapp_compatibility_reason: 'Images of type image/png are taken up to 5 MB.',
  uploaded_at: '2026-11-21T10:00:00.000000Z',
  created_at: '2026-11-21T10:00:00.000000Z',
  updated_at: '2026-11-21T10:00:00.000000Z',
  deleted_at: null,
  tags: [],
  folder: { ...exampleFolder, file_count: 1 },
}

export const galleryFiles = {
  // Before those with an id in the same place.
  move: route({
    method: 'post',
    path: `${GALLERY}/files/bulk-move`,
    summary: 'Moves files into a folder, all or none.',
    access,
    body: {
      as: 'json',
      schema: z.object({ file_ids: listUpTo(MOVE_MAX_FILES, idField, { min: 1 }), folder_id: idField }),
      unknown: 'named',
    },
    answers: {
      200: success,
      // Not done yet.
      202: successWith(z.strictObject({ job_id: z.string(), status_url: z.string() })),
    },
    errors: { 404: ['not_found'], 429: ['too_many_moves'] },
    examples: [
      {
        body: { file_ids: [1, 2, 3], folder_id: 1 },
        status: 200,
        answer: { success: true, message: '3 file(s) moved' },
      },
      {
        body: { file_ids: [1], folder_id: 1 },
        status: 202,
        answer: {
          success: true,
          message: 'The move is queued and not done yet. Ask status_url how it ended.',
          data: { job_id: jobId, status_url: `http://127.0.0.1:3000${GALLERY}/jobs/${jobId}` },
        },
      },
    ],
  }),
  showMove: route({
    method: 'get',
    path: `${GALLERY}/jobs/:job_id`,
    summary: 'Shows the progress of a bulk move.',
    access,
    params: z.object({ job_id: z.string() }),
    body,
    answers: {
      200: successWith(
        z.strictObject({
          job_id: z.string(),
          status: z.enum(['pending', 'done', 'failed']),
          details: z.array(z.strictObject({ path: z.string(), message: z.string() })).readonly(),
        }),
      ),
    },
    errors: { 404: ['not_found'] },
    examples: [
      {
        params: { job_id: jobId },
        status: 200,
        answer: { success: true, message: '1 file(s) moved', data: { job_id: jobId, status: 'done', details: [] } },
      },
    ],
  }),
  list: route({
    method: 'get',
    path: `${GALLERY}/files`,
    summary: 'Lists the active files of a folder, or those in the trash.',
    access,
    query: z.strictObject({
      ...pageFields,
      folder_id: textIdField.optional(),
      trash: z.enum(['true', 'false']).default('false'),
    }),
    body,
    answers: { 200: successPage(fileSchema) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        query: { folder_id: '1' },
        status: 200,
        answer: { success: true, message: 'Files listed', data: [exampleFile], next_after: null },
      },
    ],
  }),
  trash: route({
    method: 'delete',
    path: `${GALLERY}/files/:file_id`,
    alsoAt: `${GALLERY}/files/`,
    summary: 'Puts an active file into the trash.',
    access,
    params,
    body,
    answers: { 200: successWith(fileSchema) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        params: { file_id: '5' },
        status: 200,
        answer: {
          success: true,
          message: 'File moved to trash',
          data: { ...exampleFile, deleted_at: '2026-11-21T11:00:00.000000Z' },
        },
      },
    ],
  }),
  restore: route({
    method: 'post',
    path: `${GALLERY}/files/:file_id/restore`,
    alsoAt: `${GALLERY}/files//restore`,
    summary: 'Puts a file from the trash back into its folder.',
    access,
    params,
    body,
    answers: { 200: successWith(fileSchema) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        params: { file_id: '6' },
        status: 200,
        answer: { success: true, message: 'File restored', data: exampleFile },
      },
    ],
  }),
  upload: route({
    method: 'post',
    path: `${GALLERY}/files`,
    summary: 'Uploads a file: a form with the field folder_id and one file.',
    access,
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
    errors: { 400: ['invalid_request'], 404: ['not_found'], 409: ['gallery_full'] },
    examples: [{ status: 200, answer: { success: true, message: 'File uploaded', data: exampleFile } }],
  }),
  media: route({
    method: 'get',
    path: '/media/:token/:name',
    summary: 'The file itself, whole or a range of it.',
    access: {
      in: 'open',
      why: 'the token in the address is the secret; WhatsApp fetches links without a key',
    },
    // The name is for people, the token alone finds the file.
    params: z.object({ token: z.string(), name: z.string() }),
    headers: z.object({
      Range: z.string().optional(),
      'If-None-Match': z.string().optional(),
      'If-Match': z.string().optional(),
    }),
    body,
    answers: { 200: { contentTypes: ['*'] }, 206: { contentTypes: ['*'] }, 304: { contentTypes: ['*'] } },
    errors: { 404: ['not_found'], 412: ['precondition_failed'], 416: ['range_not_satisfiable'] },
    examples: [{ params: { token: '4cJ0q6m9wXy2', name: 'spring.png' }, status: 200 }],
  }),
}
