// Pins which values of a file somebody is asked about: text in the wrong encoding and codes of web pages, and no name that
// people have.
import { expect, test } from 'vitest'
import { encodingNamed } from '../../src/files/csv-encoding.ts'
import { cellFault, columnName } from '../../src/files/csv-head.ts'
import { createDoubts, doubtOf, readTwice } from '../../src/files/doubtful-text.ts'
import { isVisible } from '../../src/kernel/visible.ts'

/** Text in one encoding, read as Windows-1252. */
const misread = (bytes: readonly number[]) => new TextDecoder('windows-1252').decode(Uint8Array.from(bytes))

test.each([
  ['JosÃ©', 'twice'],
  ['MÃ¼ller', 'twice'],
  ['donâ€™t', 'twice'],
  ['Ð˜Ð²Ð°Ð½', 'twice'],
  // Arabic, Cyrillic and Greek in the code pages of Windows.
  [misread([0xe3, 0xcd, 0xe3, 0xcf]), 'high'],
  [misread([0xc8, 0xe2, 0xe0, 0xed]), 'high'],
  [misread([0xc8, 0xe2, 0xe0, 0xed, 0x20, 0xcf, 0xe5, 0xf2, 0xf0, 0xee, 0xe2]), 'high'],
  [misread([0xc3, 0xe9, 0xfe, 0xf1, 0xe3, 0xef, 0xf2]), 'high'],
  ['Fish &amp; Chips', 'entities'],
  ['O&#39;Neill', 'entities'],
  ['caf&eacute;', 'entities'],
])('%j is doubtful: %s', (text, doubt) => {
  expect(doubtOf(text)).toBe(doubt)
})

test.each([
  ...['Ada', '', '5 €', 'José', 'Müller', 'Zoë', 'Øå', 'Åse', 'Éé', '– – –', '«été»', 'NÃO', 'AMANHÃ', 'ÇA', 'Ñandú'],
  ...[
    'Иван',
    'محمد',
    'Γιάννης',
    '山田',
    '김',
    'Łódź',
    'ﬁne',
    '🎉🎉🎉',
    '12:30',
    '£££',
    '½ ¼ ¾',
    'AT&T',
    'a & b; c',
    'Tom &co;',
  ],
  ...['https://shop.example/?a=1&b=2', 'Ğüş', 'Œuvre', 'Šéf'],
])('%j is not doubtful', (text) => {
  expect(doubtOf(text)).toBeUndefined()
})

test('text decoded twice is recovered', () => {
  expect(readTwice('JosÃ©')).toBe('José')
  expect(readTwice('José')).toBeUndefined()
  expect(readTwice('Иван')).toBeUndefined()
})

test('the doubts of a file make one sentence for each kind with the place of the first', () => {
  const doubts = createDoubts()
  const values = ['Ada', 'JosÃ©', 'MÃ¼ller', 'Fish &amp; Chips']
  for (const [i, value] of values.entries()) doubts.add(value, `line ${i + 2}`)
  expect(doubts.sentences()).toEqual([
    'in 2 values (the first: line 3) UTF-8 was read in another encoding before (as in JosÃ©); save the file anew from its source',
    'in 1 value (line 5) there are codes of web pages (as in &amp;), which are sent as they are; take them out in the file',
  ])
})

test.each([
  ['Ada_x000D_', 'a line break or tab that a spreadsheet wrote as _x000D_; take it out there'],
  ['one_x000a_two', 'a line break or tab that a spreadsheet wrote as _x000a_; take it out there'],
  ['one\u2028two', 'a control character'],
])('%j in a cell: %s', (text, fault) => {
  expect(cellFault(text)).toBe(fault)
})

test.each(['Ada', '0', '.', '🎉', 'ﬁ', '한', '\u00a0x', 'e\u0301', '\u202aAda\u202c'])('%j is visible', (text) => {
  expect(isVisible(text)).toBe(true)
})

test.each([
  '',
  ' ',
  '\u00a0',
  '\u200b',
  '\u3164',
  '\u2800',
  '\u2028',
  '\u200d\ufe0f',
  '\u115f\u1160',
  '\u0301',
  '\ufeff',
])('%j is invisible', (text) => {
  expect(isVisible(text)).toBe(false)
})

test('column names are compared composed and without invisible characters', () => {
  expect(columnName('pre\u0301nom')).toBe(columnName('prénom'))
  expect(columnName(' \u200bphone\ufeff ')).toBe('phone')
  expect(columnName('Phone')).not.toBe('phone')
})

test.each([
  ['windows-1256', 'windows-1256'],
  ['Windows-1256', 'windows-1256'],
  ['cp1256', 'windows-1256'],
  ['CP-1250', 'windows-1250'],
  ['latin2', 'iso-8859-2'],
  ['Shift_JIS', 'shift_jis'],
  ['sjis', 'shift_jis'],
  ['gb2312', 'gbk'],
  ['UTF8', 'utf-8'],
  ['utf-16', 'utf-16le'],
  ['ascii', 'windows-1252'],
  ['klingon', undefined],
  ['', undefined],
  ['x-user-defined', undefined],
])('the encoding %j is %s', (name, encoding) => {
  expect(encodingNamed(name)).toBe(encoding)
})
