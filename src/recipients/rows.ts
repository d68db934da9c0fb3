// The rows of an uploaded file, whatever its format, in flat memory.
import { z } from 'zod'
import { type CsvRecord, csvRecords, EndlessRecordError } from '../files/csv.ts'
import { columnName, quotedColumns } from '../files/csv-head.ts'
import type { FileStore } from '../files/store.ts'
import { createYielder } from '../files/yield-to-loop.ts'
import { withoutNumbers } from '../kernel/masked.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { jsonText } from '../redis/records.ts'
import { formatOf, readRowsFile, separatorOf } from './files.ts'

export type Row =
  | { kind: 'row'; line: number; cells: ReadonlyMap<string, string> }
  | { kind: 'broken'; line: number; explanation: string }

/** The file as a whole cannot be used. The message is for the person who uploaded it. */
export class RowsError extends Error {
  override name = 'RowsError'
}

/** Most columns of a row; a file with more is no list of people. With 65,000 of them a row took 8 ms. */
const MOST_COLUMNS = 1_000

/**
 * The rows with the cells of the `needed` columns. `line` counts from 1. A row that cannot be read is reported as such
 * and does not stop the others. Throws a RowsError for CSV without one of these columns, with too many, or with a record
 * that does not end, which uploads are refused for.
 */
export async function* readRows(
  files: FileStore,
  id: CampaignId,
  rowsFile: string,
  needed: readonly string[],
): AsyncGenerator<Row> {
  const bytes = await readRowsFile(files, id, rowsFile)
  yield* formatOf(rowsFile) === 'csv'
    ? csvRows(
        csvRecords(bytes, () => separatorOf(rowsFile)),
        needed,
      )
    : ndjsonRows(bytes, needed)
}

async function* csvRows(records: AsyncIterable<CsvRecord>, needed: readonly string[]): AsyncGenerator<Row> {
  let header: { count: number; at: [column: string, index: number][] } | undefined
  try {
    for await (const { line, cells } of records) {
      if (header === undefined) {
        header = { count: cells.length, at: indexesOf(cells, needed) }
        continue
      }
      // Spreadsheets leave lines of empty cells behind their last row.
      if (cells.every((cell) => cell.trim() === '')) continue
      if (cells.length > header.count && cells.slice(header.count).some((cell) => cell.trim() !== '')) {
        yield { kind: 'broken', line, explanation: `expected ${header.count} cells, got ${cells.length}` }
        continue
      }
      const found = header.at.map(([column, index]): [string, string] => [column, cells[index]?.trim() ?? ''])
      yield { kind: 'row', line, cells: new Map(found) }
    }
  } catch (error) {
    if (!(error instanceof EndlessRecordError)) throw error
    throw new RowsError(`${error.message}; mend it and upload it again`)
  }
  if (header === undefined) indexesOf([], needed)
}

/** The index of each needed column; throws a RowsError. */
function indexesOf(header: readonly string[], needed: readonly string[]): [column: string, index: number][] {
  if (header.length > MOST_COLUMNS) {
    throw new RowsError(`the file has ${header.length} columns, at most ${MOST_COLUMNS} are allowed`)
  }
  const names = header.map(columnName)
  const indexes = new Map(names.map((name, index) => [name, index]))
  const missing = needed.filter((column) => !indexes.has(columnName(column)))
  if (missing.length > 0) {
    const named = missing.map((column) => `"${column}"${spelledOtherwise(header, column)}`)
    // The sentence is stored, and the first line of a file without a header is somebody's row.
    const columns = withoutNumbers(quotedColumns(header))
    throw new RowsError(`the file has no column ${named.join(', ')}; its columns are ${columns}`)
  }
  const isTwice = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name)
  const twice = needed.filter((column) => isTwice(columnName(column)))
  if (twice.length > 0)
    throw new RowsError(`the file has several columns ${quotedColumns(twice)}; name each column once`)
  return needed.map((column) => [column, indexes.get(columnName(column)) ?? 0])
}

/** Finds a column whose name differs only in case, spaces, dashes or underscores, which people overlook. */
function spelledOtherwise(header: readonly string[], column: string): string {
  const folded = (name: string): string => name.toLowerCase().replace(/[\s_-]+/g, '')
  const found = header.find((cell) => folded(cell) === folded(column))
  return found === undefined ? '' : ` but ${quotedColumns([found])}`
}

const rowSchema = jsonText.pipe(z.record(z.string(), z.unknown()))
/** A row is a few values; one that grows past this is no row, and memory must stay flat. */
export const MAX_LINE = 64 * 1024

async function* ndjsonRows(bytes: AsyncIterable<Buffer>, needed: readonly string[]): AsyncGenerator<Row> {
  let line = 0
  const yieldToLoop = createYielder()
  for await (const text of linesOf(bytes)) {
    line += 1
    await yieldToLoop(text.length)
    if (text.trim() !== '') yield ndjsonRow(line, text, needed)
  }
}

function ndjsonRow(line: number, text: string, needed: readonly string[]): Row {
  if (text.length > MAX_LINE) return { kind: 'broken', line, explanation: `longer than ${MAX_LINE} characters` }
  const parsed = rowSchema.safeParse(text)
  if (!parsed.success) return { kind: 'broken', line, explanation: 'not a JSON object' }
  const cells = new Map<string, string>()
  for (const column of needed) {
    const value = valueIn(parsed.data, column)
    if (typeof value === 'string') cells.set(column, value.trim())
    else if (typeof value === 'number' || typeof value === 'boolean') cells.set(column, String(value))
  }
  return { kind: 'row', line, cells }
}

function valueIn(row: Readonly<Record<string, unknown>>, column: string): unknown {
  if (Object.hasOwn(row, column)) return row[column]
  const written = Object.keys(row).find((name) => columnName(name) === columnName(column))
  return written === undefined ? undefined : row[written]
}

/** Lines without their ends; of one that is too long, just enough to show it. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of bytes) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > 2 * MAX_LINE) rest = rest.slice(0, MAX_LINE + 1)
    yield* lines
  }
  rest += decoder.decode()
  if (rest !== '') yield rest
}
