// Pins: which numbers are two forms of one, and which are not.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formsOf, isSameNumber, mainForm, withForms } from '../../src/kernel/national-forms.ts'
import { parsePhone } from '../../src/kernel/recipient.ts'

const PAIRS = [
  ['5511987650001', '551187650001'],
  ['5585991234567', '558591234567'],
  ['5491123456789', '541123456789'],
  ['5492211234567', '542211234567'],
  ['525512345678', '5215512345678'],
  ['2290197123456', '22997123456'],
] as const

test.each(PAIRS)('%s and %s are one number, and the first is its main form', (today, other) => {
  for (const form of [today, other]) expect([formsOf(form), mainForm(form)]).toEqual([[today, other], today])
  expect([isSameNumber(today, other), isSameNumber(other, today), isSameNumber(today, `${today}1`)]).toEqual([
    true,
    true,
    false,
  ])
})

test.each([
  ['a line in Brazil', '551133334444'],
  ['a mobile number in Brazil whose last eight digits may be those of a line', '5511941234567'],
  ['a Brazilian number with a digit too many', '55119876500012'],
  ['an Argentine number of a service', '548001234567'],
  ['a number in Côte d’Ivoire of today', '2250707123456'],
  ['another country', '447700900123'],
  ['a number that only begins alike', '5211'],
  ['a user id', 'BR.5511987650001'],
  ['a text', ''],
])('%s has one form: %s', (_what, name) => {
  expect([formsOf(name), mainForm(name)]).toEqual([[name], name])
})

test('all names come with all their forms, each once and in order', () => {
  expect(withForms(['BR.1', '551187650001', '447700900123'])).toEqual([
    'BR.1',
    '551187650001',
    '447700900123',
    '5511987650001',
  ])
  const plain = ['447700900123', 'GB.1']
  expect(withForms(plain)).toBe(plain)
})

test('for any digits, all forms of a number have the same forms, and each can be written to', () => {
  const digits = fc.stringMatching(/^(5[245]|229)[0-9]{8,11}$/)
  fc.assert(
    fc.property(digits, (number) => {
      const forms = formsOf(number)
      for (const form of forms) expect(formsOf(form)).toEqual(forms)
      if (forms.length > 1) for (const form of forms) expect(parsePhone(form)).toMatchObject({ ok: true })
    }),
  )
})

test('a number is sent in the form in which it was given', () => {
  for (const form of [
    '5511987650001',
    '551187650001',
    '5491123456789',
    '541123456789',
    '2290197123456',
    '22997123456',
  ]) {
    expect(parsePhone(`+${form}`)).toEqual({ ok: true, digits: form })
  }
})
