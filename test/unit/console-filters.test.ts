// Pins: filters of the console's search are kept by the address bar, and a bulk requeue never touches more than they say.
import { expect, test } from 'vitest'
import {
  filtersOf,
  instantOf,
  localOf,
  queryOf,
  requeueBody,
  searchAddress,
} from '../../src/console/logic/message-filters.ts'
import { csvRecords, likelyPhone, rowsHead } from '../../src/console/logic/rows-head.ts'

test('filters that are written to an address are read from it again', () => {
  const filters = { to: '+44 7700 900123', state: 'failed', code: '131026', since: '2026-11-22T10:00:00.000Z' }
  expect(filtersOf(new URLSearchParams(queryOf(filters)))).toEqual(filters)
})

test('what is empty or unknown in an address filters nothing', () => {
  expect(filtersOf(new URLSearchParams('state=&nothing=1&to=%20%20&code=x'))).toEqual({ code: 'x' })
  expect(searchAddress({})).toBe('/console/messages')
  expect(searchAddress({ code: 'a&b=c' })).toBe('/console/messages?code=a%26b%3Dc')
})

test('a requeue of all that match takes exactly the filters', () => {
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

test('a time of a form is a moment, and the moment is the same time again', () => {
  const instant = instantOf('2026-11-22T10:30')
  expect(localOf(instant)).toBe('2026-11-22T10:30')
  expect([instantOf(''), localOf(undefined), localOf('never')]).toEqual(['', '', ''])
})

test('the head of a CSV file has its columns and its first row, quotes and line ends of any kind', () => {
  const head = rowsHead('people.csv', '\ufeffphone, name\r\n+44 1,"Ada ""A"", Example"\r\n+44 2,Ben\r\n', true)
  expect(head).toMatchObject({ format: 'csv', columns: ['phone', 'name'] })
  expect('first' in head && [...head.first]).toEqual([
    ['phone', '+44 1'],
    ['name', 'Ada "A", Example'],
  ])
})

test('a record that the head of a file breaks off in is not read', () => {
  expect(csvRecords('a,b\n1,"2\n3', 10, false)).toEqual([['a', 'b']])
  expect(csvRecords('a,b\n1,2', 10, true)).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ])
})

test('the head of an NDJSON file has the fields of its first row', () => {
  const head = rowsHead('people.ndjson', '{"phone":"+44 1","age":7,"city":null}\n{"phone"', false)
  expect(head).toMatchObject({ format: 'ndjson', columns: ['phone', 'age', 'city'] })
  expect(rowsHead('people.jsonl', '[1]\n', true)).toEqual({ why: expect.stringContaining('JSON') })
})

test('a file of one column with other separators is refused with a reason', () => {
  expect(rowsHead('people.csv', 'phone;name\n1;2\n', true)).toEqual({ why: expect.stringContaining('commas') })
})

test('the column of numbers is guessed by its name, else it is the first', () => {
  expect(likelyPhone(['name', 'Mobile', 'city'])).toBe('Mobile')
  expect(likelyPhone(['name', 'customer phone'])).toBe('customer phone')
  expect(likelyPhone(['a', 'b'])).toBe('a')
})
