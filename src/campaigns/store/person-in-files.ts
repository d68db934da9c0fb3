// A person in the files of a campaign: finding them, and writing over them where they stand. Nothing moves by that, so
// that whoever reads the file meanwhile reads every other line as it was, and doing it twice, or dying in the middle,
// does no harm. Of a frozen list the line stays, with zeros for a number and without values; of an uploaded file a line
// of spaces is left, which every reader passes over.
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { csvRecords } from '../../files/csv.ts'
import { createTurns } from '../../files/turns.ts'
import { parsePhone } from '../../messages/phone.ts'
import { formatOf } from './files.ts'
import { PLACE_BYTES, refusedFile, STRIDE } from './snapshot.ts'

/** Bytes that are looked through at a time. */
const PIECE = 1024 * 1024
const NEWLINE = 10

/** A recipient of a frozen list, and the bytes of the file that are theirs. */
export interface FoundRecipient {
  /** Place in the list, from 0. */
  place: number
  values: string[]
  offset: number
  length: number
}

/** Where the person (digits) stands in a frozen list; undefined when nowhere, or when there is no such file here. */
export async function findInSnapshot(
  campaignFolder: string,
  snapshot: string,
  person: string,
): Promise<FoundRecipient | undefined> {
  const folder = join(campaignFolder, snapshot)
  const file = await openThere(join(folder, 'recipients.ndjson'), 'r')
  if (file === undefined) return undefined
  try {
    const offset = await lineOf(file, Buffer.from(`["${person}"`))
    if (offset === undefined) return undefined
    const places = await readFile(join(folder, 'places.bin'))
    let stride = 0
    while ((stride + 1) * PLACE_BYTES < places.length && places.readDoubleLE((stride + 1) * PLACE_BYTES) <= offset) {
      stride += 1
    }
    const from = places.readDoubleLE(stride * PLACE_BYTES)
    const before = Buffer.alloc(offset - from)
    await file.read(before, 0, before.length, from)
    const line = await readLine(file, offset)
    const [, ...values] = JSON.parse(line.toString('utf8')) as string[]
    const place = stride * STRIDE + before.filter((byte) => byte === NEWLINE).length
    return { place, values, offset, length: line.length }
  } finally {
    await file.close()
  }
}

/** Where the line begins that begins with these bytes. */
async function lineOf(file: FileHandle, head: Buffer): Promise<number | undefined> {
  const piece = Buffer.alloc(PIECE)
  // A line that begins at the end of a piece is met in the next one: pieces overlap by what is looked for.
  for (let from = 0; ; from += PIECE - head.length - 1) {
    const { bytesRead } = await file.read(piece, 0, PIECE, from)
    const read = piece.subarray(0, bytesRead)
    for (let at = read.indexOf(head); at !== -1; at = read.indexOf(head, at + 1)) {
      const isStart = at > 0 ? read[at - 1] === NEWLINE : from === 0
      const next = read[at + head.length]
      if (isStart && (next === 44 || next === 93)) return from + at
    }
    if (bytesRead < PIECE) return undefined
  }
}

/** The line that begins there, without its end. */
async function readLine(file: FileHandle, offset: number): Promise<Buffer> {
  for (let size = 4_096; ; size *= 4) {
    const bytes = Buffer.alloc(size)
    const { bytesRead } = await file.read(bytes, 0, size, offset)
    const end = bytes.subarray(0, bytesRead).indexOf(NEWLINE)
    if (end !== -1 || bytesRead < size) return bytes.subarray(0, end === -1 ? bytesRead : end)
  }
}

/** Writes over a recipient. The line stays, so that the places of all others do. */
export async function eraseInSnapshot(
  campaignFolder: string,
  snapshot: string,
  person: string,
  { offset, length }: FoundRecipient,
): Promise<void> {
  const head = `["${'0'.repeat(person.length)}"`
  const line = `${head}${' '.repeat(length - head.length - 1)}]`
  await writeOver(join(campaignFolder, snapshot, 'recipients.ndjson'), [{ offset, bytes: Buffer.from(line) }])
}

/** Writes over the number wherever it stands among those whom a preflight refused. Returns how often it did. */
export async function eraseAmongRefused(campaignFolder: string, snapshot: string, person: string): Promise<number> {
  const path = refusedFile(campaignFolder, snapshot)
  const text = await readFile(path, 'latin1').catch(notThere)
  if (text === undefined) return 0
  const bytes = Buffer.from('*'.repeat(person.length))
  const found = [...text.matchAll(new RegExp(`(?<!\\d)${person}(?!\\d)`, 'g'))]
  await writeOver(
    path,
    found.map(({ index }) => ({ offset: index, bytes })),
  )
  return found.length
}

/** The rows of an uploaded file whose `column` has the person's number, in whatever spelling. */
export async function findInRows(
  campaignFolder: string,
  rowsFile: string,
  column: string,
  person: string,
): Promise<{ offset: number; length: number }[]> {
  const path = join(campaignFolder, rowsFile)
  const file = await openThere(path, 'r')
  if (file === undefined) return []
  await file.close()
  const rows = formatOf(rowsFile) === 'csv' ? phonesOfCsv(path, column) : phonesOfLines(path, column)
  const found: { offset: number; length: number }[] = []
  // The library takes 4 µs for a number: only what ends like the one that is looked for is read by it.
  const end = person.slice(-6)
  for await (const { phone, offset, length } of rows) {
    if (!phone.replace(/\D/g, '').endsWith(end)) continue
    const parsed = parsePhone(phone)
    if (parsed.ok && parsed.digits === person) found.push({ offset, length })
  }
  return found
}

interface RowAt {
  phone: string
  offset: number
  length: number
}

async function* phonesOfCsv(path: string, column: string): AsyncGenerator<RowAt> {
  let at: number | undefined
  let offset = 0
  try {
    for await (const { cells, bytes } of csvRecords(createReadStream(path))) {
      // The last one of a name counts, as when the rows are read.
      if (at === undefined) at = cells.map((cell) => cell.trim()).lastIndexOf(column)
      else if (at !== -1) yield { phone: cells[at] ?? '', offset, length: bytes - offset }
      offset = bytes
    }
  } catch {
    // What comes after a quote that is never closed is nobody's row: nothing is sent from there.
  }
}

async function* phonesOfLines(path: string, column: string): AsyncGenerator<RowAt> {
  const taken = createTurns()
  let rest: Buffer = Buffer.alloc(0)
  let offset = 0
  for await (const piece of createReadStream(path, { highWaterMark: 64 * 1024 })) {
    rest = Buffer.concat([rest, piece as Buffer])
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      await taken(end)
      yield rowOf(rest.subarray(0, end), column, offset)
      offset += end + 1
      rest = rest.subarray(end + 1)
    }
  }
  if (rest.length > 0) yield rowOf(rest, column, offset)
}

function rowOf(line: Buffer, column: string, offset: number): RowAt {
  let phone = ''
  try {
    const row: unknown = JSON.parse(line.toString('utf8'))
    const value = typeof row === 'object' && row !== null ? new Map(Object.entries(row)).get(column) : undefined
    if (typeof value === 'string' || typeof value === 'number') phone = String(value)
  } catch {
    // No row: nothing is sent from it.
  }
  return { phone, offset, length: line.length }
}

/** Writes over rows of an uploaded file. Line ends stay. */
export async function eraseInRows(
  campaignFolder: string,
  rowsFile: string,
  rows: readonly { offset: number; length: number }[],
): Promise<void> {
  const path = join(campaignFolder, rowsFile)
  const file = await openThere(path, 'r')
  if (file === undefined) return
  const pieces: { offset: number; bytes: Buffer }[] = []
  for (const { offset, length } of rows) {
    const bytes = Buffer.alloc(length)
    await file.read(bytes, 0, length, offset)
    pieces.push({ offset, bytes: bytes.map((byte) => (byte === NEWLINE || byte === 13 ? byte : 32)) as Buffer })
  }
  await file.close()
  await writeOver(path, pieces)
}

async function writeOver(path: string, pieces: readonly { offset: number; bytes: Buffer }[]): Promise<void> {
  if (pieces.length === 0) return
  const file = await openThere(path, 'r+')
  if (file === undefined) return
  try {
    for (const { offset, bytes } of pieces) await file.write(bytes, 0, bytes.length, offset)
    await file.datasync()
  } finally {
    await file.close()
  }
}

const openThere = (path: string, flags: string): Promise<FileHandle | undefined> => open(path, flags).catch(notThere)

/** A file that was purged, or replaced by another upload, has nobody in it. */
function notThere(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
  throw error
}
