// What is said of a CSV file that was imported: figures, how it was read, and the rows that were refused.
import { z } from 'zod'
import { readAsSentence } from '../files/csv-head.ts'
import { importedFields } from '../producer/api/fields.ts'
import { keyValueTable } from './print.ts'

/** Of the refused rows so many on a terminal. */
const REFUSED_SHOWN = 10

const imported = z.looseObject({
  imported: z.number(),
  warnings: z.array(z.string()).default([]),
  ...importedFields,
  refused_rows: z.array(z.looseObject({ line: z.number(), reason: z.string() })),
})

/** The text of the answer of an import; `figures` are those that it has besides, by their names, and `about` what it went into. */
export const importText =
  <S extends z.ZodType>(
    schema: S,
    figures: (data: z.output<S>) => readonly (readonly [string, string])[],
    about: (data: z.output<S>) => readonly (readonly [string, string])[] = () => [],
  ) =>
  (data: unknown): string => {
    const { imported: rows, refused, read_as: readAs, refused_rows: refusedRows, warnings } = imported.parse(data)
    const shown = refusedRows.slice(0, REFUSED_SHOWN).map(({ line, reason }) => `Line ${line}: ${reason}`)
    const more = refused > shown.length && shown.length > 0 ? [`… and ${refused - shown.length} more.`] : []
    return [
      keyValueTable([
        ...about(schema.parse(data)),
        ['Rows imported', String(rows)],
        ...figures(schema.parse(data)),
        ['Rows refused', String(refused)],
      ]),
      readAsSentence(readAs),
      ...shown,
      ...more,
      ...warnings.map((warning) => `Warning: ${warning}.`),
    ].join('\n')
  }
