import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { bytesOf } from '../../src/cli/files.ts'
import { type CsvRecord, csvLine, csvRecords } from '../../src/files/csv.ts'
import { textRecords } from '../../src/files/csv-head.ts'
import { normalCsv } from '../../src/files/normal-csv.ts'

const folder = mkdtempSync(join(tmpdir(), 'laneway-csv-'))
const file = join(folder, 'x.csv')
afterAll(() => rmSync(folder, { recursive: true }))

const recordsOf = (path: string) => csvRecords(bytesOf(path), () => ',')

function normalRecords() {
  const { bytes, separator } = normalCsv(bytesOf(file))
  return csvRecords(bytes, separator)
}

async function read(content: string | Buffer, opened = () => recordsOf(file)): Promise<CsvRecord[]> {
  writeFileSync(file, content)
  const records: CsvRecord[] = []
  for await (const record of opened()) records.push(record)
  return records
}

describe('records', () => {
  test('come with the line they begin on, whatever ends the lines and however many are empty', async () => {
    const records = await read('\uFEFFphone,name\r\n1,"a\r\nb"\r\n\r\n\n2,c\n\n3,"d ""e"""', normalRecords)
    expect(records.map(({ line, cells }) => [line, ...cells])).toEqual([
      [1, 'phone', 'name'],
      [2, '1', 'a\nb'],
      [6, '2', 'c'],
      [8, '3', 'd "e"'],
    ])
  })

  test('may have a quote in the middle of a cell', async () => {
    expect((await read('1,5" pipe,x\n')).map(({ cells }) => cells)).toEqual([['1', '5" pipe', 'x']])
  })

  test('of a UTF-16 file, as spreadsheets write it, are read too', async () => {
    expect((await read(Buffer.from('\uFEFF1,é\n', 'utf16le'), normalRecords))[0]?.cells).toEqual(['1', 'é'])
  })

  test('of an empty file do not exist', async () => {
    expect(await read('')).toEqual([])
  })

  test('written by csvLine are read back unchanged, with their lines and bytes', async () => {
    const start = fc.constantFrom('', "'", "''", '=', '+', '-', '@', '\t', "'=", "''+", '\uFF1D')
    const cell = fc
      .tuple(start, fc.string({ unit: 'binary' }))
      .map((parts) => parts.join(''))
      .filter((text) => !/[\r\uFEFF]|[\uD800-\uDFFF](?![\uDC00-\uDFFF])|^".*"\s+$/s.test(text))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { maxLength: 20 }), async (rows) => {
        let line = 1
        let bytes = 0
        const expected = rows.map((cells) => {
          const text = csvLine(cells)
          bytes += Buffer.byteLength(text)
          const record = { line, cells, bytes }
          line += text.split('\n').length - 1
          return record
        })
        expect(await read(rows.map(csvLine).join(''))).toEqual(expected)
      }),
    )
  })
})

describe('a quoted cell with spaces around its quotes', () => {
  test.each([
    [' "Ada"', 'Ada'],
    ['   "Lovelace, Ada"', 'Lovelace, Ada'],
    ['\u00a0"Ada"', 'Ada'],
    ['"Ada" ', 'Ada'],
    [' "Lovelace, ""Ada"" K." ', 'Lovelace, "Ada" K.'],
    [' "best" shop', '"best" shop'],
    [' 5" pipe', '5" pipe'],
  ])('%j is read as %j, and so is its place', async (written, cell) => {
    const records = await read(`1,${written},x\n2,b,y\n`)
    expect(records.map(({ line, cells }) => [line, ...cells])).toEqual([
      [1, '1', cell, 'x'],
      [2, '2', 'b', 'y'],
    ])
    // What people are shown of a file stands in the same places.
    const [shown = []] = textRecords(`1,${written},x\n`, 1, true)
    const plain = (each: string) => each.trim().replaceAll('"', '')
    expect(shown.map(plain)).toEqual(['1', plain(cell), 'x'])
  })
})

describe('a cell that a spreadsheet would take for a formula', () => {
  test.each(['=1+1', '+A1', '-A1', '@SUM(A1)', '\t=1', '\uFF1D1', "'=1", '=HYPERLINK("https://x.example")'])(
    'is written as text: %j',
    (cell) => {
      expect(csvLine([cell])).toMatch(/^"?'/)
    },
  )

  test('is none of these, which are written unchanged', () => {
    const cells = ['+4915112345678', '+49 (151) 123-456.78', "O'Neill", "'s", 'a=b', '']
    expect(csvLine(cells)).toBe(`${cells.join(',')}\n`)
  })

  test('loses the apostrophe that marks it as text when it is read, and no other cell does', async () => {
    expect((await read("'+4915112345678,'s,''=1\n"))[0]?.cells).toEqual(['+4915112345678', "'s", "'=1"])
  })
})

describe('a quote that is never closed', () => {
  const records = async () => {
    const seen: string[][] = []
    const done = (async () => {
      for await (const record of recordsOf(file)) seen.push(record.cells)
    })()
    await expect(done).rejects.toThrow('the record that begins on line 3 opens a quote and never closes it')
    return seen
  }

  test('is reported with its line, after the records before it', async () => {
    writeFileSync(file, 'phone,name\n1,a\n2,"open\n3,c\n')
    expect(await records()).toEqual([
      ['phone', 'name'],
      ['1', 'a'],
    ])
  })

  test('counts as such when its end is a megabyte away, so that memory stays flat', async () => {
    writeFileSync(file, `phone,name\n1,a\n2,"open\n${'3,c\n'.repeat(250_000)}"\n`)
    expect(await records()).toHaveLength(2)
  })
})

describe('a record of nothing but separators', () => {
  const separators = (count: number) => `phone\n\n1\n${','.repeat(count)}\n2\n`

  test('is read as long as its cells need little memory', async () => {
    expect((await read(separators(100_000))).map(({ cells }) => cells.length)).toEqual([1, 1, 100_001, 1])
  })

  test('is refused with its line when it is too long', async () => {
    await expect(read(separators(3_000_000))).rejects.toThrow('the record that begins on line 4 goes on for too long')
  })

  test('does not merge a row after many empty lines with them', async () => {
    expect((await read(`phone\n${'\n'.repeat(1_000_000)}1\n`)).map(({ line }) => line)).toEqual([1, 1_000_002])
  })
})

test.each([
  ['is not there', join(folder, 'nowhere.csv'), 'there is no such file or folder'],
  ['is a folder', folder, 'it is a folder'],
])('a file that %s is reported as such', async (_, path, reason) => {
  await expect(recordsOf(path).next()).rejects.toThrow(`The file ${path} cannot be used: ${reason}.`)
})
