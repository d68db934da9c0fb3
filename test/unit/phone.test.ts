import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseListedPhone, parsePerson, parsePhone } from '../../src/kernel/recipient.ts'

test.each([
  ['+14155550123', '14155550123'],
  ['14155550123', '14155550123'],
  ['+1 (415) 555-0123', '14155550123'],
  ['(+1) 415.555.0123', '14155550123'],
  [' +1 [415] 555 0123 ', '14155550123'],
  ['+1 555 010 0001', '15550100001'],
  ['4915112345678', '4915112345678'],
  ['+39 06 1234 5678', '390612345678'],
  ['551187654321', '551187654321'],
])('%s is the number %s', (input, digits) => {
  expect(parsePhone(input)).toEqual({ ok: true, digits })
})

test.each([
  ['\u202A+44\u00A07700 900611\u202C', 'marks of direction and a no-break space, as a phone copies a contact'],
  ['+44 7700\u2013900\u2013611', 'en dashes'],
  ['+44\u20117700\u2011900611', 'no-break hyphens'],
  ['+44\u20097700\u202F900611\u3000', 'thin, narrow and wide spaces'],
  ['\uFEFF+44\u200B7700\u2060900611\u00AD', 'spaces of no width and a soft hyphen'],
  ['+44 7700\u2212900611', 'a minus'],
])('%j is +447700900611: %s', (input) => {
  expect(parsePhone(input)).toEqual({ ok: true, digits: '447700900611' })
  expect(parseListedPhone(input)).toEqual({ ok: true, digits: '447700900611' })
})

test('the id of a person is read without marks around it', () => {
  expect(parsePerson('\u2068BR.AB12cd34EF\u2069 ')).toBe('BR.AB12cd34EF')
})

test.each([
  "'447700900611",
  "'+447700900611",
  '\u2019447700900611',
  "' 00447700900611",
  "'tel:+447700900611",
  '\u202A0044 7700 900611\u202C',
  '\u200Etel:+44 7700 900611',
])('in a file %j is +447700900611, whatever the spreadsheet put before it', (cell) => {
  expect(parseListedPhone(cell)).toEqual({ ok: true, digits: '447700900611' })
})

test('outside of files an apostrophe makes a number invalid', () => {
  expect(parsePhone("'447700900611")).toMatchObject({ ok: false })
})

test('a national zero in brackets is not part of the number', () => {
  expect(parsePhone('+49 (0)171 1234567')).toEqual({ ok: true, digits: '491711234567' })
})

test('the old Mexican mobile form, still used in inbound messages, becomes the present number', () => {
  expect(parsePhone('5215512345678')).toEqual({ ok: true, digits: '525512345678' })
  expect(parsePhone('+52 1 55 1234 5678')).toEqual({ ok: true, digits: '525512345678' })
})

test.each([
  [undefined, 'required'],
  [null, 'expected a string, got null'],
  [14155550123, 'expected a string, got a number'],
  [['+14155550123'], 'expected a string, got a list'],
  ['', 'has no digits'],
  ['+', 'has no digits'],
  ['+1 415 555 0123 ext 5', 'has other characters'],
  ['+1-415-CALL-NOW', 'has other characters'],
  ['+1415555012３', 'has other characters'],
  ['+14155550123\n', 'has other characters'],
  ['+14155550123\u0000', 'has other characters'],
  ['++14155550123', 'has other characters'],
  ['1+4155550123', 'has other characters'],
  ['+1415555', 'has 6 digits after the country code, numbers of +1 have 10'],
  ['+141555501234', 'has 11 digits after the country code, numbers of +1 have 10'],
  ['+4912', 'has 2 digits after the country code, numbers of +49 have 4 to 15'],
  ['+88312', 'has 2 digits after the country code, which no number of +883 has'],
  ['0171 1234567', 'no known country code'],
  ['0014155550123', 'no known country code'],
  ['+999123456789', 'no known country code'],
  ['1'.repeat(65), 'has 65 characters'],
  ['1'.repeat(64), 'expected a full international phone number'],
])('%j is refused: %s', (input, reason) => {
  const parsed = parsePhone(input)
  expect(parsed).toMatchObject({ ok: false, message: expect.stringContaining(reason) })
})

test('a refusal never repeats the number', () => {
  expect(JSON.stringify(parsePhone('0171 1234567'))).not.toContain('171')
})

test('a very long text is refused without being searched', () => {
  expect(parsePhone(`${' '.repeat(200_000)}x`)).toMatchObject({ ok: false })
})

test('any punctuation gives the same digits; and digits parse to themselves', () => {
  const separator = fc.constantFrom('', ' ', '-', '.', ' - ', ') ', ' (')
  fc.assert(
    fc.property(fc.array(separator, { minLength: 11, maxLength: 11 }), fc.boolean(), (separators, plus) => {
      const typed = [...'14155550123'].map((digit, i) => digit + (separators[i] ?? '')).join('')
      expect(parsePhone(plus ? `+${typed}` : typed)).toEqual({ ok: true, digits: '14155550123' })
    }),
  )
})

test('any text is either refused or gives digits that are accepted again, unchanged', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[+0-9 ().-]{1,24}$/))
  fc.assert(
    fc.property(text, (input) => {
      const parsed = parsePhone(input)
      if (parsed.ok) expect(parsePhone(parsed.digits)).toEqual(parsed)
    }),
    { numRuns: 2000 },
  )
})
