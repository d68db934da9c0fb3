// The CSV files that people name on the command line, and what they may say of them.
import { createReadStream } from 'node:fs'
import { ENCODINGS } from '../files/csv-encoding.ts'
import { SEPARATORS } from '../files/csv-head.ts'
import { Refusal } from '../messages/accept/refusal.ts'
import { CliFailure, fileFailure, sentenceOfRefusal } from './failure.ts'
import { oneOf, parser } from './values.ts'

/** The bytes of a file; `onPiece` hears how many come. Throws a CliFailure when it cannot be read. */
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

/** The options of a command that reads a CSV file, and their values. */
export const csvOptions = {
  '--encoding <name>': `encoding of the file, unless it is found out right: ${ENCODINGS.join(', ')}`,
  '--separator <character>': 'what separates its cells, unless it is found out right: , ; | or tab',
}
export const csvValues = {
  encoding: oneOf(ENCODINGS).optional(),
  separator: parser('one of , ; | or tab', (text) =>
    SEPARATORS.find((each) => each === (text === 'tab' ? '\t' : text)),
  ).optional(),
}
