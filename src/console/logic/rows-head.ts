// The beginning of a file of recipients, read in the browser by what the server reads it with: its columns and first row,
// so that values can be bound before anything is uploaded.
import { createTextReader, UnreadableCsvError } from '../../files/csv-encoding.ts'
import { type CsvSaid, csvHead, type ReadAs } from '../../files/csv-head.ts'

/** What is known of a file. */
export interface RowsHead {
  format: 'csv' | 'ndjson'
  columns: readonly string[]
  /** The first row, by column. */
  first: ReadonlyMap<string, string>
  /** Of CSV. */
  readAs?: ReadAs
}

const HEAD_CHARACTERS = 64 * 1024

/** The bytes of a file; not every browser iterates over its stream by itself. */
export async function* bytesOf(file: Blob): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}

/** Reads all of a file, as its encoding may only show at its end. A sentence instead, when it is no list of rows. */
export async function rowsHead(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  said: CsvSaid = {},
): Promise<RowsHead | { why: string }> {
  const isNdjson = /\.(ndjson|jsonl)$/i.test(name)
  const reader = createTextReader(isNdjson ? 'utf-8' : said.encoding)
  let text = ''
  let isWhole = true
  const take = (next: string): void => {
    isWhole &&= text.length + next.length <= HEAD_CHARACTERS
    if (text.length < HEAD_CHARACTERS) text += next
  }
  try {
    for await (const piece of bytes) take(reader.read(piece))
    take(reader.read())
    if (isNdjson || text.trimStart().startsWith('{')) return ndjsonHead(text)
    text = text.replace(/\r\n?/g, '\n')
    // A header that is longer than this is none.
    const head = csvHead(text, isWhole, said.separator) ?? csvHead(text, true, said.separator)
    const { columns = [], firstRow = [], separator = ',' } = head ?? {}
    if (columns.every((column) => column === '')) return { why: 'The file has no line of columns.' }
    const first = new Map(columns.map((column, i) => [column, (firstRow[i] ?? '').trim()]))
    return { format: 'csv', columns, first, readAs: { encoding: reader.encoding(), separator, columns } }
  } catch (error) {
    if (error instanceof UnreadableCsvError) return { why: `The file cannot be read: ${error.message}.` }
    throw error
  }
}

function ndjsonHead(text: string): RowsHead | { why: string } {
  const line = text.split('\n').find((each) => each.trim() !== '') ?? ''
  try {
    const row: unknown = JSON.parse(line)
    if (typeof row !== 'object' || row === null || Array.isArray(row)) throw new SyntaxError('no object')
    const cells = Object.entries(row).map(([column, value]): [string, string] => [column, String(value ?? '')])
    return { format: 'ndjson', columns: cells.map(([column]) => column), first: new Map(cells) }
  } catch {
    return { why: 'The first line is no JSON object.' }
  }
}

/** The column that most likely holds the numbers. */
export const likelyPhone = (columns: readonly string[]): string =>
  columns.find((column) => /^(phone|mobile|number|msisdn|to|tel(ephone)?|whatsapp)$/i.test(column)) ??
  columns.find((column) => /phone|mobile|number/i.test(column)) ??
  columns[0] ??
  ''
