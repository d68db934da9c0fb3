// The head of a CSV file: what separates its cells, its columns, its first row. Pure, and of no platform: the console shows
// in the browser what the server will read.
import { cutText } from '../kernel/cut-text.ts'
import { type Encoding, UnreadableCsvError } from './csv-encoding.ts'

/** The first three are recognised; the bar is read when the file or a person names it. */
export const SEPARATORS = [',', ';', '\t', '|'] as const
export type Separator = (typeof SEPARATORS)[number]
const RECOGNISED: readonly Separator[] = [',', ';', '\t']
const SEPARATOR_WORDS: Readonly<Record<Separator, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
}

/** How to read a file, as a person has chosen; the rest is detected. */
export interface CsvOptions {
  encoding?: Encoding | undefined
  separator?: Separator | undefined
}

/** How a file was read. */
export interface ReadAs {
  encoding: Encoding
  separator: Separator
  /** Of the header, trimmed. */
  columns: string[]
}

/** The same as a sentence. */
export const readAsSentence = ({ encoding, separator, columns }: ReadAs): string =>
  columns.length === 0
    ? 'The file has no line of columns.'
    : `Read as ${encoding}, separated by ${SEPARATOR_WORDS[separator]}, with the columns ${columns.join(', ')}.`

/**
 * The name of a column as it is compared: an accent may be a character of its own or not, and what cannot be seen does not
 * count.
 */
export const columnName = (cell: string): string =>
  cell
    .normalize('NFC')
    .replace(/\p{Cf}/gu, '')
    .trim()

const COLUMNS_QUOTED = 20
const COLUMN_QUOTED = 80

/** The columns of a file as an error names them. */
export function quotedColumns(header: readonly string[]): string {
  const shown = header.slice(0, COLUMNS_QUOTED).map((cell) => `"${cutText(cell.trim(), COLUMN_QUOTED)}"`)
  const more = header.length - shown.length
  return `${shown.join(', ') || 'none'}${more > 0 ? ` and ${more} more` : ''}`
}

/** What a file begins with. */
export interface CsvHead {
  separator: Separator
  /** Characters of a first line that only names the separator, without its end. */
  named: number
  columns: string[]
  firstRow: string[]
}

/** A first line that only names the separator: a program that saves the file anew puts separators behind it. */
const NAMED = /^"?sep=(.)"?[,;\t]*(?=[\r\n]|$)/i
/** A text has none of these: it is UTF-16 without its mark, or no text at all. */
const NO_TEXT = /(?![\r\n\t])\p{Cc}/u

/**
 * What a text of lines that end in a line feed begins with; undefined when it breaks off in the header. `isWhole`:
 * there is no more of it. Throws an UnreadableCsvError.
 */
export function csvHead(text: string, isWhole: boolean, said?: Separator): CsvHead | undefined {
  const [line = '', char = ''] = NAMED.exec(text) ?? []
  const named = line !== '' && (isWhole || text.length > line.length) ? line.length : 0
  const body = text.slice(named)
  const separator = said ?? (named === 0 ? commonest(body, isWhole) : separatorOf(char))
  if (separator === undefined) return undefined
  const [header, firstRow = []] = textRecords(body, 2, isWhole, separator)
  if (header === undefined) return isWhole ? { separator, named, columns: [], firstRow } : undefined
  if (header.some((cell) => NO_TEXT.test(cell))) {
    throw new UnreadableCsvError(
      'the first line has control characters; save the file as UTF-8, or name its encoding if it is UTF-16 without its mark',
    )
  }
  return { separator, named, columns: header.map((cell) => cell.trim()), firstRow }
}

/** What the header has most of outside of quotes; undefined when the text breaks off in it. */
function commonest(text: string, isWhole: boolean): Separator | undefined {
  const counts = RECOGNISED.map((separator) => ({ separator, count: 0 }))
  let isQuoted = false
  let mayOpen = true
  let hasContent = false
  let hasEnded = false
  for (let at = 0; at < text.length && !hasEnded; at += 1) {
    const character = text[at]
    const counted = counts.find(({ separator }) => separator === character)
    if (isQuoted) isQuoted = character !== '"'
    else if (character === '"' && (mayOpen || text[at - 1] === '"')) isQuoted = true
    else if (character === '\n') hasEnded = hasContent
    else if (counted) counted.count += 1
    hasContent ||= character !== '\n'
    mayOpen = counted !== undefined || character === '\n' || (mayOpen && character === ' ')
  }
  if (!hasEnded && !isWhole) return undefined
  // In a single column nothing is separated: a comma is as good as any.
  return counts.reduce((first, second) => (second.count > first.count ? second : first)).separator
}

function separatorOf(named: string): Separator {
  const separator = SEPARATORS.find((each) => each === named)
  if (separator !== undefined) return separator
  throw new UnreadableCsvError(
    'sep= names another separator than a comma, a semicolon, a tab or a bar; save the file anew',
  )
}

/** The first records of CSV text, for eyes; a record that the text breaks off in is left out unless `isWhole`. */
export function textRecords(text: string, most: number, isWhole: boolean, separator: Separator = ','): string[][] {
  const records: string[][] = []
  let cells: string[] = []
  let cell = ''
  let isQuoted = false
  const end = (): void => {
    cells.push(cell)
    cell = ''
  }
  for (let at = 0; at < text.length && records.length < most; at += 1) {
    const character = text[at] ?? ''
    if (isQuoted) {
      if (character !== '"') cell += character
      else if (text[at + 1] === '"') {
        cell += '"'
        at += 1
      } else isQuoted = false
    } else if (character === '"' && /^[ \t]*$/.test(cell)) {
      isQuoted = true
      cell = ''
    } else if (character === separator) end()
    else if (character === '\n') {
      end()
      if (cells.length > 1 || cells[0] !== '') records.push(cells)
      cells = []
    } else cell += character
  }
  if (records.length < most && isWhole && (cell !== '' || cells.length > 0)) records.push([...cells, cell])
  return records
}

/** Why the text cannot be used; undefined when it can. */
export function cellFault(text: string): string | undefined {
  if (/[\r\n]/.test(text)) return 'a line break; is a quote not closed?'
  // The two last are line breaks as well, in text that was copied from a web page.
  if (/[\p{Cc}\u2028\u2029]/u.test(text)) return 'a control character'
  // A control character as spreadsheets write it into their files, mostly the end of a line.
  const [written] = /_x00[01][0-9a-f]_/i.exec(text) ?? []
  if (written !== undefined) return `a line break or tab that a spreadsheet wrote as ${written}; take it out there`
  // What an earlier program put where it could not read the file, or one half of a character.
  if (/[\uFFFD\p{Cs}]/u.test(text)) return 'a character was lost before; save the file anew, as UTF-8'
  return undefined
}
