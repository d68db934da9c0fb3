import { expect, test } from 'vitest'
import { classOf, contentSchema } from '../../src/model/messages/content.ts'
import { audioBody, buttonsBody, imageBody, listBody, templateBody } from '../support/example-messages.ts'

const classOfBody = (body: unknown, category?: Parameters<typeof classOf>[1]) =>
  classOf(contentSchema.parse(body), category)

test('service messages are transactional', () => {
  for (const body of [listBody(), buttonsBody(), imageBody(), audioBody()]) {
    expect(classOfBody(body)).toBe('transactional')
  }
})

test.each([
  ['UTILITY', 'transactional'],
  ['AUTHENTICATION', 'transactional'],
  ['FREE_SERVICE', 'transactional'],
  ['MARKETING', 'campaign'],
] as const)('a %s template is %s', (category, expected) => {
  expect(classOfBody(templateBody(), category)).toBe(expected)
})

test('a template of unknown category is of class campaign: it overtakes nothing and repeats nothing', () => {
  expect(classOfBody(templateBody())).toBe('campaign')
})
