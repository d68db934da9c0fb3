// Finds a person in an uploaded file of rows, and overwrites them with spaces, which every reader skips. A line that is no valid row is
// searched as text: a number in it is still somebody's.
import { csvRecords, EndlessRecordError } from '../files/csv.ts'
import { columnName, type Separator } from '../files/csv-head.ts'
import type { FileStore } from '../files/store.ts'
import { createYielder } from '../files/yield-to-loop.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { campaignFolder, formatOf, readRowsFile, separatorOf } from './files.ts'
import { type Span, thereOrNothing, writeOver } from './overwrite.ts'
import { createPersonFinder } from './person-finder.ts'
import { MAX_LINE } from './rows.ts'

const NEWLINE = 10
const SPACE = 32
/** Of a line that is no row, however many bytes its characters take. */
const MAX_LINE_BYTES = 4 * MAX_LINE
/** Overlap of two pieces, so that a number across them is found. */
const OVERLAP_BYTES = 1_024

/** A row that names somebody, or a line of one. */
interface Found extends Span {
  /** It is a line of something longer, whose quotes must stay. */
  isPart?: true
}

type Finder = ReturnType<typeof createPersonFinder>

/**
 * The rows of an uploaded file that name the person, in their order: in any column of the name `column`, or anywhere in a
 * row that cannot be read. Without a `column`, which only the campaign knows, anywhere in any row. A file may have only
 * those.
 */
export async function* findInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string | undefined,
  person: string,
): AsyncGenerator<Found> {
  const finder = createPersonFinder(person)
  const bytes = await thereOrNothing(readRowsFile(files, id, rowsFile))
  if (formatOf(rowsFile) === 'ndjson') {
    yield* linesNaming(bytes, 0, finder, (line) => isInJson(line, column, finder))
    return
  }
  const name = `${campaignFolder(id)}${rowsFile}`
  let offset = 0
  try {
    for await (const { match, bytes: end } of matchesInCsv(bytes, separatorOf(rowsFile), column, finder)) {
      if (match === 'row') yield { offset, length: end - offset }
      else if (match === 'lines') yield* partsNaming(await files.read(name, { from: offset, to: end }), offset, finder)
      offset = end
    }
  } catch (error) {
    if (!(error instanceof EndlessRecordError)) throw error
    const to = await files.sizeOf(name)
    yield* partsNaming(await files.read(name, { from: offset, to }), offset, finder)
  }
}

/** For each record of a CSV file where it names the person, and the bytes up to its end. */
async function* matchesInCsv(
  bytes: AsyncIterable<Buffer>,
  separator: Separator,
  column: string | undefined,
  finder: Finder,
): AsyncGenerator<{ match: Match; bytes: number }> {
  let header: { count: number; at: number[] } | undefined
  for await (const { cells, bytes: until } of csvRecords(bytes, () => separator)) {
    const isHeader = header === undefined
    header ??= { count: cells.length, at: placesOf(cells, column) }
    // A first line that names no such column may be somebody's row as well.
    const match = isHeader && header.at.length > 0 ? undefined : matchInRow(cells, header, finder)
    yield { match, bytes: until }
  }
}

const placesOf = (header: readonly string[], column: string | undefined): number[] =>
  header.flatMap((cell, index) => (column !== undefined && columnName(cell) === columnName(column) ? [index] : []))

/** The part of a row that is the person's: none, all, or the lines that name them. */
type Match = 'row' | 'lines' | undefined

function matchInRow(cells: readonly string[], { count, at }: { count: number; at: number[] }, finder: Finder): Match {
  const phones = at.map((index) => cells[index] ?? '')
  if (phones.some(finder.is)) return 'row'
  const named = cells.filter(finder.standsIn)
  if (named.length === 0) return undefined
  // A stray opening quote takes the following rows into its cell.
  if (named.some((cell) => cell.includes('\n'))) return 'lines'
  const isReadable = phones.some(finder.isSomebody) && cells.slice(count).every((cell) => cell.trim() === '')
  return isReadable ? undefined : 'row'
}

function isInJson(line: string, column: string | undefined, finder: Finder): boolean {
  // Digits may be written otherwise there, and cost the more time.
  if (!finder.mayStandIn(line) && !/\\u|\d[eE]/.test(line)) return false
  const phones = column === undefined ? [] : valuesOf(line, column)
  return phones.some(finder.is) || (!phones.some(finder.isSomebody) && finder.standsIn(line))
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]|[^\s"{}[\],:]+/g

/** The values that a line of JSON has under a name, all of them: JSON.parse knows the last one. None when it is no row. */
function valuesOf(line: string, name: string): string[] {
  const values: string[] = []
  try {
    JSON.parse(line)
    let depth = 0
    let key: unknown
    for (const [token] of line.matchAll(TOKEN)) {
      if (token === '{' || token === '[') depth += 1
      else if (token === '}' || token === ']') {
        depth -= 1
        if (depth === 1) key = undefined
      } else if (depth === 1 && key === undefined) key = JSON.parse(token)
      else if (depth === 1) {
        if (columnName(String(key)) === columnName(name)) values.push(String(JSON.parse(token)))
        key = undefined
      }
    }
    return values
  } catch {
    return []
  }
}

/** Lines of something longer that name the person. */
async function* partsNaming(source: AsyncIterable<Buffer>, offset: number, finder: Finder): AsyncGenerator<Found> {
  for await (const span of linesNaming(source, offset, finder, finder.standsIn)) yield { ...span, isPart: true }
}

/**
 * The lines from `offset` on, without their ends, that name the person, as `isIn` says of one that may be a row. A longer
 * one is looked through a piece at a time.
 */
async function* linesNaming(
  source: AsyncIterable<Buffer>,
  offset: number,
  finder: Finder,
  isIn: (line: string) => boolean,
): AsyncGenerator<Span> {
  const yieldToLoop = createYielder()
  let pieces: Buffer[] = []
  let [held, length, begin, isFound] = [0, 0, offset, false]
  const add = (bytes: Buffer): void => {
    length += bytes.length
    held += bytes.length
    pieces.push(bytes)
    if (held <= MAX_LINE_BYTES) return
    const all = Buffer.concat(pieces)
    isFound ||= finder.standsIn(all.toString('utf8'))
    pieces = [all.subarray(-OVERLAP_BYTES)]
    held = OVERLAP_BYTES
  }
  async function* end(): AsyncGenerator<Span> {
    await yieldToLoop(length)
    const text = new TextDecoder().decode(Buffer.concat(pieces))
    if (isFound || (held === length ? isIn(text) : finder.standsIn(text))) yield { offset: begin, length }
    begin += length + 1
    pieces = []
    ;[held, length, isFound] = [0, 0, false]
  }
  for await (const piece of source) {
    let from = 0
    for (let to = piece.indexOf(NEWLINE); to !== -1; to = piece.indexOf(NEWLINE, from)) {
      add(piece.subarray(from, to))
      yield* end()
      from = to + 1
    }
    add(piece.subarray(from))
  }
  if (length > 0) yield* end()
}

/** Writes over the rows of an uploaded file that `findInRows` finds; how many they were. Line ends stay. */
export async function eraseInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string | undefined,
  person: string,
): Promise<number> {
  const name = `${campaignFolder(id)}${rowsFile}`
  const lineEnds = new Set(Buffer.from('\r\n'))
  const ends = new Set(Buffer.from(`\r\n"${separatorOf(rowsFile)}`))
  const spans = findInRows(files, id, rowsFile, column, person)
  return writeOver(files, name, spans, (bytes, { isPart }) => blank(bytes, isPart ? ends : lineEnds))
}

function blank(bytes: Buffer, stays: ReadonlySet<number>): void {
  for (const [i, byte] of bytes.entries()) if (!stays.has(byte)) bytes[i] = SPACE
}
