// The rows of an uploaded file, whatever its format, in flat memory.
import { z } from 'zod'
import { formatOf, readRowsFile } from './campaign-files.ts'
import { csvRecords, UnclosedQuoteError } from './csv.ts'

export type Row =
  /** Only of CSV, first: the columns of the header. */
  | { kind: 'columns'; columns: string[] }
  | { kind: 'row'; line: number; cells: ReadonlyMap<string, string> }
  | { kind: 'broken'; line: number; explanation: string }

/** `line` counts from 1. Rows that cannot be read are told as such and do not stop the others. */
export async function* readRows(folder: string, rowsFile: string): AsyncGenerator<Row> {
  const bytes = readRowsFile(folder, rowsFile)
  yield* formatOf(rowsFile) === 'csv' ? csvRows(bytes) : ndjsonRows(bytes)
}

async function* csvRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<Row> {
  let columns: string[] | undefined
  try {
    for await (const { line, cells } of csvRecords(bytes)) {
      if (columns === undefined) {
        columns = cells.map((cell) => cell.trim())
        yield { kind: 'columns', columns }
        continue
      }
      // Spreadsheets leave lines of empty cells behind their last row.
      if (cells.every((cell) => cell.trim() === '')) continue
      if (cells.length > columns.length && cells.slice(columns.length).some((cell) => cell.trim() !== '')) {
        yield { kind: 'broken', line, explanation: `expected ${columns.length} cells, got ${cells.length}` }
        continue
      }
      yield { kind: 'row', line, cells: new Map(columns.map((column, i) => [column, cells[i]?.trim() ?? ''])) }
    }
  } catch (error) {
    if (!(error instanceof UnclosedQuoteError)) throw error
    yield { kind: 'broken', line: error.line, explanation: `${error.message}, so that nothing after it can be read` }
  }
  if (columns === undefined) yield { kind: 'columns', columns: [] }
}

const rowSchema = z.record(z.string(), z.unknown())
/** A row is a few values; one that grows past this is no row, and memory must stay flat. */
const MAX_LINE = 64 * 1024

async function* ndjsonRows(bytes: AsyncIterable<Buffer>): AsyncGenerator<Row> {
  let line = 0
  for await (const text of linesOf(bytes)) {
    line += 1
    if (text.trim() !== '') yield ndjsonRow(line, text)
  }
}

function ndjsonRow(line: number, text: string): Row {
  if (text.length > MAX_LINE) return { kind: 'broken', line, explanation: `longer than ${MAX_LINE} characters` }
  const parsed = rowSchema.safeParse(jsonOf(text))
  if (!parsed.success) return { kind: 'broken', line, explanation: 'not a JSON object' }
  const cells = new Map<string, string>()
  for (const [column, value] of Object.entries(parsed.data)) {
    if (typeof value === 'string') cells.set(column, value.trim())
    else if (typeof value === 'number' || typeof value === 'boolean') cells.set(column, String(value))
  }
  return { kind: 'row', line, cells }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Lines without their ends; of one that is too long, just enough to tell. */
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
