// The CSV files that people name on the command line.
import { createReadStream } from 'node:fs'
import { fileFailure } from './failure.ts'

/** The bytes of a file. Throws a CliFailure when it cannot be read. */
export async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw fileFailure(path, error)
  }
}
