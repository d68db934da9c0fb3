// The report of an import: the rows that were refused, each with its line and reason, as a CSV file that can be corrected
// and imported again.
import { once } from 'node:events'
import { createWriteStream, rmSync, type WriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { ContactCells } from '../contacts/commands/import-csv.ts'
import { csvLine } from '../files/csv.ts'
import { fileFailure } from './failure.ts'

/** Removes what an earlier import left at `path`; a file is made only with the first refused row. */
export function openReport(path: string) {
  const refuse = (error: unknown): never => {
    throw fileFailure(path, error)
  }
  try {
    rmSync(path, { force: true })
  } catch (error) {
    refuse(error)
  }
  let file: WriteStream | undefined
  let fault: unknown

  function open(): WriteStream {
    // Names and numbers of people: for nobody's eyes but the importer's.
    const stream = createWriteStream(path, { mode: 0o600 })
    stream.on('error', (error) => {
      fault = error
    })
    stream.write(csvLine(['line', 'reason', 'name', 'phone', 'email']))
    return stream
  }

  return {
    /** Waits while the disk is slower than the import. */
    async add(line: number, reason: string, { name, phone, email }: ContactCells): Promise<void> {
      if (fault !== undefined) refuse(fault)
      file ??= open()
      if (!file.write(csvLine([String(line), reason, name, phone, email]))) await once(file, 'drain').catch(refuse)
    },

    /** Resolves once the report is written, with its path, or undefined when no row was refused. */
    async close(): Promise<string | undefined> {
      if (file === undefined) return undefined
      file.end()
      await finished(file).catch(refuse)
      return path
    },
  }
}
