// CSV: reads records as a stream, in flat memory, as normal-csv.ts leaves it, and makes the lines of exports, safe to open in a
// spreadsheet.
import { type Parser, parse } from 'csv-parse'
import type { Separator } from './csv-head.ts'
import { createYielder } from './yield-to-loop.ts'

/** A record that does not end: the start of the next one is unknown. */
export class EndlessRecordError extends Error {
  override name = 'EndlessRecordError'
  /** Line that it begins on, from 1. */
  readonly line: number

  constructor(line: number, why: string) {
    super(`the record that begins on line ${line} ${why}`)
    this.line = line
  }
}

/** One record of a CSV file. Quoted cells may hold line breaks, so a record may span lines. */
export interface CsvRecord {
  /** Line of the file that the record begins on, from 1. */
  line: number
  /** Without spaces and quotes around them, and without the apostrophe that marks a text, see `csvLine`. */
  cells: string[]
  /** Bytes of the file up to its end. */
  bytes: number
}

/** A record is a few cells; one that grows past this has an open quote somewhere, and memory must stay flat. */
export const MAX_RECORD_BYTES = 64 * 1024
/** The parser counts the text of cells. Separators make empty cells, and each takes memory as well. */
export const MAX_RAW_BYTES = 4 * MAX_RECORD_BYTES
/** A piece counts as much as the characters of a whole turn. */
const PIECES_WEIGH = Number.POSITIVE_INFINITY
/** What is parsed at once: a record may have two bytes, and 500 of them take some 10 ms. */
const PIECE_BYTES = 1_024

/**
 * The records, the header among them; empty lines are left out. The event loop gets a turn every few hundred of them. Throws an
 * EndlessRecordError after all records before that one, and whatever reading the bytes throws. `separator` is called once the first
 * bytes have come.
 */
export async function* csvRecords(
  source: AsyncIterable<Buffer>,
  separator: () => Separator,
): AsyncGenerator<CsvRecord> {
  let parsed: CsvRecord[] = []
  let last = { lines: 0, empty_lines: 0 }
  const openParser = (): Parser =>
    parse({
      delimiter: separator(),
      skip_empty_lines: true,
      record_delimiter: '\n',
      // A quote in the middle of a cell, as in 5" pipe, is only a character; one behind spaces begins it.
      relax_quotes: true,
      ltrim: true,
      relax_column_count: true,
      max_record_size: MAX_RECORD_BYTES,
      // Records are taken here, not read from the stream, which drops those it holds when a later one is wrong.
      on_record: (cells, info) => {
        const line = last.lines + (info.empty_lines - last.empty_lines) + 1
        last = info
        parsed.push({ line, cells: cells.map(cellOf), bytes: info.bytes })
        return undefined
      },
      // The callback gets the fault as well.
    }).on('error', () => {})
  let parser: Parser | undefined
  /** Resolves once the bytes are parsed; without bytes, at the end of the file. False when there is no going on. */
  const feed = (bytes?: Buffer) =>
    new Promise<boolean>((resolve) => {
      parser ??= openParser()
      const done = (fault?: Error | null) => resolve(!fault)
      if (bytes === undefined) parser.end(done)
      else parser.write(bytes, done)
    })

  const yieldToLoop = createYielder()
  async function* inTurns(): AsyncGenerator<CsvRecord> {
    const records = parsed
    parsed = []
    for (const record of records) {
      await yieldToLoop(record.cells.length)
      yield record
    }
  }

  /** Records and empty lines that have ended, and the bytes that were fed since the last of them. */
  let ended = 0
  let open = 0
  const isTooLong = (fed: number): boolean => {
    const { records = 0, empty_lines = 0 } = parser?.info ?? {}
    open = records + empty_lines === ended ? open + fed : fed
    ended = records + empty_lines
    return open > MAX_RAW_BYTES
  }
  const endless = (why: string): EndlessRecordError => {
    const empty = (parser?.info.empty_lines ?? 0) - last.empty_lines
    return new EndlessRecordError(last.lines + empty + 1, why)
  }

  let goesOn = true
  for await (const piece of source) {
    for (let at = 0; goesOn && at < piece.length; at += PIECE_BYTES) {
      await yieldToLoop(PIECES_WEIGH)
      const bytes = piece.subarray(at, at + PIECE_BYTES)
      goesOn = await feed(bytes)
      yield* inTurns()
      if (isTooLong(bytes.length)) throw endless('goes on for too long')
    }
    if (!goesOn) break
  }
  if (goesOn) goesOn = await feed()
  yield* inTurns()
  if (!goesOn) throw endless('opens a quote and never closes it')
}

/**
 * One line of CSV, its end included. A cell that a spreadsheet would open as a formula gets an apostrophe before it,
 * which marks a text there; `csvRecords` takes it off again, so that every cell comes back as it was.
 */
export function csvLine(cells: readonly string[]): string {
  const quoted = cells.map(marked).map((cell) => (SPECIAL.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell))
  return `${quoted.join(',')}\n`
}

/**
 * Also what separates cells in other countries: a spreadsheet there would begin a cell, and a formula, behind it. Spaces before
 * a cell are left out unless it is quoted.
 */
const SPECIAL = /[",;\t\r\n]|^\s/

/** What makes a formula in one of the usual spreadsheets: these, and the wide forms of the first four. */
const FORMULA = '[=+\\-@\\t\\r\uFF1D\uFF0B\uFF0D\uFF20]'
const FORMULA_OR_MARKED = new RegExp(`^'*${FORMULA}`)
const MARKED = new RegExp(`^'+${FORMULA}`)
/** A phone number as people write it. Numbers alone can call nothing, and other programs read these files too. */
const PHONE = /^\+[0-9 ().-]+$/

const marked = (cell: string): string => (FORMULA_OR_MARKED.test(cell) && !PHONE.test(cell) ? `'${cell}` : cell)
const unmarked = (cell: string): string => (MARKED.test(cell) ? cell.slice(1) : cell)

/** The parser leaves the quotes around a cell where a space follows the second one. */
const QUOTED_AND_SPACES = /^"(.*)"[ \t]+$/s
/** The text of a cell, as the parser leaves it. */
export const cellOf = (cell: string): string => unmarked(QUOTED_AND_SPACES.exec(cell)?.[1] ?? cell)
