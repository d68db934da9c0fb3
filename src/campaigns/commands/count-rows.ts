// Counts the rows of an upload while it streams past, so that its answer can say how many came, and refuses CSV in which
// a quote is never closed: nobody can tell where the next row begins. Only line ends, separators and quotes are looked
// at, as csv.ts reads them but many times faster: what the rows hold is for the preflight to judge.
import { MAX_RECORD_BYTES, UnclosedQuoteError } from '../../files/csv.ts'
import type { Separator } from '../../files/csv-head.ts'
import type { RowFormat } from '../file-formats.ts'

const QUOTE = 0x22
const LINE_END = 0x0a
const SPACES = new Set(Buffer.from(' \t\r\n'))

/**
 * `bytes` are those of the source, unchanged; they throw an UnclosedQuoteError. `rows` is right once they have been read to
 * their end. `separator` of CSV is asked once the first bytes have come.
 */
export function countingRows(
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  separator: () => Separator = () => ',',
) {
  const lines = format === 'csv' ? csvLines(separator) : ndjsonLines()

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      lines.look(chunk)
      yield chunk
    }
    lines.end()
  }

  return { bytes: bytes(), rows: lines.rows }
}

function ndjsonLines() {
  let rows = 0
  let hasContent = false
  return {
    look(chunk: Uint8Array): void {
      for (const byte of chunk) {
        if (byte === LINE_END) {
          if (hasContent) rows += 1
          hasContent = false
        } else if (!SPACES.has(byte)) hasContent = true
      }
    },
    end(): void {},
    rows: (): number => rows + (hasContent ? 1 : 0),
  }
}

function csvLines(separator: () => Separator) {
  let records = 0
  let hasContent = false
  let isQuoted = false
  /** A quote within quotes: what follows says whether it closes them. */
  let isQuoteHeld = false
  let cellBytes = 0
  let recordBytes = 0
  let [line, beginsOn] = [1, 1]
  let separates: number | undefined

  function append(byte: number): void {
    if (recordBytes + cellBytes > MAX_RECORD_BYTES) throw new UnclosedQuoteError(beginsOn)
    cellBytes += 1
    hasContent ||= !SPACES.has(byte)
  }

  /** A byte outside of quotes. */
  function lookOutside(byte: number): void {
    if (byte === QUOTE && cellBytes === 0) isQuoted = true
    else if (byte === LINE_END) {
      if (hasContent) records += 1
      hasContent = false
      cellBytes = 0
      recordBytes = 0
      beginsOn = line
    } else if (byte === separates) {
      recordBytes += cellBytes
      cellBytes = 0
    } else append(byte)
  }

  /** The byte after a quote within quotes. */
  function lookBehindQuote(byte: number): void {
    isQuoteHeld = false
    isQuoted = byte === QUOTE
    if (isQuoted) {
      append(byte)
      return
    }
    if (byte !== separates && byte !== LINE_END) {
      // The quotes were not meant as such: the cell has both of them.
      cellBytes += 1
      append(QUOTE)
    }
    lookOutside(byte)
  }

  return {
    look(chunk: Uint8Array): void {
      separates ??= separator().charCodeAt(0)
      for (const byte of chunk) {
        if (byte === LINE_END) line += 1
        if (isQuoteHeld) lookBehindQuote(byte)
        else if (!isQuoted) lookOutside(byte)
        else if (byte === QUOTE) isQuoteHeld = true
        else append(byte)
      }
    },
    end(): void {
      if (isQuoted && !isQuoteHeld) throw new UnclosedQuoteError(beginsOn)
    },
    /** Records with anything in them, without the header. */
    rows: (): number => Math.max(0, records + (hasContent ? 1 : 0) - 1),
  }
}
