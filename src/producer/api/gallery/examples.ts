// A folder and a file of the gallery as the examples show them.

const at = '2026-11-21T10:00:00.000000Z'
const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'

export const exampleFolder = {
  ...{ id: 1, user_id: '1', name: 'Spring', parent_id: null, is_system: false, file_count: 0 },
  ...{ created_at: at, updated_at: at, deleted_at: null },
}

export const exampleFile = {
  ...{ id: 1, user_id: '1', folder_id: 1, name: 'spring.png', original_name: 'spring.png' },
  path: `gallery/9f/${hash}`,
  ...{ hash, path_hash: null, mime_type: 'image/png', type: 'image', extension: 'png', size: 68_210 },
  url: 'http://127.0.0.1:3000/media/4cJ0q6m9wXy2/spring.png',
  ...{ is_starred: false, is_chatapp_compatible: true },
  chatapp_compatibility_reason: 'Images of type image/png are taken up to 5 MB.',
  ...{ uploaded_at: at, created_at: at, updated_at: at, deleted_at: null, tags: [] },
  folder: { ...exampleFolder, file_count: 1 },
}
