// Pins: filters of the console's search are kept by the address bar, and a bulk requeue never touches more than they say.
import { expect, test } from 'vitest'
import {
  filtersOf,
  instantOf,
  localOf,
  requeueBody,
  searchAddress,
} from '../../packages/console/src/logic/message-filters.ts'
import { bytesOf, likelyPhone, rowsHead } from '../../packages/console/src/logic/rows-head.ts'
import { textRecords } from '../../src/files/csv-head.ts'
import { EXPORTS, windows1252 } from '../support/spreadsheet-exports.ts'

test('filters written to an address are read from it again', () => {
  const filters = { to: '+44 7700 900123', state: 'failed', code: '131026', since: '2026-11-22T10:00:00.000Z' }
  expect(filtersOf(new URL(searchAddress(filters), 'http://here').searchParams)).toEqual(filters)
})

test('an empty or unknown value in an address filters nothing', () => {
  expect(filtersOf(new URLSearchParams('state=&nothing=1&to=%20%20&code=x'))).toEqual({ code: 'x' })
  expect(searchAddress({})).toBe('/console/messages')
  expect(searchAddress({ code: 'a&b=c' })).toBe('/console/messages?code=a%26b%3Dc')
})

test('a requeue of all matches takes exactly the filters', () => {
  expect(requeueBody({ state: 'failed', code: '131026', direction: 'outbound' })).toEqual({
    body: { state: 'failed', code: '131026' },
  })
})

test.each([
  ['no filter at all', {}],
  ['only the direction', { direction: 'outbound' }],
  ['received messages', { direction: 'inbound', code: 'x' }],
  ['an id, which requeue does not know', { id: 'msg_1_x' }],
  ['a state that nothing is requeued from', { state: 'delivered' }],
])('a requeue of %s is refused with a reason', (_what, filters) => {
  expect(requeueBody(filters)).toEqual({ why: expect.stringMatching(/\.$/) })
})

test('a time from a form becomes a moment, and the moment becomes the same time again', () => {
  const instant = instantOf('2026-11-22T10:30')
  expect(localOf(instant)).toBe('2026-11-22T10:30')
  expect([instantOf(''), localOf(undefined), localOf('never')]).toEqual(['', '', ''])
})

const headOf = (name: string, bytes: string | Buffer, said = {}) => rowsHead(name, bytesOf(new Blob([bytes])), said)

test('the head of a CSV file has its columns and its first row, quotes and line ends of any kind', async () => {
  const head = await headOf('people.csv', '\ufeffphone, name\r\n+44 1,"Ada ""A"", Example"\r\n+44 2,Ben\r\n')
  expect(head).toMatchObject({ format: 'csv', columns: ['phone', 'name'] })
  expect('first' in head && [...head.first]).toEqual([
    ['phone', '+44 1'],
    ['name', 'Ada "A", Example'],
  ])
})

test('a record cut off by the end of the head is not read', () => {
  expect(textRecords('a,b\n1,"2\n3', 10, false)).toEqual([['a', 'b']])
  expect(textRecords('a,b\n1,2', 10, true)).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
})

test('the head of an NDJSON file has the fields of its first row', async () => {
  const head = await headOf('people.ndjson', '{"phone":"+44 1","age":7,"city":null}\n{"phone"')
  expect(head).toMatchObject({ format: 'ndjson', columns: ['phone', 'age', 'city'] })
  expect(await headOf('people.jsonl', '[1]\n')).toEqual({ why: expect.stringContaining('JSON') })
})

test.each(EXPORTS)('the head of a file from $program is read as the server reads it', async (file) => {
  const { encoding, separator, columns, names } = file
  const head = await headOf('people.csv', file.bytes)
  expect(head).toMatchObject({ columns, readAs: { encoding, separator, columns } })
  expect('first' in head && head.first.get('name')).toBe(names[0])
})

test('a file is read to its end to find its encoding, and in the encoding that a person chooses', async () => {
  const ascii = `phone;name\n${'1;Ann\n'.repeat(50_000)}`
  const late = await headOf('people.csv', windows1252(`${ascii}2;Zoë\n`))
  expect(late).toMatchObject({ readAs: { encoding: 'windows-1252', separator: ';' } })
  const mixed = Buffer.concat([Buffer.from(`${ascii}2;Zoë\n`), windows1252('3;José\n')])
  expect(await headOf('people.csv', mixed)).toEqual({
    why: expect.stringMatching(/^The file cannot be read: line 50003, character 6 is not UTF-8/),
  })
  const said = { encoding: 'windows-1252', separator: ',' }
  expect(await headOf('people.csv', mixed, said)).toMatchObject({ columns: ['phone;name'], readAs: said })
  expect(await headOf('people.csv', '\n')).toEqual({ why: 'The file has no line of columns.' })
})

test('the column of numbers is guessed by name, else it is the first', () => {
  expect(likelyPhone(['name', 'Mobile', 'city'])).toBe('Mobile')
  expect(likelyPhone(['name', 'customer phone'])).toBe('customer phone')
  expect(likelyPhone(['a', 'b'])).toBe('a')
})
