// Rows of a campaign on their way in: CSV as normal-csv.ts makes it, and how many they are.
import type { CsvSaid, ReadAs } from '../../files/csv-head.ts'
import { normalCsv } from '../../files/normal-csv.ts'
import type { RowFormat } from '../file-formats.ts'
import type { RowsUpload } from '../store/files.ts'
import { countingRows } from './count-rows.ts'

/** `upload` is what uploadRecipients takes; the figures are right once it has. */
export function incomingRows(
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  said: CsvSaid,
): { upload: RowsUpload; figures: () => { rows: number; read_as?: ReadAs } } {
  if (format === 'ndjson') {
    const { bytes, rows } = countingRows(format, source)
    return { upload: { format, bytes }, figures: () => ({ rows: rows() }) }
  }
  const csv = normalCsv(source, said)
  const { bytes, rows } = countingRows(format, csv.bytes, csv.separator)
  return {
    upload: { format, bytes, separator: csv.separator },
    figures: () => ({ rows: rows(), read_as: csv.readAs() }),
  }
}
