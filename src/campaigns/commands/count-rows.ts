// Counts the rows of an upload while it streams past, so that its answer can say how many came, and refuses CSV in which
// a record does not end: nobody can tell where the next one begins. Only line ends, separators and quotes are looked
// at, as csv.ts reads them but many times faster: what the rows hold is for the preflight to judge.
import { EndlessRecordError, MAX_RAW_BYTES, MAX_RECORD_BYTES } from '../../files/csv.ts'
import type { Separator } from '../../files/csv-head.ts'
import type { RowFormat } from '../file-formats.ts'

const QUOTE = 0x22
const LINE_END = 0x0a
const UNCLOSED = 'opens a quote and never closes it'
const SPACES = new Set(Buffer.from(' \t\r\n'))

/**
 * `bytes` are those of the source, unchanged; they throw an EndlessRecordError. `rows` is right once they have been read to
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
  let rawBytes = 0
  let [line, beginsOn] = [1, 1]
  let separates: number | undefined

  function append(byte: number): void {
    if (recordBytes + cellBytes > MAX_RECORD_BYTES) throw new EndlessRecordError(beginsOn, UNCLOSED)
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
      rawBytes = 0
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
        rawBytes += 1
        if (rawBytes > MAX_RAW_BYTES) throw new EndlessRecordError(beginsOn, 'goes on for too long')
        if (isQuoteHeld) lookBehindQuote(byte)
        else if (!isQuoted) lookOutside(byte)
        else if (byte === QUOTE) isQuoteHeld = true
        else append(byte)
      }
    },
    end(): void {
      if (isQuoted && !isQuoteHeld) throw new EndlessRecordError(beginsOn, UNCLOSED)
    },
    /** Records with anything in them, without the header. */
    rows: (): number => Math.max(0, records + (hasContent ? 1 : 0) - 1),
  }
}
