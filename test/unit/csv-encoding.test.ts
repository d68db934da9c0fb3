// Pins: the text of a file is the same however its bytes come in pieces, and an encoding is never taken for another that
// a later byte could prove.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTextReader, type Encoding } from '../../src/files/csv-encoding.ts'
import { csvHead, quotedColumns } from '../../src/files/csv-head.ts'
import { normalCsv } from '../../src/files/normal-csv.ts'
import { windows1252 } from '../support/spreadsheet-exports.ts'

function piecesOf(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, i) =>
    bytes.subarray(i * length, (i + 1) * length),
  )
}

function read(bytes: Buffer, pieceLength = 1_000, said?: Encoding) {
  const reader = createTextReader(said)
  const text = piecesOf(bytes, pieceLength).map((piece) => reader.read(piece))
  return { text: [...text, reader.read()].join(''), encoding: reader.encoding() }
}

async function* comingIn(bytes: Buffer, pieceLength: number) {
  yield* piecesOf(bytes, pieceLength)
}

async function normal(bytes: Buffer, pieceLength = 1_000) {
  const csv = normalCsv(comingIn(bytes, pieceLength))
  const written: Buffer[] = []
  for await (const piece of csv.bytes) written.push(piece)
  return { text: Buffer.concat(written).toString(), readAs: csv.readAs() }
}

test('any text in UTF-8 or marked UTF-16 is read back unchanged, in pieces of any length', () => {
  const text = fc.string({ unit: 'grapheme' }).filter((each) => !each.startsWith('\uFEFF'))
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 7 }), (written, length) => {
      const marked = `\uFEFF${written}`
      expect(read(Buffer.from(written), length)).toEqual({ text: written, encoding: 'utf-8' })
      expect(read(Buffer.from(marked), length).text).toBe(written)
      const utf16 = Buffer.from(marked, 'utf16le')
      expect(read(utf16, length)).toEqual({ text: written, encoding: 'utf-16le' })
      expect(read(utf16.swap16(), length)).toEqual({ text: written, encoding: 'utf-16be' })
    }),
  )
})

test('Windows-1252 is read with its quotation marks, dashes and the euro sign, in pieces of any length', () => {
  const text = 'name\n“Zoë” – 5 €\nO’Neill…\n'
  for (const length of [1, 2, 3, 1_000]) {
    expect(read(windows1252(text), length)).toEqual({ text, encoding: 'windows-1252' })
  }
})

test('every byte of Windows-1252 has its character, on every Node', () => {
  const bytes = Buffer.from(Array.from({ length: 0x80 }, (_, i) => 0x80 + i))
  const table = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
  const latin = String.fromCharCode(...Array.from({ length: 0x60 }, (_, i) => 0xa0 + i))
  expect(read(bytes, 1_000, 'windows-1252').text).toBe(table + latin)
})

describe('a byte that does not fit the encoding of the bytes before it is refused', () => {
  test.each<[string, Buffer, string]>([
    [
      'after UTF-8',
      Buffer.concat([Buffer.from('a\r\né\r\nbc'), windows1252('ë\n')]),
      'line 3, character 3 is not UTF-8',
    ],
    [
      'after Windows-1252',
      Buffer.concat([windows1252('é\r'), Buffer.from('ë\r')]),
      'line 2, character 1 is UTF-8, but',
    ],
    [
      'after a mark',
      windows1252('\u00EF\u00BB\u00BFab\né'),
      'line 2, character 1 is not UTF-8, but the file is said to be',
    ],
    ['at the end of the file', Buffer.concat([Buffer.from('é\n'), Buffer.from([0xe2, 0x82])]), 'line 2, character 1'],
  ])('%s, with its place', (_what, bytes, place) => {
    for (const length of [1, 2, 1_000]) expect(() => read(bytes, length)).toThrow(place)
  })

  test('after the text before it, so that the rows there can be used', async () => {
    const bytes = Buffer.concat([Buffer.from('phone,name\n1,é\n2,'), windows1252('ë\n3,a\n')])
    for (const length of [1, 2, 1_000]) {
      const { bytes: written } = normalCsv(comingIn(bytes, length))
      let text = ''
      await expect(
        (async () => {
          for await (const piece of written) text += piece.toString()
        })(),
      ).rejects.toThrow('line 3, character 3')
      expect(text).toBe('phone,name\n1,é\n2,')
    }
  })

  test.each<[string, number[]]>([
    ['too long for its character', [0xc0, 0xaf]],
    ['too long in three bytes', [0xe0, 0x80, 0xaf]],
    ['half of a pair', [0xed, 0xa0, 0x80]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['too long in four bytes', [0xf0, 0x80, 0x80, 0xaf]],
    ['a byte that begins nothing', [0xff, 0x41]],
  ])('and a sequence that is %s is not UTF-8', (_what, sequence) => {
    expect(() => read(Buffer.from([0xc3, 0xa9, 0x0a, ...sequence, 0x0a]))).toThrow('line 2, character 1 is not UTF-8')
  })
})

test('all line ends become line feeds, and lines stay as many as before', async () => {
  const text = 'sep=;\r\na;b\r\n"1\r\n2";3\r4;5\n\r\n6;7'
  for (const length of [1, 2, 3, 1_000]) {
    expect(await normal(Buffer.from(text), length)).toEqual({
      text: '\na;b\n"1\n2";3\n4;5\n\n6;7',
      readAs: { encoding: 'utf-8', separator: ';', columns: ['a', 'b'] },
    })
  }
})

test('a header that never ends is read only to its limit, and the text stays whole', async () => {
  const { readAs, text } = await normal(Buffer.from(`"${'x;\n'.repeat(100_000)}`), 5_000)
  expect(text).toHaveLength(300_001)
  expect(readAs.columns.join('').length).toBeLessThan(80_000)
})

describe('the separator of cells', () => {
  test.each<[string, string]>([
    ['phone;name\n1;"a,b"\n', ';'],
    ['"name, first";phone\n', ';'],
    ['phone,"a;b;c"\n', ','],
    ['phone\tname, first\tcity\n', '\t'],
    ['phone\n1,2\n', ','],
    ['\n\nphone;name\n', ';'],
    ['SEP=|\nphone|name\n', '|'],
    ['sep=;;;\nphone;name,x,y\n', ';'],
    ['sep=\t\na\tb\n', '\t'],
    ['separator;sep=x\n', ';'],
    ['5" pipe;phone\n', ';'],
    ['"a;""b"";",phone\n', ','],
    ['', ','],
  ])('of %j is detected: %j', (text, separator) => {
    expect(csvHead(text, true)?.separator).toBe(separator)
  })

  test('is unknown before the header is complete', () => {
    expect(csvHead('phone;"na', false)).toBeUndefined()
    expect(csvHead('a;"b\nc";d', false)).toBeUndefined()
    expect(csvHead('a;"b\nc";d\n', false)?.columns).toEqual(['a', 'b\nc', 'd'])
  })
})

test('the list of columns in an error is limited', () => {
  expect(quotedColumns([])).toBe('none')
  expect(quotedColumns(Array.from({ length: 25 }, (_, i) => ` c${i}`))).toMatch(/^"c0", .*"c19" and 5 more$/)
  expect(quotedColumns(['x'.repeat(100)])).toHaveLength(82)
})
