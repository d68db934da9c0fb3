// Pins: whatever the bytes are, a type comes out and nothing is thrown: uploads are anything that people have.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mediaTypeOf } from '../../src/gallery/media-type.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'laneway-media-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** How files of many kinds begin; what follows is nonsense, as in a broken or malicious file. */
const beginnings = [
  '89504e470d0a1a0a0000000d49484452',
  'ffd8ffe000104a464946',
  '474946383961',
  '504b0304140000000800',
  '504b0506',
  '255044462d312e37',
  '4f67675300020000',
  '0000002066747970697736d6d703432',
  '52494646ffffffff57415645',
  '52494646ffffffff57454250',
  '494433030000000000',
  'fffb9064',
  '1a45dfa3a3428681',
  '664c6143',
  '3026b2758e66cf11a6d9',
  '49492a00ffffffff',
  '4d4d002a00000008',
  'd0cf11e0a1b11ae1',
  '1f8b0800',
  '377abcaf271c',
  '2321414d52',
  '3c3f786d6c20',
  'efbbbf',
  'fffe',
  '',
].map((hex) => Buffer.from(hex, 'hex'))

test('every file gets a type', async () => {
  const path = join(dir, 'file')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...beginnings),
      fc.uint8Array({ maxLength: 600 }),
      fc.string({ maxLength: 20 }),
      async (beginning, rest, name) => {
        writeFileSync(path, Buffer.concat([beginning, rest]))
        const type = await mediaTypeOf(path, name)
        expect(type.mimeType).toMatch(/^[a-z]+\/[\w.+-]+$/)
        expect(type.extension).toMatch(/^[a-z0-9.]{1,20}$/)
      },
    ),
    { numRuns: 1_000 },
  )
})

test('text that the probe cuts in the middle of a character is still text', async () => {
  const path = join(dir, 'long')
  for (const shift of [0, 1, 2, 3]) {
    writeFileSync(path, `${'x'.repeat(shift)}${'😀'.repeat(20_000)}`)
    expect(await mediaTypeOf(path, 'a.md')).toEqual({ mimeType: 'text/plain', extension: 'md' })
  }
})

test('bytes that are not UTF-8 or contain control characters are not text', async () => {
  const path = join(dir, 'binary')
  for (const bytes of [Buffer.from('Übung', 'latin1'), Buffer.from('a\u0000b'), Buffer.from('a\u001bb')]) {
    writeFileSync(path, bytes)
    expect((await mediaTypeOf(path, 'a.txt')).mimeType).toBe('application/octet-stream')
  }
})
