// Folders of the gallery.
import { z } from 'zod'
import { route } from '../../route.ts'
import { successPage, successWith } from '../answers.ts'
import { galleryNameField, idempotencyHeaders, idField, pageFields, textIdField } from '../fields.ts'

export const GALLERY = '/partners/wp-gallery/manage'

export const galleryAccess = { in: 'bearer', permission: 'gallery' } as const

const time = z.iso.datetime({ precision: 6 })

export const folderSchema = z.strictObject({
  id: z.int().positive(),
  user_id: z.string().describe('The account’s id.'),
  name: z.string(),
  parent_id: z.int().positive().nullable().describe('Null at the top.'),
  is_system: z.boolean().describe('Whether it is kept from being renamed.'),
  file_count: z.int().nonnegative().describe('Its files that are not in the trash.'),
  created_at: time,
  updated_at: time,
  deleted_at: z.null().describe('Folders are not deleted.'),
})
folderSchema.register(z.globalRegistry, { id: 'Folder' })
export type FolderJson = z.infer<typeof folderSchema>

export const exampleFolder = {
  id: 1,
  user_id: '1',
  name: 'Spring',
  parent_id: null,
  is_system: false,
  file_count: 0,
  created_at: '2026-11-21T10:00:00.000000Z',
  updated_at: '2026-11-21T10:00:00.000000Z',
  deleted_at: null,
}

export const galleryFolders = {
  list: route({
    method: 'get',
    path: `${GALLERY}/folders`,
    summary: 'Lists folders.',
    access: galleryAccess,
    query: z.strictObject(pageFields),
    body: { as: 'ignored' },
    answers: { 200: successPage(folderSchema) },
    examples: [
      {
        query: { after: '0', limit: '10' },
        status: 200,
        answer: { success: true, message: 'Folders listed', data: [exampleFolder], next_after: null },
      },
    ],
  }),
  create: route({
    method: 'post',
    path: `${GALLERY}/folders`,
    summary: 'Creates a folder.',
    access: galleryAccess,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: z.strictObject({ name: galleryNameField, parent_id: idField.nullish() }) },
    answers: { 200: successWith(folderSchema) },
    errors: { 404: ['not_found'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { name: 'Spring' },
        status: 200,
        answer: { success: true, message: 'Folder created', data: exampleFolder },
      },
    ],
  }),
  rename: route({
    method: 'put',
    path: `${GALLERY}/folders/:folder_id`,
    alsoAt: `${GALLERY}/folders/`,
    summary: 'Renames a folder and changes nothing else of it but updated_at.',
    access: galleryAccess,
    params: z.object({ folder_id: textIdField }),
    body: { as: 'json', schema: z.object({ name: galleryNameField }), unknown: 'named' },
    answers: { 200: successWith(folderSchema) },
    errors: { 403: ['system_folder'], 404: ['not_found'] },
    examples: [
      {
        params: { folder_id: '1' },
        body: { name: 'Spring' },
        status: 200,
        answer: { success: true, message: 'Folder renamed', data: exampleFolder },
      },
    ],
  }),
}
