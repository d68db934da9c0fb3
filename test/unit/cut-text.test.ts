// Pins: a text of a person or a provider that is too long is cut between characters, wherever that is done: half of one is no
// text, shows as a question mark, and has no form in a header.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quotedColumns } from '../../src/files/csv-head.ts'
import { cutText } from '../../src/kernel/cut-text.ts'
import { quoted } from '../../src/kernel/fault.ts'
import { outcomeOf } from '../../src/model/messages/outcome.ts'
import { plainText } from '../../src/providers/webhook-fields.ts'

const isWhole = (text: string): boolean => !/\p{Cs}/u.test(text)
const FAMILY = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}'

test('a text that fits is unchanged', () => {
  expect([cutText('', 0), cutText('abc', 3), cutText(FAMILY, FAMILY.length)]).toEqual(['', 'abc', FAMILY])
})

test('a character that does not fit is left out as a whole, whatever it is made of', () => {
  expect(cutText(`ab${FAMILY}`, 5)).toBe('ab')
  expect(cutText('ae\u0301', 2)).toBe('a')
})

test('a cut text is the beginning, no longer than its limit, and ends with no half of a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.nat(250), (text, max) => {
      const cut = cutText(text, max)
      expect(text.startsWith(cut) && cut.length <= max && isWhole(cut)).toBe(true)
    }),
  )
})

describe.each([0, 1])('with an emoji at the end of the shown text, %i characters later', (later) => {
  const long = (most: number): string => `${'x'.repeat(most - 2 + later)}\u{1F600}${'y'.repeat(most)}`

  test.each<[string, string]>([
    ['a value in a fault', quoted(long(40))],
    ['a column of a file', quotedColumns([long(80)])],
    ['words of the provider in a webhook', plainText.parse(long(200).replaceAll(/x{10}/g, 'xxxxxxxxx '))],
    ['words of the provider in an answer', sentenceOf(long(200).replaceAll(/x{10}/g, 'xxxxxxxxx '))],
  ])('%s', (_where, text) => {
    expect(isWhole(text) && !/\\ud[89a-f]/i.test(text)).toBe(true)
  })
})

function sentenceOf(text: string): string {
  const answer = { kind: 'answered', status: 400, readable: true, code: 100, subcode: undefined } as const
  const outcome = outcomeOf({ ...answer, text, retryAfterMs: undefined })
  return 'problem' in outcome ? outcome.problem.sentence : ''
}
