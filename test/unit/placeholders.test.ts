// Pins: a content with placeholders, filled in as JSON, is the JSON of the filled content, whatever the values hold.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileComponents } from '../../src/model/campaigns/parameters.ts'
import { jsonWithPlaceholders, placeholder, placeholderIn } from '../../src/model/messages/placeholders.ts'

const components = [
  { type: 'HEADER', parameters: [{ type: 'document', document: { link: { from: 'row.link' }, filename: 'a"b.pdf' } }] },
  {
    type: 'BODY',
    parameters: [
      { type: 'text', text: { from: 'row.name' } },
      { type: 'text', text: 'x \u00000\u0000 "0"' },
      { type: 'text', text: { from: 'row.name' } },
    ],
  },
]

test('filling the JSON gives the same as filling the components and then making JSON of them', () => {
  const read = compileComponents(components, 'row')
  if (!read.ok) throw new Error('the components do not compile')
  const fill = jsonWithPlaceholders(read.compiled.withPlaceholders)
  const anything = fc.string({ unit: 'binary' })
  const awkward = fc.constantFrom('', '"', '\\', '\u0000', placeholder(0), '"\\u00000\\u0000"', '\ud800', '$&')
  fc.assert(
    fc.property(fc.array(fc.oneof(anything, awkward), { maxLength: 3 }), (values) => {
      expect(fill(values)).toBe(JSON.stringify(read.compiled.fill(values)))
    }),
  )
})

test('a placeholder is the whole of a text', () => {
  expect(placeholderIn(placeholder(12))).toBe(12)
  expect(placeholderIn(`${placeholder(1)} `)).toBeUndefined()
  expect(placeholderIn('1')).toBeUndefined()
})
