// A CSV file on its way in: whatever program wrote it becomes UTF-8 whose lines end in a line feed, once, so that nobody
// who reads it later need know. Its lines stay as many as they were: a first line that only names the separator is left
// empty. The separator stays too, as cells are only taken apart by csv.ts.
import { createTextReader } from './csv-encoding.ts'
import { type CsvHead, type CsvOptions, csvHead, type ReadAs, type Separator } from './csv-head.ts'

/** A header is a few names; one that grows past this has an open quote somewhere, and memory must stay flat. */
const HEAD_CHARACTERS = 64 * 1024

export type NormalCsv = ReturnType<typeof normalCsv>

/** `bytes` throws an UnreadableCsvError, and whatever reading the source throws. */
export function normalCsv(source: AsyncIterable<Uint8Array>, said: CsvOptions = {}) {
  const reader = createTextReader(said.encoding)
  let head: CsvHead | undefined

  async function* bytes(): AsyncGenerator<Buffer> {
    let text = ''
    let mayEnd = false
    let tried = 0
    for await (const next of withLineFeeds(source, reader)) {
      text += next
      if (head === undefined) {
        mayEnd ||= next.includes('\n')
        const isTooLong = text.length > HEAD_CHARACTERS
        // Not after each of many small pieces.
        if (!isTooLong && (!mayEnd || text.length < 2 * tried)) continue
        tried = text.length
        head = csvHead(text, isTooLong, said.separator)
        if (head === undefined) continue
        text = text.slice(head.named)
      }
      yield Buffer.from(text)
      text = ''
    }
    if (head !== undefined) return
    head = csvHead(text, true, said.separator)
    yield Buffer.from(text.slice(head?.named))
  }

  return {
    bytes: bytes(),
    /** Right once the first of the bytes have come. */
    separator: (): Separator => head?.separator ?? ',',
    /** Right once the bytes have been read to their end. */
    readAs: (): ReadAs => ({
      encoding: reader.encoding(),
      separator: head?.separator ?? ',',
      columns: head?.columns ?? [],
    }),
  }
}

async function* withLineFeeds(
  source: AsyncIterable<Uint8Array>,
  reader: ReturnType<typeof createTextReader>,
): AsyncGenerator<string> {
  // A line feed may follow it.
  let held = ''
  for await (const piece of source) {
    const text = held + reader.read(piece)
    held = text.endsWith('\r') ? '\r' : ''
    yield (held === '' ? text : text.slice(0, -1)).replace(/\r\n?/g, '\n')
  }
  yield (held + reader.read()).replace(/\r\n?/g, '\n')
}
