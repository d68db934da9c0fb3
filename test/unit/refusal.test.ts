// Pins: the sentence of a refusal ends once, whatever its first fault says.
import { expect, test } from 'vitest'
import { sentenceOf } from '../../src/kernel/refusal.ts'

test.each([
  [[{ path: 'to', message: 'required' }], 'to: required.'],
  [[{ path: 'sendAt', message: 'unknown field; is "send_at" meant?' }], 'sendAt: unknown field; is "send_at" meant?'],
  [
    [
      { path: 'sendAt', message: 'unknown field; is "send_at" meant?' },
      { path: 'to', message: 'required' },
    ],
    'sendAt: unknown field; is "send_at" meant? (and 1 more, see details).',
  ],
  [[], 'The request is not valid.'],
])('%j becomes one sentence', (faults, sentence) => {
  expect(sentenceOf(faults)).toBe(sentence)
})
