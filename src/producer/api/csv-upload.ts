// A CSV file in the body of a request, read as it arrives.
import type { IncomingMessage } from 'node:http'
import type { CsvOptions, ReadAs } from '../../files/csv-head.ts'
import { type NormalCsv, normalCsv } from '../../files/normal-csv.ts'
import { counted } from '../../messages/fault.ts'
import { ApiError } from '../errors.ts'
import { flowingWhile } from '../overload/slow-uploads.ts'
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
 * Hands the file to `work`, and adds how the file was read to the result. Throws an ApiError for another type (415), a
 * body that is too large (413) or that ended too early (400), and what `assertStillAllowed` throws once the key is no longer good.
 * The rest of the body is then read and dropped, so that the client gets to read the answer.
 */
export async function readCsv<T>(
  { incoming, assertStillAllowed }: { incoming: IncomingMessage; assertStillAllowed: () => Promise<unknown> },
  said: CsvOptions,
  work: (csv: NormalCsv) => Promise<T>,
): Promise<T & { read_as: ReadAs }> {
  const csv = normalCsv(upTo(IMPORT_MAX_BYTES, flowingWhile(assertStillAllowed, incoming)), said)
  try {
    refuseOtherTypes(incoming.headers)
    // An announced size is checked before anything is read.
    if (Number(incoming.headers['content-length'] ?? 0) > IMPORT_MAX_BYTES) throw tooLarge()
    return { ...(await work(csv)), read_as: csv.readAs() }
  } catch (error) {
    incoming.resume()
    if (incoming.destroyed && !incoming.complete) {
      throw new ApiError(400, 'invalid_body', 'The body ended before its announced length.')
    }
    throw error
  } finally {
    // Otherwise the watch on an unfinished body would never end.
    await csv.bytes.return(undefined)
  }
}

function refuseOtherTypes(headers: IncomingMessage['headers']): void {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  if (type === 'text/csv' && (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity') return
  throw new ApiError(415, 'unsupported_media_type', 'Send the rows as Content-Type: text/csv, not compressed.')
}

async function* upTo(limit: number, pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > limit) throw tooLarge()
    yield piece
  }
}

const tooLarge = (): ApiError =>
  new ApiError(413, 'too_large', `The file is too large: at most ${counted(IMPORT_MAX_BYTES, 'byte')}.`)
