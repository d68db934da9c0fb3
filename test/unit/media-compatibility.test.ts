import { expect, test } from 'vitest'
import { compatibilityOf } from '../../src/gallery/media-compatibility.ts'

const KB = 1024
const MB = 1024 * KB

test.each([
  ['image/jpeg', 5 * MB],
  ['image/png', 5 * MB],
  ['image/webp', 100 * KB],
  ['audio/aac', 16 * MB],
  ['audio/amr', 16 * MB],
  ['audio/mpeg', 16 * MB],
  ['audio/mp4', 16 * MB],
  ['audio/ogg', 16 * MB],
  ['video/mp4', 16 * MB],
  ['video/3gpp', 16 * MB],
  ['text/plain', 100 * MB],
  ['application/pdf', 100 * MB],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 100 * MB],
])('%s can be sent up to %i bytes', (type, limit) => {
  expect(compatibilityOf(type, 1).compatible).toBe(true)
  expect(compatibilityOf(type, limit).compatible).toBe(true)
  expect(compatibilityOf(type, limit + 1).compatible).toBe(false)
})

test.each([
  'image/gif',
  'image/svg+xml',
  'application/zip',
  'application/octet-stream',
  'text/html',
  'video/webm',
  '',
  'constructor',
])('files of type %j cannot be sent', (type) => {
  expect(compatibilityOf(type, 1)).toMatchObject({ compatible: false })
})

test('the letter case and the parameters of a type do not matter', () => {
  expect(compatibilityOf('Audio/OGG; codecs=opus', 1).compatible).toBe(true)
})

test('an empty file cannot be sent', () => {
  expect(compatibilityOf('image/png', 0)).toEqual({ compatible: false, reason: 'The file is empty.' })
})

test('the reason names the type, the limit and the excess', () => {
  const { reason } = compatibilityOf('image/png', 5 * MB + 1)
  expect(reason).toBe('Too large with 5.1 MB: files of type image/png are sent as image, at most 5 MB.')
  expect(compatibilityOf('image/png', 10).reason).toBe(
    'Can be sent: files of type image/png are sent as image, at most 5 MB.',
  )
  expect(compatibilityOf('image/gif', 10).reason).toBe('WhatsApp takes no files of type image/gif.')
})
