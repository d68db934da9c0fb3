// The files that people name on the command line. A `-` is standard input for a command that reads JSON, as of a pipe from
// another program. Where rows are read or written it is refused, and not taken for a file of that name.
import { isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { buffer as readAll } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { ENCODINGS, encodingNamed } from '../files/csv-encoding.ts'
import { SEPARATORS } from '../files/csv-head.ts'
import { withoutByteOrderMark } from '../kernel/byte-order-mark.ts'
import { Refusal } from '../kernel/refusal.ts'
import { CliFailure, fileFailure, reasonOf, sentenceOfRefusal } from './failure.ts'
import { parser } from './values.ts'
import { option } from './verb.ts'

const STANDARD_INPUT = '-'

/** A path, read as the whole of it. */
export const filePath = parser('the path of a file, which standard input and output are not', (text) =>
  text === STANDARD_INPUT ? undefined : resolve(text),
)

/** A path, or `-`: for `readJson`. */
export const jsonPath = z.string().transform((text) => (text === STANDARD_INPUT ? text : resolve(text)))

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
export async function readJsonObject(path: string, stdin: Readable): Promise<Record<string, unknown>> {
  const read = z.record(z.string(), z.unknown()).safeParse(await readJson(path, stdin))
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

const WORKBOOK = /\.(xlsx?|xlsm|xlsb|ods|numbers)$/i
/** What to do with a file that spreadsheets keep for themselves. */
export const SAVE_AS_CSV = 'of a workbook, save the sheet as CSV'

/** A refusal of a CSV file, with the file that it is about; any other error as it is. */
export function ofFile(path: string, error: unknown): unknown {
  if (!(error instanceof Refusal)) return error
  const sentence = sentenceOfRefusal(error)
  const isWorkbook = WORKBOOK.test(path) && !sentence.includes('save the sheet as CSV')
  return new CliFailure(`${path}: ${sentence}${isWorkbook ? ` By its name it may be a workbook: ${SAVE_AS_CSV}.` : ''}`)
}

/** What a person may say of a CSV file. */
export const csvValues = {
  encoding: option(
    parser(`one of ${ENCODINGS.join(', ')}`, encodingNamed).optional(),
    'name',
    'encoding of the file, if it is not detected correctly: windows-1256, shift_jis or another that browsers support',
  ),
  separator: option(
    parser('one of , ; | or tab', (text) =>
      SEPARATORS.find((each) => each === (text === 'tab' ? '\t' : text)),
    ).optional(),
    'character',
    'what separates its cells, if it is not detected correctly: , ; | or tab',
  ),
}
