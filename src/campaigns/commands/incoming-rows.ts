// An upload of rows: CSV as normal-csv.ts normalises it, and the number of rows.

import type { CsvOptions, ReadAs } from '../../files/csv-head.ts'
import { normalCsv } from '../../files/normal-csv.ts'
import type { RowFormat } from '../../model/campaigns/file-formats.ts'
import type { RowsUpload } from '../../recipients/files.ts'
import { countingRows } from './row-count.ts'

/** `upload` is what uploadRecipients takes; the figures are right once it has. */
export function incomingRows(
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  said: CsvOptions,
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
