// Pins: no form that is made to harm its reader does so. The library that reads forms has a fork in which each of these was a
// fault (CVE-2026-19481, -19484, -74866, -124724, -128842 and its later releases): the process ended, a request was never
// answered, a turn never came to its end, or a name brought line breaks along. Real: Redis, HTTP, the disk.
import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openFolder } from '../../src/files/folder.ts'
import type { Folder } from '../../src/gallery/folders.ts'
import { startGallery, type TestGallery } from '../support/gallery.ts'
import { eventually } from '../support/wait.ts'

let gallery: TestGallery
let folder: Folder
beforeAll(async () => {
  gallery = await startGallery()
  folder = await gallery.folder('Uploads')
})
afterAll(() => gallery.close())

/** Whatever came, others are served, and nothing of a refused form is left. */
afterEach(async () => {
  const { status } = await gallery.call('GET', `/files?folder_id=${folder.id}`)
  expect(status).toBe(200)
  await eventually(async () => readdirSync(openFolder(gallery.dataDir).drafts).length === 0, 'no draft is left')
})

const answerText = z.string().regex(/^HTTP\/1\.1 \d{3} /)

/** Posts the pieces of a body one after another, each in a packet of its own; the status and the body of the answer. */
async function post(boundary: string, pieces: readonly string[]): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(gallery.url)
  const socket = connect(Number(port), hostname).setNoDelay(true)
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    answer += text
  })
  const ended = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve()).once('error', reject)
  })
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece, 'latin1'), 0)
  const head = [
    `POST ${new URL(gallery.base).pathname}/files HTTP/1.1`,
    'host: x',
    'connection: close',
    `authorization: Bearer ${gallery.token}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `content-length: ${length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  for (const piece of pieces) {
    await new Promise<void>((resolve) => socket.write(Buffer.from(piece, 'latin1'), () => setImmediate(resolve)))
  }
  await ended
  const text = answerText.parse(answer)
  return { status: Number(text.slice(9, 12)), body: text.split('\r\n\r\n')[1] ?? '' }
}

const part = (boundary: string, headers: readonly string[], content: string) =>
  `--${boundary}\r\n${headers.join('\r\n')}\r\n\r\n${content}\r\n`
const field = (name: string, more: readonly string[] = []) => [
  `Content-Disposition: form-data; name="${name}"`,
  ...more,
]
const FILE = 'Content-Disposition: form-data; name="file"; filename="note.txt"'
const B = 'hostile'
const whole = (...parts: readonly string[]) => [...parts, `--${B}--\r\n`].join('')
const inFolder = () => part(B, field('folder_id'), String(folder.id))

describe.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('a part with a header %s', (name) => {
  test('is read like any other', async () => {
    const file = part(B, [FILE, `${name}: x`], 'hello')
    expect(await post(B, [whole(inFolder(), file)])).toMatchObject({ status: 200 })
  })

  test('as a field name reaches no prototype', async () => {
    const body = whole(inFolder(), part(B, field(name), 'polluted'), part(B, [FILE], 'hello'))
    // A field as any other that nobody knows.
    expect(await post(B, [body])).toMatchObject({ status: 400 })
    expect(Object.getPrototypeOf({})).toBe(Object.prototype)
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

// A table of single bytes for the shifts of the search would wrap round to none at 252.
test.each([70, 251, 252, 253, 256, 1_000, 5_000])(
  'a boundary of %i characters that almost matches still gets an answer',
  async (length) => {
    const boundary = 'A'.repeat(length)
    const pieces = [`--${boundary.slice(0, -1)}`, 'X', `\r\n--${boundary.slice(0, -1)}`, 'X\r\n']
    expect((await post(boundary, pieces)).status).toBe(400)
    const good = part(boundary, field('folder_id'), String(folder.id)) + part(boundary, [FILE], 'hello')
    expect((await post(boundary, [`${good}--${boundary}--\r\n`])).status).toBe(200)
  },
)

describe('a line break in a name', () => {
  test.each([
    ['a bare CR in the file name', 'form-data; name="file"; filename="no\rte.txt"'],
    ['a bare LF in the file name', 'form-data; name="file"; filename="no\nte.txt"'],
    ['an encoded CR in the file name', "form-data; name=file; filename*=utf-8''no%0Dte.txt"],
    ['an encoded LF in the file name', "form-data; name=file; filename*=utf-8''no%0Ate.txt"],
    ['both, encoded, with a header', "form-data; name=file; filename*=utf-8''no%0D%0ASet-Cookie:%20a=b.txt"],
    ['a bare CR in the name of the field', 'form-data; name="fi\rle"; filename="note.txt"'],
    ['an encoded LF in the name of the field', "form-data; name*=utf-8''fi%0Ale; filename=note.txt"],
  ])('is not passed on: %s', async (_what, disposition) => {
    const body = whole(inFolder(), part(B, [`Content-Disposition: ${disposition}`], 'hello'))
    const answer = await post(B, [body])
    expect([200, 400]).toContain(answer.status)
    const listed = await gallery.call('GET', `/files?folder_id=${folder.id}`)
    const said = [answer.body, JSON.stringify(listed.json)].join()
    expect(said).not.toMatch(/\\r|\\n(?!ote)|set-cookie/i)
  })
})

describe('a form gets an answer', () => {
  test.each<[string, () => readonly string[]]>([
    ['that goes on after its end', () => [whole(inFolder(), part(B, [FILE], 'hello')), 'epilogue', 'and more']],
    [
      'whose headers end between two packets',
      () => splitAt(whole(inFolder(), part(B, [FILE], 'hello')), '\r\n\r\n', 2),
    ],
    ['whose boundary comes in single bytes', () => [...whole(inFolder(), part(B, [FILE], 'hello'))]],
  ])('%s', async (_what, pieces) => {
    expect((await post(B, pieces())).status).toBe(200)
  })

  test.each<[string, () => readonly string[]]>([
    ['whose part ends within its headers', () => [whole(inFolder(), `--${B}\r\nContent-Disposition: form-da\r\n`)]],
    ['that ends within the headers of a part', () => [`${inFolder()}--${B}\r\nContent-Disposition: form-da`]],
    ['that ends within the file', () => [`${inFolder()}--${B}\r\n${FILE}\r\n\r\npartial`]],
    [
      'that ends within a part that is one too many',
      () => [
        Array.from({ length: 30 }, (_, i) => part(B, field(`f${i}`), 'x')).join(''),
        `--${B}\r\n${FILE}\r\n\r\npartial`,
      ],
    ],
    [
      'that ends within a second file',
      () => [inFolder(), part(B, [FILE], 'hello'), `--${B}\r\n${FILE}\r\n\r\npartial`],
    ],
    ['with headers of 90 KB', () => [whole(inFolder(), part(B, [FILE, `x: ${'y'.repeat(90_000)}`], 'hello'))]],
    ['with 3,000 headers', () => [whole(inFolder(), part(B, [FILE, ...Array(3_000).fill('x: y')], 'hello'))]],
    ['with nothing in it', () => [`--${B}--\r\n`]],
    ['without its end', () => ['nothing']],
  ])('%s', async (_what, pieces) => {
    const { status } = await post(B, pieces())
    expect([200, 400]).toContain(status)
  })

  test('with 20,000 parts, in a time that grows linearly with them', async () => {
    // CPU time: the machine may stand still in between.
    const took = async (count: number): Promise<number> => {
      const before = process.cpuUsage()
      await post(B, [whole(part(B, field('x'), '').repeat(count), inFolder())])
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    await took(2_000)
    const [few, many] = [await took(2_000), await took(20_000)]
    expect(many / few).toBeLessThan(60)
  })
})

/** Cuts a text `by` characters into each place where `at` is. */
function splitAt(text: string, at: string, by: number): string[] {
  const pieces: string[] = []
  let from = 0
  for (let found = text.indexOf(at); found !== -1; found = text.indexOf(at, found + at.length)) {
    pieces.push(text.slice(from, found + by))
    from = found + by
  }
  return [...pieces, text.slice(from)]
}
