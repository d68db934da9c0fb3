// The columns and the first row of a file of recipients, read in the browser with the code of the server, so that values can
// be bound before the upload. And the form fields for how a CSV file is read.
import { createTextReader, ENCODINGS, type Encoding, UnreadableCsvError } from '../../../../src/files/csv-encoding.ts'
import { type CsvOptions, csvHead, type ReadAs, SEPARATORS, type Separator } from '../../../../src/files/csv-head.ts'

/** The beginning of a file. */
export interface RowsHead {
  format: 'csv' | 'ndjson'
  columns: readonly string[]
  /** The first row, by column. */
  first: ReadonlyMap<string, string>
  /** Only of a CSV file. */
  readAs?: ReadAs
}

const HEAD_CHARACTERS = 64 * 1024

/** The bytes of a file. Not every browser can iterate over a stream. */
export async function* bytesOf(file: Blob): AsyncGenerator<Uint8Array> {
  const reader = file.stream().getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value
}

/** Reads the whole file, because its encoding may show only at the end. Returns the reason if it is not a list of rows. */
export async function rowsHead(
  name: string,
  bytes: AsyncIterable<Uint8Array>,
  options: CsvOptions = {},
): Promise<RowsHead | { why: string }> {
  const isNdjson = /\.(ndjson|jsonl)$/i.test(name)
  const reader = createTextReader(isNdjson ? 'utf-8' : options.encoding)
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
    // Without a line end in so many characters, all of them count as the header.
    const head = csvHead(text, isWhole, options.separator) ?? csvHead(text, true, options.separator)
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

/** The column that most likely holds the phone numbers. */
export const likelyPhone = (columns: readonly string[]): string =>
  columns.find((column) => /^(phone|mobile|number|msisdn|to|tel(ephone)?|whatsapp)$/i.test(column)) ??
  columns.find((column) => /phone|mobile|number/i.test(column)) ??
  columns[0] ??
  ''

const ENCODING_NAMES: Readonly<Record<Encoding, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16, low byte first',
  'utf-16be': 'UTF-16, high byte first',
  'windows-1252': 'Windows-1252, Western Europe',
  'windows-1250': 'Windows-1250, Central Europe',
  'windows-1251': 'Windows-1251, Cyrillic',
  'windows-1253': 'Windows-1253, Greek',
  'windows-1254': 'Windows-1254, Turkish',
  'windows-1255': 'Windows-1255, Hebrew',
  'windows-1256': 'Windows-1256, Arabic',
  'windows-1257': 'Windows-1257, Baltic',
  'windows-1258': 'Windows-1258, Vietnamese',
  'windows-874': 'Windows-874, Thai',
  macintosh: 'Macintosh, Western Europe',
  'x-mac-cyrillic': 'Macintosh, Cyrillic',
  ibm866: 'DOS 866, Cyrillic',
  'koi8-r': 'KOI8-R, Russian',
  'koi8-u': 'KOI8-U, Ukrainian',
  'iso-8859-2': 'ISO 8859-2, Central Europe',
  'iso-8859-3': 'ISO 8859-3, Southern Europe',
  'iso-8859-4': 'ISO 8859-4, Northern Europe',
  'iso-8859-5': 'ISO 8859-5, Cyrillic',
  'iso-8859-6': 'ISO 8859-6, Arabic',
  'iso-8859-7': 'ISO 8859-7, Greek',
  'iso-8859-8': 'ISO 8859-8, Hebrew in visual order',
  'iso-8859-8-i': 'ISO 8859-8, Hebrew',
  'iso-8859-10': 'ISO 8859-10, Nordic',
  'iso-8859-13': 'ISO 8859-13, Baltic',
  'iso-8859-14': 'ISO 8859-14, Celtic',
  'iso-8859-15': 'ISO 8859-15, Western Europe',
  gbk: 'GBK, Chinese',
  gb18030: 'GB 18030, Chinese',
  big5: 'Big5, Chinese',
  shift_jis: 'Shift JIS, Japanese',
  'euc-jp': 'EUC-JP, Japanese',
  'iso-2022-jp': 'ISO 2022-JP, Japanese',
  'euc-kr': 'EUC-KR, Korean',
}
const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = {
  ',': 'Commas',
  ';': 'Semicolons',
  '\t': 'Tabs',
  '|': 'Bars',
}
const FOLD = 'Letters or columns look wrong?'
const DETECTED = ['', 'Detected'] as const

/** Form fields for how a CSV file is read, if the page guesses wrong. */
export const csvFields = {
  encoding: {
    label: 'Encoding',
    fold: FOLD,
    options: [DETECTED, ...ENCODINGS.map((each) => [each, ENCODING_NAMES[each]] as const)],
  },
  separator: {
    label: 'Columns are separated by',
    fold: FOLD,
    options: [DETECTED, ...SEPARATORS.map((each) => [each, SEPARATOR_NAMES[each]] as const)],
  },
} as const

/** The values of those fields as the API takes them. */
export const csvOptionsOf = (values: { encoding: string; separator: string }): CsvOptions => ({
  encoding: ENCODINGS.find((each) => each === values.encoding),
  separator: SEPARATORS.find((each) => each === values.separator),
})
