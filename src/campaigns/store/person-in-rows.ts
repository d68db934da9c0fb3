// A person in an uploaded file of rows: finding them, and leaving spaces, which every reader passes over, see
// write-over.ts. A row that nothing can be sent from names whomever its text names: that nobody can read it as a row does
// not make the number in it any less theirs.
import { csvRecords, UnclosedQuoteError } from '../../files/csv.ts'
import { type FileStore, readPart } from '../../files/store.ts'
import { createTurns } from '../../files/turns.ts'
import type { CampaignId } from '../campaign-id.ts'
import { createPersonFinder } from '../named-person.ts'
import { campaignFolder, formatOf, readRowsFile, separatorOf } from './files.ts'
import { type Span, thereOrNothing, writeOver } from './write-over.ts'

const NEWLINE = 10
const SPACE = 32

/** A row that names somebody, or a line of one. */
interface Found extends Span {
  /** It is a line of something longer, whose quotes must stay. */
  isPart?: true
}

type Finder = ReturnType<typeof createPersonFinder>

/**
 * The rows of an uploaded file that name the person: in any column of the name `column`, or anywhere in a row that cannot
 * be read. Without a `column`, which only the campaign knows, anywhere in any row.
 */
export async function findInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string | undefined,
  person: string,
): Promise<Found[]> {
  const finder = createPersonFinder(person)
  if (formatOf(rowsFile) === 'csv') return findInCsv(files, id, rowsFile, column, finder)
  const found: Found[] = []
  for await (const { text, ...span } of linesOf(await thereOrNothing(readRowsFile(files, id, rowsFile)), 0)) {
    if (isInJson(text, column, finder)) found.push(span)
  }
  return found
}

async function findInCsv(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  column: string | undefined,
  finder: Finder,
): Promise<Found[]> {
  const name = `${campaignFolder(id)}${rowsFile}`
  const found: Found[] = []
  const addLines = async (from: number, to: number): Promise<void> => {
    for await (const { text, ...span } of linesOf(await files.read(name, { from, to }), from)) {
      if (finder.standsIn(text)) found.push({ ...span, isPart: true })
    }
  }
  let header: { count: number; at: number[] } | undefined
  let offset = 0
  try {
    const bytes = await thereOrNothing(readRowsFile(files, id, rowsFile))
    for await (const record of csvRecords(bytes, () => separatorOf(rowsFile))) {
      const { cells } = record
      const isHeader = header === undefined
      header ??= { count: cells.length, at: placesOf(cells, column) }
      // A first line that names no such column may be somebody's row as well.
      const where = isHeader && header.at.length > 0 ? undefined : placeInRow(cells, header, finder)
      if (where === 'row') found.push({ offset, length: record.bytes - offset })
      else if (where === 'lines') await addLines(offset, record.bytes)
      offset = record.bytes
    }
  } catch (error) {
    if (!(error instanceof UnclosedQuoteError)) throw error
    await addLines(offset, await files.sizeOf(name))
  }
  return found
}

const placesOf = (header: readonly string[], column: string | undefined): number[] =>
  header.flatMap((cell, place) => (cell.trim() === column ? [place] : []))

/** What of a row is the person's: nothing, all of it, or those of its lines that name them. */
function placeInRow(
  cells: readonly string[],
  { count, at }: { count: number; at: number[] },
  finder: Finder,
): 'row' | 'lines' | undefined {
  const phones = at.map((place) => cells[place] ?? '')
  if (phones.some(finder.is)) return 'row'
  const named = cells.filter(finder.standsIn)
  if (named.length === 0) return undefined
  // A quote that was opened by mistake takes the rows after it into a cell.
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
        if (key === name) values.push(String(JSON.parse(token)))
        key = undefined
      }
    }
    return values
  } catch {
    return []
  }
}

/** The lines of a file from `offset` on, without their ends. */
async function* linesOf(source: AsyncIterable<Buffer>, offset: number): AsyncGenerator<Span & { text: string }> {
  const taken = createTurns()
  let begin = offset
  let pieces: Buffer[] = []
  async function* line(end: Buffer): AsyncGenerator<Span & { text: string }> {
    const bytes = pieces.length === 0 ? end : Buffer.concat([...pieces, end])
    pieces = []
    await taken(bytes.length)
    yield { text: bytes.toString('utf8'), offset: begin, length: bytes.length }
    begin += bytes.length + 1
  }
  for await (const piece of source) {
    let from = 0
    for (let to = piece.indexOf(NEWLINE); to !== -1; to = piece.indexOf(NEWLINE, from)) {
      yield* line(piece.subarray(from, to))
      from = to + 1
    }
    if (from < piece.length) pieces.push(piece.subarray(from))
  }
  if (pieces.length > 0) yield* line(Buffer.alloc(0))
}

/** Writes over rows of an uploaded file. Line ends stay, and of parts what makes cells, so that no other row is read otherwise. */
export async function eraseInRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  rows: readonly Found[],
): Promise<void> {
  const name = `${campaignFolder(id)}${rowsFile}`
  const lineEnds = new Set(Buffer.from('\r\n'))
  const marks = new Set(Buffer.from(`\r\n"${separatorOf(rowsFile)}`))
  const pieces: { offset: number; bytes: Buffer }[] = []
  for (const { offset, length, isPart } of rows) {
    const stays = isPart ? marks : lineEnds
    const bytes = await readPart(files, name, { from: offset, to: offset + length })
    for (const [i, byte] of bytes.entries()) if (!stays.has(byte)) bytes[i] = SPACE
    pieces.push({ offset, bytes })
  }
  await writeOver(files, name, pieces)
}
