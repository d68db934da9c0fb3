import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countingRows } from '../../src/campaigns/commands/row-count.ts'
import { csvRecords } from '../../src/files/csv.ts'
import type { Separator } from '../../src/files/csv-head.ts'

/** The count of a text that arrives in pieces of so many bytes, and the bytes that passed. */
async function count(format: 'csv' | 'ndjson', text: string, pieceBytes: number, separator: Separator = ',') {
  async function* pieces() {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const counted = countingRows(format, pieces(), () => separator)
  const passed: Uint8Array[] = []
  for await (const piece of counted.bytes) passed.push(piece)
  return { rows: counted.rows(), text: Buffer.concat(passed).toString() }
}

test.each([
  ['csv', '', 0],
  ['csv', 'phone,name\n', 0],
  ['csv', 'phone,name\n491,Ann\n492,Bob\n', 2],
  ['csv', 'phone,name\r\n491,Ann\r\n492,Bob', 2],
  ['csv', 'phone,name\n491,"Ann\nMarie"\n492,"says ""hi"""\n', 2],
  ['csv', 'phone,name\n491,Ann\n,,\n \n\n', 1],
  ['ndjson', '', 0],
  ['ndjson', '{"phone":"491"}\n\n{"phone":"492"}', 2],
  ['ndjson', '{"phone":"491","name":"a \\" b"}\n{"phone":"492"}\n', 2],
] as const)('%s %j has this many rows: %i', async (format, text, rows) => {
  for (const pieceBytes of [1, 3, 1_000]) expect(await count(format, text, pieceBytes)).toEqual({ rows, text })
})

test.each([
  ['phone,name\n491,5" pipe\n492,Bob\n', 2],
  ['phone,name\n491,"a" b\n492,"c"\n', 2],
  ['phone,name\n491,","\n"",""\n" "\n', 1],
  // Quotes in a quoted cell: as the parser leaves them they are those around a cell with a space behind it.
  ['phone\n""""" "', 0],
  ['phone\n""""" ",a\n""""" " \n"""""" \n', 3],
  // The mark of a text, before a tab.
  ["phone\n'\t\n'a\n''\t\n", 2],
  ['phone\n"\u00a0\f"\n"\u3000" \n"\u3042"\n', 1],
])('%j has this many rows: %i', async (text, rows) => {
  for (const pieceBytes of [1, 3, 1_000]) expect(await count('csv', text, pieceBytes)).toEqual({ rows, text })
})

test.each([
  ['phone,name\n491,Ann\n\n492,"Bob\n493,Cyd\n', 4],
  [`phone,name\n491,Ann\n492,"Bob\n${'493,Cyd\n'.repeat(10_000)}"\n`, 3],
])('a quote that is never closed is reported with the line of its record', async (text, line) => {
  const sentence = `the record that begins on line ${line} opens a quote and never closes it`
  for (const pieceBytes of [1, 3, 1_000]) await expect(count('csv', text, pieceBytes)).rejects.toThrow(sentence)
})

test('rows and open quotes are those found by reading the file', async () => {
  const text = fc.string({
    unit: fc.constantFrom('"', '"', ',', ';', '\n', 'a', ' ', '\t', '\u00a0', "'"),
    maxLength: 40,
  })
  await fc.assert(
    fc.asyncProperty(text, fc.constantFrom<Separator>(',', ';'), fc.integer({ min: 1, max: 5 }), async (...given) => {
      const [written, separator, pieceBytes] = given
      const whole = `phone\n${written}`
      const outcome = (work: Promise<number>) => work.catch((error: Error) => error.message)
      const read = async () => {
        async function* bytes() {
          yield Buffer.from(whole)
        }
        let rows = -1
        for await (const { cells } of csvRecords(bytes(), () => separator)) {
          if (cells.some((cell) => cell.trim() !== '')) rows += 1
        }
        return rows
      }
      const counted = async () => (await count('csv', whole, pieceBytes, separator)).rows
      expect(await outcome(counted())).toBe(await outcome(read()))
    }),
    {
      numRuns: 3_000,
      examples: [
        ['""""" "', ',', 1],
        ["'\t", ',', 1],
      ],
    },
  )
})
