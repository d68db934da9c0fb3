// The CSV files that people name on the command line.
import { createReadStream } from 'node:fs'
import { type CsvRecord, csvRecords, UnclosedQuoteError } from '../files/csv.ts'
import { CliFailure, fileFailure } from './failure.ts'

/**
 * The records of a file, the header among them; empty lines are left out. Throws a CliFailure when the file cannot be
 * read, and when a quote is opened and never closed, after all records before it.
 */
export async function* readCsv(path: string): AsyncGenerator<CsvRecord> {
  try {
    yield* csvRecords(bytesOf(path))
  } catch (error) {
    if (!(error instanceof UnclosedQuoteError)) throw error
    throw new CliFailure(
      `<file>: ${error.message}; fix it and run the command again; rows that were imported are not imported twice.`,
    )
  }
}

async function* bytesOf(path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path)
  } catch (error) {
    throw fileFailure(path, error)
  }
}
