// A person in the files of a campaign: finding them, and writing over them where they stand. Nothing moves by that, so
// that places and line numbers of everybody else stay, and doing it twice, or dying in the middle, does no harm: the file
// is written anew aside and takes the place of the old one in one step. Of a frozen list the line stays, with zeros for a
// number and without values; of an uploaded file a line of spaces is left, which every reader passes over.
//
// One at a time: of two who write a file anew at once, the later one would bring back whom the earlier one erased.
import { type CsvRecord, csvRecords, EndlessRecordError } from '../../files/csv.ts'
import { receive } from '../../files/drafts.ts'
import { FileMissingError, type FileStore, readPart } from '../../files/store.ts'
import { createTurns } from '../../files/turns.ts'
import { parseListedPhone } from '../../messages/phone.ts'
import type { CampaignId } from '../campaign-id.ts'
import { campaignFolder, formatOf, readRowsFile, separatorOf } from './files.ts'
import { MAX_LINE } from './rows.ts'
import { FILES, PLACE_BYTES, STRIDE } from './snapshot.ts'

const NEWLINE = 10
const RETURN = 13
const SPACE = 32
/** Of a line that is no row, however many bytes its characters take. */
const MAX_LINE_BYTES = 4 * MAX_LINE

/** Bytes of a file. */
export interface Span {
  offset: number
  length: number
}

/** A recipient of a frozen list, and the bytes of the file that are theirs. */
export interface FoundRecipient extends Span {
  /** Place in the list, from 0. */
  place: number
  values: string[]
}

/** Where the person (digits) stands in a frozen list; undefined when nowhere, or when there is no such list. */
export async function findInSnapshot(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
): Promise<FoundRecipient | undefined> {
  const folder = `${campaignFolder(id)}${snapshot}/`
  const name = `${folder}${FILES.recipients}`
  const offset = await lineOf(files, name, Buffer.from(`["${person}"`))
  if (offset === undefined) return undefined
  const places = await readPart(files, `${folder}${FILES.places}`)
  let stride = 0
  while ((stride + 1) * PLACE_BYTES < places.length && places.readDoubleLE((stride + 1) * PLACE_BYTES) <= offset) {
    stride += 1
  }
  const from = places.readDoubleLE(stride * PLACE_BYTES)
  const isLast = (stride + 1) * PLACE_BYTES >= places.length
  const to = isLast ? await files.sizeOf(name) : places.readDoubleLE((stride + 1) * PLACE_BYTES)
  const lines = await readPart(files, name, { from, to })
  const at = offset - from
  const end = lines.indexOf(NEWLINE, at)
  const line = lines.subarray(at, end === -1 ? lines.length : end)
  const [, ...values] = JSON.parse(line.toString('utf8')) as string[]
  const place = stride * STRIDE + lines.subarray(0, at).filter((byte) => byte === NEWLINE).length
  return { place, values, offset, length: line.length }
}

/** Where the line begins that begins with these bytes; undefined as well when there is no such file. */
async function lineOf(files: FileStore, name: string, head: Buffer): Promise<number | undefined> {
  // Begins with a line end, so that the first line is one like all others.
  let rest: Buffer = Buffer.from('\n')
  let offset = -1
  const wanted = Buffer.concat([rest, head])
  for await (const piece of await thereOrNothing(files.read(name))) {
    const read = Buffer.concat([rest, piece])
    const at = read.indexOf(wanted)
    if (at !== -1) return offset + at + 1
    // What is looked for may stand across two pieces.
    rest = read.subarray(Math.max(0, read.length - wanted.length + 1))
    offset += read.length - rest.length
  }
  return undefined
}

/** Writes over a recipient. The line stays, so that the places of all others do. */
export async function eraseInSnapshot(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
  { offset, length }: FoundRecipient,
): Promise<void> {
  const head = `["${'0'.repeat(person.length)}"`
  const bytes = Buffer.from(`${head}${' '.repeat(length - head.length - 1)}]`)
  await writeOver(files, `${campaignFolder(id)}${snapshot}/${FILES.recipients}`, [{ offset, bytes }])
}

/** Writes over the number wherever it stands among those whom a preflight refused. Returns how often it did. */
export async function eraseAmongRefused(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
): Promise<number> {
  const name = `${campaignFolder(id)}${snapshot}/${FILES.refused}`
  // At most 10,000 lines, see snapshot.ts.
  const text = await readPart(files, name).then((bytes) => bytes.toString('latin1'), missing)
  const bytes = Buffer.from('*'.repeat(person.length))
  const found = [...(text ?? '').matchAll(new RegExp(`(?<!\\d)${person.replaceAll('.', '\\.')}(?!\\d)`, 'g'))]
  await writeOver(
    files,
    name,
    found.map(({ index }) => ({ offset: index, bytes })),
  )
  return found.length
}

/** The rows of an uploaded file whose `column` has the person's number, in whatever spelling; a file may have only those. */
export async function* findInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string,
  person: string,
): AsyncGenerator<Span> {
  const bytes = await thereOrNothing(readRowsFile(files, id, rowsFile))
  const rows =
    formatOf(rowsFile) === 'csv'
      ? phonesOfCsv(
          csvRecords(bytes, () => separatorOf(rowsFile)),
          column,
        )
      : phonesOfLines(bytes, column)
  // The library takes 4 µs for a number: only what ends like the one that is looked for is read by it.
  const end = person.slice(-6)
  for await (const { phone, offset, length } of rows) {
    if (!phone.replace(/\D/g, '').endsWith(end)) continue
    const parsed = parseListedPhone(phone)
    if (parsed.ok && parsed.digits === person) yield { offset, length }
  }
}

interface RowAt extends Span {
  phone: string
}

async function* phonesOfCsv(records: AsyncIterable<CsvRecord>, column: string): AsyncGenerator<RowAt> {
  let at: number | undefined
  let offset = 0
  try {
    for await (const { cells, bytes } of records) {
      // Of several of a name, which no campaign takes any more, the last one counts, as it did when it was sent.
      if (at === undefined) at = cells.map((cell) => cell.trim()).lastIndexOf(column)
      else if (at !== -1) yield { phone: cells[at] ?? '', offset, length: bytes - offset }
      offset = bytes
    }
  } catch (error) {
    // What comes after a quote that is never closed is nobody's row: nothing is sent from there.
    if (!(error instanceof EndlessRecordError)) throw error
  }
}

async function* phonesOfLines(source: AsyncIterable<Buffer>, column: string): AsyncGenerator<RowAt> {
  const taken = createTurns()
  /** The line that goes on: its pieces, none of one that is no row, and its bytes. */
  let pieces: Buffer[] = []
  let length = 0
  let offset = 0
  const add = (bytes: Buffer): void => {
    length += bytes.length
    if (length > MAX_LINE_BYTES) pieces = []
    else pieces.push(bytes)
  }
  for await (const piece of source) {
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      add(piece.subarray(from, end))
      await taken(length)
      yield { phone: phoneOf(Buffer.concat(pieces), column), offset, length }
      offset += length + 1
      pieces = []
      length = 0
      from = end + 1
    }
    add(piece.subarray(from))
  }
  if (length > 0) yield { phone: phoneOf(Buffer.concat(pieces), column), offset, length }
}

/** As rows.ts reads it, so also behind a byte order mark. */
function phoneOf(line: Buffer, column: string): string {
  try {
    const row: unknown = JSON.parse(new TextDecoder().decode(line))
    const value = typeof row === 'object' && row !== null ? new Map(Object.entries(row)).get(column) : undefined
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  } catch {
    // No row: nothing is sent from it.
    return ''
  }
}

/** Writes over the rows of an uploaded file that `findInRows` finds; how many they were. Line ends stay. */
export async function eraseInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string,
  person: string,
): Promise<number> {
  const name = `${campaignFolder(id)}${rowsFile}`
  const spans = findInRows(files, id, rowsFile, column, person)
  let span = await spans.next()
  let count = 0
  async function* changed() {
    let begin = 0
    for await (const read of await files.read(name)) {
      const piece = Buffer.from(read)
      const end = begin + piece.length
      while (!span.done && span.value.offset < end) {
        const { offset, length } = span.value
        blank(piece.subarray(Math.max(offset - begin, 0), offset + length - begin))
        // Its other half is in the next piece.
        if (offset + length > end) break
        count += 1
        span = await spans.next()
      }
      yield piece
      begin = end
    }
  }
  if (!span.done) await replace(files, name, changed())
  return count
}

function blank(bytes: Buffer): void {
  for (const [i, byte] of bytes.entries()) if (byte !== NEWLINE && byte !== RETURN) bytes[i] = SPACE
}

/** Writes a file anew with other bytes in some places, which are in order. */
async function writeOver(
  files: FileStore,
  name: string,
  pieces: readonly { offset: number; bytes: Buffer }[],
): Promise<void> {
  if (pieces.length === 0) return
  async function* changed() {
    let begin = 0
    for await (const read of await files.read(name)) {
      const piece = Buffer.from(read)
      for (const { offset, bytes } of pieces) {
        const from = Math.max(offset, begin)
        const to = Math.min(offset + bytes.length, begin + piece.length)
        if (from < to) bytes.copy(piece, from - begin, from - offset, to - offset)
      }
      yield piece
      begin += piece.length
    }
  }
  await replace(files, name, changed())
}

async function replace(files: FileStore, name: string, content: AsyncIterable<Buffer>): Promise<void> {
  const draft = await receive(files, content)
  try {
    await files.take(draft.path, name)
  } finally {
    await draft.discard()
  }
}

/** A file that was purged, or replaced by another upload, has nobody in it. */
async function thereOrNothing(read: Promise<AsyncIterable<Buffer>>): Promise<AsyncIterable<Buffer>> {
  const found = await read.catch(missing)
  return found ?? nothing()
}

async function* nothing(): AsyncGenerator<Buffer> {}

function missing(error: unknown): undefined {
  if (error instanceof FileMissingError) return undefined
  throw error
}
