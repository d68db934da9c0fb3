// Files in the body of a request, read as they arrive: a CSV file, or the rows of a campaign.
import type { CsvOptions, ReadAs } from '../../files/csv-head.ts'
import { type NormalCsv, normalCsv } from '../../files/normal-csv.ts'
import { ApiError, fileTooLarge } from '../errors.ts'
import { flowingWhile } from '../overload/slow-uploads.ts'
import type { StreamedBody } from '../route.ts'
import { IMPORT_MAX_BYTES, REFUSED_SHOWN } from './fields.ts'

/** Collects the refused rows that the answer names. */
export function collectRefused() {
  const rows: { line: number; reason: string }[] = []
  return {
    rows,
    async add(line: number, reason: string): Promise<void> {
      if (rows.length < REFUSED_SHOWN) rows.push({ line, reason })
    },
  }
}

/**
 * Passes the file to `work`, and adds how the file was read to the result. Throws an ApiError for another type (415), a
 * body that is too large (413) or that ended too early (400), and what `assertStillAllowed` throws once the key is revoked.
 */
export async function readCsv<T>(
  { incoming, assertStillAllowed }: { incoming: StreamedBody; assertStillAllowed: () => Promise<unknown> },
  options: CsvOptions,
  work: (csv: NormalCsv) => Promise<T>,
): Promise<T & { read_as: ReadAs }> {
  const csv = normalCsv(upTo(IMPORT_MAX_BYTES, flowingWhile(assertStillAllowed, incoming)), options)
  return untilEnd(incoming, async () => {
    if (plainTypeOf(incoming) !== 'text/csv') {
      throw new ApiError(415, 'unsupported_media_type', 'Send the rows as Content-Type: text/csv, not compressed.')
    }
    assertAnnounced(incoming)
    return { ...(await work(csv)), read_as: csv.readAs() }
    // Otherwise the watch on an unfinished body would not end.
  }).finally(() => csv.bytes.return(undefined))
}

/** Throws an ApiError, before anything is read, when more is announced than a file may have. */
export function assertAnnounced({ headers }: StreamedBody): void {
  if (Number(headers['content-length'] ?? 0) > IMPORT_MAX_BYTES) throw fileTooLarge(IMPORT_MAX_BYTES)
}

/** The media type of a body that is not compressed. */
export function plainTypeOf({ headers }: StreamedBody): string | undefined {
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') return undefined
  return headers['content-type']?.split(';')[0]?.trim().toLowerCase()
}

/**
 * Does the work that reads the body. After a failure the rest of the body is read and dropped, so that the client gets to
 * read the answer; 400 if the body ended too early.
 */
export async function untilEnd<T>(incoming: StreamedBody, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    incoming.resume()
    if (incoming.destroyed && !incoming.complete) {
      throw new ApiError(400, 'invalid_body', 'The body ended before its announced length.')
    }
    throw error
  }
}

async function* upTo(limit: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > limit) throw fileTooLarge(limit)
    yield piece
  }
}
