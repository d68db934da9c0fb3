import { expect, test } from 'vitest'
import { contentSchema } from '../../src/model/messages/content.ts'
import { textOf } from '../../src/model/messages/text.ts'
import { audioBody, buttonsBody, imageBody, listBody, templateBody } from '../support/example-messages.ts'
import { newArrivals, orderUpdate, parsed, welcome } from '../support/example-templates.ts'

const contentOf = (body: unknown) => contentSchema.parse(body)
const template = (...components: object[]) => contentOf(templateBody({ components }))

test('the text of interactive messages is their body', () => {
  expect(textOf(contentOf(listBody()))).toBe('What would you like?')
  expect(textOf(contentOf(buttonsBody()))).toBe('Shall we deliver it today?')
})

test('the text of an image is its caption, without one its link', () => {
  expect(textOf(contentOf(imageBody()))).toBe('A cat')
  expect(textOf(contentOf(imageBody({ caption: '' })))).toBe('https://files.example/cat.png')
  expect(textOf(contentOf(imageBody({ caption: undefined })))).toBe('https://files.example/cat.png')
})

test('the text of an audio file is its link', () => {
  expect(textOf(contentOf(audioBody()))).toBe('https://files.example/hello.ogg')
})

test('the text of a template is its approved body with the parameters filled in', () => {
  const body = {
    type: 'body',
    parameters: [
      { type: 'text', text: 'Ann' },
      { type: 'text', text: '{{1}} & co' },
    ],
  }
  const header = { type: 'HEADER', parameters: [{ type: 'text', text: 'A-1' }] }
  expect(textOf(template(header, body), parsed(orderUpdate))).toBe('Hi Ann, your order leaves us on {{1}} & co.')
})

test('named parameters are filled in by their names', () => {
  const parameters = [
    { type: 'text', parameter_name: 'day', text: 'Monday' },
    { type: 'text', parameter_name: 'place', text: 'the pier' },
  ]
  const text = 'Your table at the pier is booked for Monday. See you at the pier!'
  expect(textOf(template({ type: 'BODY', parameters }), parsed(welcome))).toBe(text)
})

test('a carousel reads as the body above its cards', () => {
  expect(textOf(template({ type: 'CAROUSEL', cards: [] }), parsed(newArrivals))).toBe('Just in.')
})

test('variables without parameters stay visible', () => {
  expect(textOf(template(), parsed(orderUpdate))).toBe('Hi {{1}}, your order leaves us on {{2}}.')
})

test('a template that is not imported has its name as text', () => {
  expect(textOf(template())).toBe('order_update')
})

test('a template without a body has its name as text', () => {
  expect(textOf(template(), parsed({ ...orderUpdate, components: [] }))).toBe('order_update')
})
