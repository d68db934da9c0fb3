// Pins: null for a part of a template that may be left out is read as left out; null for anything else is a fault.
import { expect, test } from 'vitest'
import { readSend } from '../../src/messages/accept/read-send.ts'
import { imageBody, templateBody } from '../support/example-messages.ts'

const { api_key: _key, ...image } = imageBody()

test.each(['valid_until', 'send_at', 'sender', 'context'])(
  'null for %s is a fault: a value may have got lost',
  (name) => {
    const read = readSend('service', { ...image, [name]: null }, 'refused')
    expect(read).toMatchObject({ ok: false, faults: [{ path: name, message: expect.stringContaining('got null') }] })
  },
)

test.each<[string, object]>([
  ['components', { components: null }],
  ['parameters', { components: [{ type: 'BODY', parameters: null }] }],
  ['cards', { components: [{ type: 'CAROUSEL', cards: [{ card_index: 0, components: null }], sub_type: null }] }],
])('null for the %s of a template is no fault', (_what, template) => {
  const { api_key: _unused, ...body } = templateBody(template)
  expect(readSend('template', body, 'refused')).toMatchObject({ ok: true, ignored: [] })
})

test('null for a required field is a fault, and the only one', () => {
  const { api_key: _unused, ...body } = templateBody({ name: null, components: null })
  const read = readSend('template', body, 'refused')
  expect(read.ok ? [] : read.faults).toEqual([{ path: 'template.name', message: 'expected a string, got null' }])
})

test('null as an item of a list is a fault', () => {
  const { api_key: _unused, ...body } = templateBody({ components: [null] })
  expect(readSend('template', body, 'refused')).toMatchObject({
    ok: false,
    faults: [{ path: 'template.components[0]', message: 'expected an object, got null' }],
  })
})
