// Pins: how tables look on a terminal.
import { expect, test } from 'vitest'
import { table } from '../../src/cli/print.ts'

test('columns are two spaces apart, under their headings, with nothing behind the last', () => {
  expect(
    table(
      ['ID', 'NAME', 'RATE'],
      [
        ['1', 'shop', '80/s'],
        ['22', '', '5/s'],
      ],
    ),
  ).toBe(['ID  NAME  RATE', '1   shop  80/s', '22  -     5/s'].join('\n'))
})

test('wide characters count as two columns', () => {
  const lines = table(
    ['NAME', 'RATE'],
    [
      ['店舗', '80/s'],
      ['corner', '5/s'],
    ],
  ).split('\n')
  expect(lines).toEqual(['NAME    RATE', '店舗    80/s', 'corner  5/s'])
})

test('control characters are shown, not obeyed, and colour nothing', () => {
  expect(table(['NAME'], [['\u001b[31mred\nline']])).toBe('NAME\n\\u001b[31mred\\u000aline')
})
