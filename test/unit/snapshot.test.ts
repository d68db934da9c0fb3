// Pins: the frozen list of a campaign gives every recipient at their place, and a reader in order asks the store
// for larger and larger parts of it. Real: files in a folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openFolder } from '../../src/files/folder.ts'
import { type FileStore, readPart } from '../../src/files/store.ts'
import { openSnapshot, STRIDE, writeSnapshot } from '../../src/recipients/snapshot.ts'
import { CorruptRecordError } from '../../src/redis/records.ts'

const TOTAL = 20 * STRIDE + 7
const ID = { lane: 1, number: 1 }
const CHUNK = 125

const dir = mkdtempSync(join(tmpdir(), 'laneway-snapshot-'))
let files: FileStore
let name: string
const phoneOf = (place: number): string => `4477${String(place).padStart(8, '0')}`

beforeAll(async () => {
  files = openFolder(dir)
  const snapshot = await writeSnapshot(files, ID)
  for (let place = 0; place < TOTAL; place += 1) {
    await snapshot.add({ to: phoneOf(place), values: ['x'.repeat(place % 40)] })
  }
  await snapshot.close()
  name = snapshot.name
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** The list, and the bytes of each part of it that was asked for. */
async function opened() {
  const asked: number[] = []
  const watched: FileStore = {
    ...files,
    read(file, part) {
      if (file.endsWith('recipients.ndjson') && part) asked.push(part.to - part.from)
      return files.read(file, part)
    },
  }
  return { list: await openSnapshot(watched, ID, name), asked }
}

test('a sequential reader gets everybody in order, with requests that cover more and more people', async () => {
  const { list, asked } = await opened()
  const all: string[] = []
  for (let place = 0; place < TOTAL; place += CHUNK) {
    all.push(...(await list.readAll(place, CHUNK)).map(({ to }) => to))
  }
  expect(all).toEqual(Array.from({ length: TOTAL }, (_, place) => phoneOf(place)))
  // 1, 2, 4 and 8 strides, and the rest: 21 strides in all.
  expect(asked).toHaveLength(5)
  expect(Math.max(...asked)).toBeLessThanOrEqual(256 * 1024)
})

test('looking up one person reads only their stride', async () => {
  const { list, asked } = await opened()
  const place = 7 * STRIDE + 123
  expect((await list.read(place, 1)).map(({ to }) => to)).toEqual([phoneOf(place)])
  expect(asked).toHaveLength(1)
  expect(asked[0]).toBeLessThan(STRIDE * 70)
})

test('two simultaneous readers, and one who reads backwards, get the right people', async () => {
  const { list } = await opened()
  const at = [0, 3 * STRIDE - 60, STRIDE - 60, 9 * STRIDE, 2 * STRIDE, 20 * STRIDE]
  const found = await Promise.all(at.map((place) => list.readAll(place, CHUNK)))
  for (const [i, place] of at.entries()) {
    const last = Math.min(TOTAL, place + CHUNK)
    expect(found[i]?.map(({ to }) => to)).toEqual(Array.from({ length: last - place }, (_, n) => phoneOf(place + n)))
  }
  expect(await list.readAll(TOTAL, CHUNK)).toEqual([])
})

test('a part that could not be read is requested again', async () => {
  let isAway = true
  const flaky: FileStore = {
    ...files,
    read: (file, part) => (isAway && part ? Promise.reject(new Error('away')) : files.read(file, part)),
  }
  const list = await openSnapshot(flaky, ID, name)
  await expect(list.read(0, 1)).rejects.toThrow('away')
  isAway = false
  expect(await list.read(0, 1)).toHaveLength(1)
})

test.each([
  ['a number', '["447700000000"', '["4477x0000000"'],
  ['a text', '"447700000000",""', '"447700000000",12'],
  ['a line', '["447700000000",""]', '{"a":"447700000"  }'],
])('a list with something else in place of %s is refused', async (_what, written, found) => {
  const broken: FileStore = {
    ...files,
    async read(file, part) {
      const text = (await readPart(files, file, part)).toString('latin1')
      return Readable.from([Buffer.from(text.replace(written, found), 'latin1')])
    },
  }
  const list = await openSnapshot(broken, ID, name)
  await expect(list.read(0, 1)).rejects.toThrow(CorruptRecordError)
})
