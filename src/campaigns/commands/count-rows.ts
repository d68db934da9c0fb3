// Counts the rows of an upload while it streams past, so that its answer can say how many came. Only line ends and quotes
// are looked at: what the rows hold is for the preflight to judge.
import type { RowFormat } from '../file-formats.ts'

const QUOTE = 0x22
const LINE_END = 0x0a
const SPACES = new Set(Buffer.from(' \t\r,;|'))

/** `bytes` are those of the source, unchanged; `rows` is right once they have been read to their end. */
export function countingRows(format: RowFormat, source: AsyncIterable<Uint8Array>) {
  const isCsv = format === 'csv'
  let lines = 0
  let isQuoted = false
  let hasContent = false

  function look(byte: number): void {
    if (isCsv && byte === QUOTE) isQuoted = !isQuoted
    if (byte === LINE_END && !isQuoted) {
      if (hasContent) lines += 1
      hasContent = false
    } else if (!SPACES.has(byte)) hasContent = true
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      for (const byte of chunk) look(byte)
      yield chunk
    }
  }

  return {
    bytes: bytes(),
    /** Lines with anything in them, without the header of a CSV file. */
    rows: (): number => Math.max(0, lines + (hasContent ? 1 : 0) - (isCsv ? 1 : 0)),
  }
}
