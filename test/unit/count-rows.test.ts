import { expect, test } from 'vitest'
import { countingRows } from '../../src/campaigns/commands/count-rows.ts'

/** The count of a text that arrives in pieces of so many bytes, and the bytes that passed. */
async function count(format: 'csv' | 'ndjson', text: string, pieceBytes: number) {
  async function* pieces() {
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
  const counted = countingRows(format, pieces())
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
] as const)('%s %j has so many rows: %i', async (format, text, rows) => {
  for (const pieceBytes of [1, 3, 1_000]) expect(await count(format, text, pieceBytes)).toEqual({ rows, text })
})
