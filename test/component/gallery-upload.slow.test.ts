// Pins: uploads, what becomes of their bytes, and the public address of a file. Real: Redis, Express, the disk.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { Folder } from '../../src/gallery/folders.ts'
import { errorOf } from '../support/api-error.ts'
import { startGallery, type TestGallery, UPLOAD_MAX_BYTES } from '../support/gallery.ts'
import { eventually } from '../support/wait.ts'

let gallery: TestGallery
let folder: Folder
beforeAll(async () => {
  gallery = await startGallery()
  await setAccountSettings(gallery.redis, gallery.otherAccount, { unknown_fields: 'ignore' })
  folder = await gallery.folder('Uploads')
})
afterAll(() => gallery.close())

/** A form with a file; `null` leaves a part out. */
function form(content: string | Uint8Array | null, name = 'note.txt', folderId: string | null = String(folder.id)) {
  const data = new FormData()
  if (content !== null) data.append('file', new Blob([Buffer.from(content)]), name)
  if (folderId !== null) data.append('folder_id', folderId)
  return data
}
const upload = (body: FormData) => gallery.call('POST', '/files', { body })
const drafts = () => readdirSync(openFolder(gallery.dataDir).drafts)
const sha256 = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

/** A PNG of one black pixel. */
function png(): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(data.length)
    return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
  }
  const header = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0])
  const pixels = deflateSync(Buffer.from([0, 0]))
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))])
}

describe('an upload', () => {
  test('is stored under its hash, recorded in its folder and served at its url', async () => {
    const content = png()
    const reply = await upload(form(content, 'Bild eins.png'))
    expect(reply.status).toBe(200)
    expect(reply.json).toMatchObject({
      success: true,
      data: {
        folder_id: folder.id,
        name: 'Bild eins.png',
        original_name: 'Bild eins.png',
        hash: sha256(content),
        mime_type: 'image/png',
        type: 'image',
        extension: 'png',
        size: content.length,
        is_chatapp_compatible: true,
        folder: { id: folder.id, file_count: 1 },
      },
    })
    const { path, url } = Object(reply.json.data)
    expect(readFileSync(join(gallery.dataDir, path))).toEqual(content)
    const served = await fetch(url)
    expect(served.status).toBe(200)
    expect(served.headers.get('content-type')).toBe('image/png')
    expect(Buffer.from(await served.arrayBuffer())).toEqual(content)
    expect(drafts()).toEqual([])
  })

  test('of bytes that exist already is stored once, over all accounts', async () => {
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    const one = await upload(form('the same bytes', 'one.txt'))
    const two = await upload(form('the same bytes', 'two.txt'))
    const three = await gallery.call('POST', '/files', {
      body: form('the same bytes', 'three.txt', String(theirs.id)),
      token: gallery.otherToken,
    })
    const [a, b, c] = [one, two, three].map((reply) => Object(reply.json.data))
    expect([b.path, c.path]).toEqual([a.path, a.path])
    expect(new Set([a.url, b.url, c.url]).size).toBe(3)
    expect(readdirSync(join(gallery.dataDir, a.path, '..'))).toEqual([sha256('the same bytes')])
  })

  test.each([
    [
      'a.jpg',
      Buffer.from('MZ\x90\x00'.padEnd(200, '\x00'), 'latin1'),
      'application/x-msdownload',
      'document',
      'exe',
      false,
    ],
    ['a.exe', png(), 'image/png', 'image', 'png', true],
    ['table.csv', Buffer.from('a;b\n1;2\n'), 'text/plain', 'document', 'csv', true],
    ['page.html', Buffer.from('<html><script>alert(1)</script></html>'), 'text/plain', 'document', 'html', true],
    ['noname', Buffer.from('süß'), 'text/plain', 'document', 'txt', true],
    ['noname', Buffer.from([0, 1, 2, 255, 254]), 'application/octet-stream', 'document', 'bin', false],
    ['a.pdf', Buffer.from('%PDF-1.7\n%âãÏÓ\n'), 'application/pdf', 'document', 'pdf', true],
    [
      'a.svg',
      Buffer.from('<?xml version="1.0"?><svg onload="alert(1)"/>'),
      'application/xml',
      'document',
      'xml',
      false,
    ],
    [
      'old.doc',
      Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(600)]),
      'application/msword',
      'document',
      'doc',
      true,
    ],
    [
      'voice.ogg',
      Buffer.concat([Buffer.from('OggS'), Buffer.alloc(24), Buffer.from('OpusHead'), Buffer.alloc(60)]),
      'audio/ogg',
      'audio',
      'opus',
      true,
    ],
  ])('%s is recognized by its bytes', async (name, content, mime_type, type, extension, is_chatapp_compatible) => {
    const reply = await upload(form(content, name))
    expect(reply.json.data).toMatchObject({ mime_type, type, extension, is_chatapp_compatible, name })
  })

  test.each([
    ['no file', () => form(null), 'file', 'required'],
    ['no folder_id', () => form('x', 'a.txt', null), 'folder_id', 'required'],
    ['a folder_id that is none', () => form('x', 'a.txt', '1x'), 'folder_id', 'expected a positive integer, got "1x"'],
    ['an empty file', () => form(''), 'file', 'must not be empty'],
    ['a name of 256 characters', () => form('x', 'n'.repeat(256)), 'file', 'at most 255 characters, got 256'],
  ])('with %s is 400', async (_name, body, path, message) => {
    const reply = await upload(body())
    expect([reply.status, errorOf(reply).details]).toEqual([400, [{ path, message }]])
    expect(drafts()).toEqual([])
  })

  test('of several files is 400', async () => {
    const body = form('one')
    body.append('file', new Blob(['two']), 'two.txt')
    const reply = await upload(body)
    expect([reply.status, errorOf(reply).details]).toMatchObject([400, [{ path: 'file' }]])
    expect(drafts()).toEqual([])
  })

  test('with a misspelt field is 400 with the right name; an unknown one is ignored by name, or refused if the account wants', async () => {
    const theirs = await gallery.folder('With a note', { owner: gallery.otherAccount })
    const withField = (name: string, { id, token } = { id: folder.id, token: gallery.token }) => {
      const body = form('kept', 'note.txt', String(id))
      body.append(name, '7')
      return gallery.call('POST', '/files', { body, token })
    }
    const lenient = { id: theirs.id, token: gallery.otherToken }
    for (const name of ['folderId', 'FOLDER_ID', 'foldre_id']) {
      const reply = await withField(name, lenient)
      const fault = { path: name, message: 'unknown field; is "folder_id" meant?' }
      expect([reply.status, errorOf(reply).details]).toEqual([400, [fault]])
    }
    const taken = await withField('note', lenient)
    expect([taken.status, taken.headers.get('x-laneway-ignored')]).toEqual([200, 'note'])
    const refused = await withField('note')
    expect([refused.status, errorOf(refused).details]).toEqual([400, [{ path: 'note', message: 'unknown field' }]])
    expect(drafts()).toEqual([])
  })

  test('into a folder that does not exist or is not ours is 404 and stores no bytes', async () => {
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    for (const id of [999999, theirs.id]) {
      const reply = await upload(form(`for nobody ${id}`, 'a.txt', String(id)))
      expect([reply.status, errorOf(reply).code]).toEqual([404, 'not_found'])
      const hash = sha256(`for nobody ${id}`)
      expect(() => statSync(join(gallery.dataDir, 'gallery', hash.slice(0, 2), hash))).toThrow('ENOENT')
    }
    expect(drafts()).toEqual([])
  })

  test('of the largest size is accepted, one byte more is 413', async () => {
    expect((await upload(form(Buffer.alloc(UPLOAD_MAX_BYTES, 1)))).status).toBe(200)
    const reply = await upload(form(Buffer.alloc(UPLOAD_MAX_BYTES + 1, 1)))
    expect([reply.status, errorOf(reply).code]).toEqual([413, 'too_large'])
    expect((await upload(form(Buffer.alloc(20 * UPLOAD_MAX_BYTES, 1)))).status).toBe(413)
    expect(drafts()).toEqual([])
  })

  test.each([
    ['application/json', '{}', 415],
    ['multipart/form-data', 'x', 415],
    ['multipart/form-data; boundary=', 'x', 400],
    ['multipart/form-data; boundary=x', 'no form at all', 400],
    [
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\ncut',
      400,
    ],
  ])('as %s %j is refused with %i', async (type, body, status) => {
    const reply = await gallery.call('POST', '/files', { body, headers: { 'content-type': type } })
    expect(reply.status).toBe(status)
    errorOf(reply)
    expect(drafts()).toEqual([])
  })

  test('is answered however the form is cut, padded or scrambled, and leaves no draft', async () => {
    const whole = [
      '--x\r\nContent-Disposition: form-data; name="folder_id"\r\n\r\n',
      `${folder.id}\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n`,
      'Content-Type: text/plain\r\n\r\nthe content of the file\r\n--x--\r\n',
    ].join('')
    const edit = fc.record({ at: fc.nat(whole.length), drop: fc.nat(60), put: fc.string({ maxLength: 12 }) })
    const apply = (text: string, { at, drop, put }: { at: number; drop: number; put: string }) =>
      text.slice(0, at) + put + text.slice(at + drop)
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { maxLength: 3 }), fc.nat(whole.length), async (edits, cut) => {
        const body = edits.reduce(apply, whole).slice(0, edits.length === 0 ? cut : undefined)
        const headers = { 'content-type': 'multipart/form-data; boundary=x' }
        const reply = await gallery.call('POST', '/files', { body, headers })
        expect([200, 400, 404]).toContain(reply.status)
        expect(drafts()).toEqual([])
      }),
      { numRuns: 150 },
    )
  })

  test('that cannot be written to disk is 500, and the next request is answered too', async () => {
    const full = await startGallery()
    try {
      writeFileSync(join(full.dataDir, 'gallery'), 'a file where the folder should be')
      const target = await full.folder('x')
      for (let i = 0; i < 3; i += 1) {
        const reply = await full.call('POST', '/files', { body: form('x'.repeat(100_000), 'a.txt', String(target.id)) })
        expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal'])
        expect(JSON.stringify(reply.json)).not.toContain(full.dataDir)
      }
    } finally {
      await full.close()
    }
  })

  test('with a wrong credential is refused before anything is read', async () => {
    expect((await gallery.call('POST', '/files', { body: form('x'), token: null })).status).toBe(401)
    expect((await gallery.call('POST', '/files', { body: form('x'), token: gallery.wrongToken })).status).toBe(403)
  })

  test('that breaks off leaves no draft', async () => {
    const { hostname, port } = new URL(gallery.url)
    const socket = connect(Number(port), hostname)
    socket.write(
      [
        'POST /partners/wp-gallery/manage/files HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${gallery.token}`,
        'Content-Type: multipart/form-data; boundary=x',
        'Content-Length: 100000',
        '',
        '--x',
        'Content-Disposition: form-data; name="file"; filename="a.txt"',
        '',
        'the beginning',
      ].join('\r\n'),
    )
    await eventually(async () => drafts().length === 1, 'the draft is begun')
    socket.destroy()
    await eventually(async () => drafts().length === 0, 'the draft is gone')
  })

  test('removes drafts that a crash left over a day ago, and no younger ones', async () => {
    const incoming = openFolder(gallery.dataDir).drafts
    const fresh = await startGallery()
    try {
      const freshIncoming = incoming.replace(gallery.dataDir, fresh.dataDir)
      await fresh.file(await fresh.folder('x'))
      const [old, young] = [join(freshIncoming, 'old'), join(freshIncoming, 'young')]
      for (const path of [old, young]) writeFileSync(path, 'x')
      const dayBefore = Date.now() / 1_000 - 86_500
      utimesSync(old, dayBefore, dayBefore)
      const target = await fresh.folder('y')
      await fresh.call('POST', '/files', { body: form('x', 'a.txt', String(target.id)) })
      expect(readdirSync(freshIncoming)).toEqual(['young'])
    } finally {
      await fresh.close()
    }
  })
})

describe('the public address of a file', () => {
  const uploaded = async (name: string, content: string | Uint8Array) => {
    const { id, url } = Object((await upload(form(content, name))).json.data)
    return { id: Number(id), url: String(url) }
  }

  test('serves ranges, and answers 304 for what has not changed', async () => {
    const { url } = await uploaded('digits.txt', '0123456789')
    const part = await fetch(url, { headers: { range: 'bytes=2-4' } })
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([206, 'bytes 2-4/10', '234'])
    const etag = (await fetch(url)).headers.get('etag')
    const again = await fetch(url, { headers: { 'if-none-match': String(etag), 'cache-control': 'max-age=0' } })
    expect([etag, again.status]).toEqual([`"${sha256('0123456789')}"`, 304])
    const head = await fetch(url, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '10'])
  })

  test('answers a range or precondition that cannot be met in the envelope', async () => {
    const { url } = await uploaded('digits.txt', '0123456789')
    const beyond = await gallery.call('GET', url, { headers: { range: 'bytes=20-' } })
    expect([beyond.status, beyond.headers.get('content-range'), errorOf(beyond).code]).toEqual([
      416,
      'bytes */10',
      'range_not_satisfiable',
    ])
    const other = await gallery.call('GET', url, { headers: { 'if-match': '"other"' } })
    expect([other.status, errorOf(other).code]).toEqual([412, 'precondition_failed'])
  })

  test.each([
    ['a.png', png(), 'image/png', null, false],
    ['a.txt', 'text', 'text/plain; charset=utf-8', null, true],
    ['a.html', '<script>alert(1)</script>', 'text/plain; charset=utf-8', null, true],
    ['ä.svg', '<?xml version="1.0"?><svg onload="alert(1)"/>', 'application/xml', 'attachment', true],
    ['a.zip', Buffer.from('504b0506'.padEnd(44, '0'), 'hex'), 'application/zip', 'attachment', true],
  ])('%s cannot run a script under our name', async (name, content, type, disposition, sandboxed) => {
    const served = await fetch((await uploaded(name, content)).url)
    expect(served.headers.get('content-type')).toBe(type)
    expect(served.headers.get('x-content-type-options')).toBe('nosniff')
    expect(served.headers.get('content-disposition')?.split(';')[0] ?? null).toBe(disposition)
    expect(served.headers.get('content-security-policy')?.includes('sandbox') ?? false).toBe(sandboxed)
  })

  test('is 404 while the file is in the trash, and works again after a restore', async () => {
    const { id, url } = await uploaded('a.txt', 'text')
    await gallery.call('DELETE', `/files/${id}`)
    const gone = await gallery.call('GET', url, { token: null })
    expect([gone.status, errorOf(gone).code]).toEqual([404, 'not_found'])
    await gallery.call('POST', `/files/${id}/restore`)
    expect((await fetch(url)).status).toBe(200)
  })

  test('is 404 for a token that was never given out', async () => {
    expect((await fetch(`${gallery.url}/media/nonsense/a.txt`)).status).toBe(404)
    expect((await fetch(`${gallery.url}/media/%00/..%2f..%2fsecret.key`)).status).toBe(404)
  })

  test('is 500 without a path of the server when the bytes are gone', async () => {
    const { url } = await uploaded('gone.txt', 'gone from the disk')
    const hash = sha256('gone from the disk')
    rmSync(join(gallery.dataDir, 'gallery', hash.slice(0, 2), hash))
    const reply = await gallery.call('GET', url)
    expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal'])
    expect(JSON.stringify(reply.json)).not.toContain(gallery.dataDir)
  })
})
