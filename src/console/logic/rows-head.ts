// The head of a file of recipients, read in the browser: its columns and first row, so that values can be bound before
// anything is uploaded. The server reads the file again, and by its own rules; this is for the eyes.

/** What is known of a file from its beginning. */
export interface RowsHead {
  format: 'csv' | 'ndjson'
  columns: readonly string[]
  /** The first row, by column. */
  first: ReadonlyMap<string, string>
}

/** Records of CSV text; a record that the text breaks off in is left out unless `whole`. */
export function csvRecords(text: string, most: number, whole: boolean): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  let cell = ''
  let quoted = false
  const end = (): void => {
    cells.push(cell)
    cell = ''
  }
  const body = text.replace(/^\ufeff/, '')
  for (let at = 0; at < body.length && records.length < most; at += 1) {
    const character = body[at] ?? ''
    if (quoted) {
      if (character !== '"') cell += character
      else if (body[at + 1] === '"') {
        cell += '"'
        at += 1
      } else quoted = false
    } else if (character === '"' && cell === '') quoted = true
    else if (character === ',') end()
    else if (character === '\n') {
      end()
      if (cells.length > 1 || cells[0] !== '') records.push(cells)
      cells = []
    } else if (character !== '\r' || body[at + 1] !== '\n') cell += character
  }
  if (records.length < most && whole && (cell !== '' || cells.length > 0)) records.push([...cells, cell])
  return records
}

/** Reads the head of a file. `whole`: the text is all of it. A sentence instead, when it is no list of rows. */
export function rowsHead(name: string, text: string, whole: boolean): RowsHead | { why: string } {
  return /\.(ndjson|jsonl)$/i.test(name) || text.trimStart().startsWith('{') ? ndjsonHead(text) : csvHead(text, whole)
}

function csvHead(text: string, whole: boolean): RowsHead | { why: string } {
  const [header, row = []] = csvRecords(text, 2, whole)
  const columns = (header ?? []).map((column) => column.trim())
  if (columns.length < 1 || columns.every((column) => column === '')) return { why: 'The file has no line of columns.' }
  if (columns.length === 1 && /[;\t]/.test(columns[0] ?? '')) {
    return { why: 'The columns are separated by semicolons or tabs; save the file with commas.' }
  }
  return { format: 'csv', columns, first: new Map(columns.map((column, i) => [column, (row[i] ?? '').trim()])) }
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
