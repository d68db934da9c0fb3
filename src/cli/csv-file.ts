// The CSV files that people name on the command line, and what they may say of them.
import { createReadStream } from 'node:fs'
import { ENCODINGS } from '../files/csv-encoding.ts'
import { SEPARATORS } from '../files/csv-head.ts'
import { fileFailure } from './failure.ts'
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
