// The files that people name on the command line. A `-` is standard input for a command that reads JSON, as of a pipe from
// another program. Where rows are read or written it is refused, and not taken for a file of that name.
import { isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer as readAll } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { withoutByteOrderMark } from '../kernel/byte-order-mark.ts'
import { CliFailure, fileFailure, reasonOf } from './failure.ts'

const STANDARD_INPUT = '-'

/** How a failure names the file. */
export const shownFile = (path: string): string => (path === STANDARD_INPUT ? 'standard input' : path)

/** The JSON of a file, or of `stdin`. Throws a CliFailure when it cannot be read or is none. */
export async function readJson(path: string, stdin: Readable): Promise<unknown> {
  const bytes = await (path === STANDARD_INPUT ? readAll(stdin) : readFile(path)).catch((error: unknown) => {
    throw fileFailure(path, error)
  })
  if (!isUtf8(bytes)) throw new CliFailure(`${shownFile(path)}: expected JSON in UTF-8, got another encoding.`)
  try {
    return JSON.parse(withoutByteOrderMark(bytes.toString('utf8')))
  } catch (error) {
    throw new CliFailure(`${shownFile(path)}: expected JSON, got something else (${reasonOf(error)}).`)
  }
}

/** The same, of a JSON object. */
export const readJsonObject = async (path: string, stdin: Readable): Promise<Record<string, unknown>> =>
  objectIn(await readJson(path, stdin), path)

/** What a file has, if it is an object; else a CliFailure. */
export function objectIn(content: unknown, path: string): Record<string, unknown> {
  const read = z.record(z.string(), z.unknown()).safeParse(content)
  if (read.success) return read.data
  throw new CliFailure(`${shownFile(path)}: expected a JSON object, got something else.`)
}

/** Writes lines into a file that only its owner can read: they hold numbers of people. */
export async function writePrivate(path: string, lines: AsyncIterable<string | Buffer> | Readable): Promise<void> {
  await pipeline(Readable.from(lines), createWriteStream(path, { mode: 0o600 })).catch((error: unknown) => {
    throw error instanceof Error && 'syscall' in error ? fileFailure(path, error) : error
  })
}

/** The bytes of a file; `onPiece` is called with the size of each piece. Throws a CliFailure when it cannot be read. */
export async function* bytesOf(path: string, onPiece: (bytes: number) => void = () => {}): AsyncGenerator<Buffer> {
  try {
    for await (const piece of createReadStream(path)) {
      onPiece(piece.length)
      yield piece
    }
  } catch (error) {
    throw fileFailure(path, error)
  }
}

/** What to do with a file that spreadsheets keep for themselves. */
export const SAVE_AS_CSV = 'of a workbook, save the sheet as CSV'
