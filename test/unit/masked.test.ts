// Pins: a provider's sentence goes into a log without what may be a number of a person or a token, and keeps its code.
import { expect, test } from 'vitest'
import { masked } from '../../src/kernel/masked.ts'

test('numbers of five digits or more are masked, in any grouping', () => {
  for (const number of ['491700000001', '+49 170 0000001', '+1 (555) 010-0109', '15550', '1.555.010.0109']) {
    expect(masked(`Recipient ${number} is not allowed`), number).toMatch(/^Recipient \+?… is not allowed$/)
  }
})

test('what looks like a token is masked', () => {
  expect(masked('token EAAGm0PX4ZCpsBAKZCabcdef1234567890 has expired')).toBe('token … has expired')
})

test('codes, status codes and words are unchanged', () => {
  const sentence = 'WhatsApp answered: the token has expired (code 190): subcode 463, HTTP 401'
  expect(masked(sentence)).toBe(sentence)
})

test('a known code is unchanged whatever its length, and a phone number in its place is masked', () => {
  const sentence = 'WhatsApp answered: access denied (code 131005): The permission is missing'
  expect(masked(sentence)).toBe(sentence)
  expect(masked('access denied (code 491700000001)')).toBe('access denied (code …)')
})
