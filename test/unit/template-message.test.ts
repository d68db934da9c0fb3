// What a template message must look like before anybody asks which template it is: its envelope and the shape of its
// components. How many parameters of which kind there are is match-template.test.ts's matter.
import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/kernel/fault.ts'
import { parseTemplateMessage } from '../../src/messages/accept/read-send.ts'
import { contentSchema } from '../../src/model/messages/content.ts'
import { templateBody } from '../support/example-messages.ts'

function messageOf(body: unknown) {
  const parsed = parseTemplateMessage(body)
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`)
  return parsed.message
}

function faultsOf(body: unknown): Fault[] {
  const parsed = parseTemplateMessage(body)
  if (parsed.ok) throw new Error('expected faults, the body passed')
  return parsed.faults
}

const componentsOf = (...components: unknown[]) => messageOf(templateBody({ components })).content.template.components

test('a message without components has its address, sender and template', () => {
  expect(messageOf(templateBody())).toEqual({
    to: '14155550123',
    input: '+1 (415) 555-0123',
    sender: '+1 555 000 1111',
    content: { type: 'template', template: { name: 'order_update', language: { code: 'en_US' } } },
  })
})

test('campaign_id and valid_until are returned when they are given', () => {
  const body = templateBody({}, { campaign_id: 'spring', valid_until: '2026-01-31T12:00:00Z' })
  expect(messageOf(body)).toMatchObject({ campaignId: 'spring', validUntilMs: Date.UTC(2026, 0, 31, 12) })
})

test('campaign_id is any text up to 255 UTF-16 units', () => {
  expect(messageOf(templateBody({}, { campaign_id: 'x'.repeat(255) })).campaignId).toHaveLength(255)
  expect(faultsOf(templateBody({}, { campaign_id: '🙂'.repeat(128) }))).toEqual([
    { path: 'campaign_id', message: 'at most 255 characters, got 256' },
  ])
})

describe('faults', () => {
  test.each([
    ['sender', {}, { sender: undefined }, 'required'],
    ['sender', {}, { sender: '' }, 'at least 1 character, got 0'],
    ['campaign_id', {}, { campaign_id: 7 }, 'expected a string, got a number'],
    ['to', {}, { to: undefined }, 'required'],
    ['recipient_type', {}, { recipient_type: undefined }, 'required'],
    ['type', {}, { type: 'image' }, 'expected "template", got "image"; it goes to /sendservicemessages/sendmessages'],
    ['type', {}, { type: 'poll' }, 'expected "template", got "poll"'],
    ['template', {}, { template: undefined }, 'required'],
    ['template', {}, { template: 'order_update' }, 'expected an object, got a string'],
    ['template.name', { name: undefined }, {}, 'required'],
    ['template.name', { name: 'x'.repeat(513) }, {}, 'at most 512 characters, got 513'],
    ['template.language', { language: 'en_US' }, {}, 'expected an object, got a string'],
    ['template.language.code', { language: {} }, {}, 'required'],
    ['template.components', { components: {} }, {}, 'expected a list, got an object'],
    ['template.components[0]', { components: ['BODY'] }, {}, 'expected an object, got a string'],
    ['template.components[0].type', { components: [{}] }, {}, 'required'],
    [
      'template.components[0].index',
      { components: [{ type: 'BUTTON', index: true }] },
      {},
      'expected a string or a number, got a boolean',
    ],
    [
      'template.components[0].parameters',
      { components: [{ type: 'BODY', parameters: 'Ann' }] },
      {},
      'expected a list, got a string',
    ],
    [
      'template.components[0].parameters[0]',
      { components: [{ type: 'BODY', parameters: ['Ann'] }] },
      {},
      'expected an object, got a string',
    ],
    [
      'template.components[0].parameters[0].type',
      { components: [{ type: 'BODY', parameters: [{ text: 'Ann' }] }] },
      {},
      'required',
    ],
    [
      'template.components[0].cards[0].card_index',
      { components: [{ type: 'CAROUSEL', cards: [{ card_index: 0.5 }] }] },
      {},
      'expected an integer, got 0.5',
    ],
    ['template.components[0].cards[0].card_index', { components: [{ type: 'CAROUSEL', cards: [{}] }] }, {}, 'required'],
  ])('$0: $3', (path, template, fields, message) => {
    expect(faultsOf(templateBody(template, fields))).toEqual([{ path, message }])
  })

  test('of the envelope leave the content readable, so that the matcher can add its own', () => {
    const parsed = parseTemplateMessage(templateBody({}, { to: 'nobody', sender: undefined }))
    expect(parsed).toMatchObject({ ok: false, content: { type: 'template', template: { name: 'order_update' } } })
    if (!parsed.ok) expect(parsed.faults.map((fault) => fault.path)).toEqual(['to', 'sender'])
  })

  test('of the content are reported together with those of the envelope', () => {
    const parsed = parseTemplateMessage(templateBody({ name: undefined }, { to: 'nobody' }))
    expect(parsed).not.toHaveProperty('content')
    if (!parsed.ok) expect(parsed.faults.map((fault) => fault.path)).toEqual(['to', 'template.name'])
  })
})

describe('components', () => {
  test('are compared without regard to case and stored in one spelling', () => {
    const text = { type: 'Text', text: 'Ann' }
    const button = {
      type: 'button',
      sub_type: 'Copy_code',
      index: 1,
      parameters: [{ type: 'COUPON_CODE', coupon_code: 'X' }],
    }
    const carousel = {
      type: 'carousel',
      cards: [{ card_index: 0, components: [{ type: 'header', parameters: [text] }] }],
    }
    expect(componentsOf({ type: 'body', parameters: [text] }, button, carousel)).toEqual([
      { type: 'BODY', parameters: [{ type: 'text', text: 'Ann' }] },
      { type: 'BUTTON', sub_type: 'COPY_CODE', index: '1', parameters: [{ type: 'coupon_code', coupon_code: 'X' }] },
      {
        type: 'CAROUSEL',
        cards: [{ card_index: 0, components: [{ type: 'HEADER', parameters: [{ type: 'text', text: 'Ann' }] }] }],
      },
    ])
  })

  test('lose fields that do not belong to them', () => {
    const file = { link: 'https://files.example/a.pdf', filename: 'a.pdf', extra: '1' }
    const parameters = [
      { type: 'text', text: 'Ann', extra: 1, image: file },
      { type: 'DOCUMENT', document: file, text: 'no' },
      { type: 'coupon_code', coupon_code: 'X', extra: {} },
      { type: 'text', text: 'Ann', parameter_name: 'who' },
    ]
    expect(componentsOf({ type: 'BODY', parameters, extra: 1 })).toEqual([
      {
        type: 'BODY',
        parameters: [
          { type: 'text', text: 'Ann' },
          { type: 'document', document: { link: 'https://files.example/a.pdf', filename: 'a.pdf' } },
          { type: 'coupon_code', coupon_code: 'X' },
          { type: 'text', text: 'Ann', parameter_name: 'who' },
        ],
      },
    ])
  })

  test('are accepted with parameters of any number and kind, which the matcher checks', () => {
    const parameters = [
      { type: 'text', text: 5 },
      { type: 'image', image: 'x' },
      { type: 'currency', currency: { code: 'EUR' } },
      { type: 'text' },
    ]
    expect(componentsOf({ type: 'FOOTER', parameters })).toEqual([{ type: 'FOOTER', parameters }])
  })

  test.each(['constructor', '__proto__', 'tostring', 'hasownproperty', 'type', 'parameter_name', ''])(
    'a parameter of type %j gets no inherited property',
    (type) => {
      expect(componentsOf({ type: 'BODY', parameters: [{ type }] })).toEqual([{ type: 'BODY', parameters: [{ type }] }])
    },
  )
})

test('a stored content is read back unchanged', () => {
  const components = [
    { type: 'header', parameters: [{ type: 'IMAGE', image: { link: 'https://files.example/a.png' } }] },
    { type: 'body', parameters: [{ type: 'text', text: 'Ann', parameter_name: 'who' }] },
    { type: 'button', sub_type: 'url', index: 0, parameters: [{ type: 'text', text: 'a' }] },
    { type: 'carousel', cards: [{ card_index: 0, components: [{ type: 'body' }] }, { card_index: 1 }] },
  ]
  const { content } = messageOf(templateBody({ components }))
  expect(contentSchema.parse(JSON.parse(JSON.stringify(content)))).toEqual(content)
})

describe('a limit of its own applies to', () => {
  const inBody = (parameter: object) => ({ components: [{ type: 'BODY', parameters: [parameter] }] })
  const text = { type: 'text', text: 'a' }
  const parameter = 'template.components[0].parameters[0]'
  test.each<[string, object, object, string]>([
    ['sender', {}, { sender: 'x'.repeat(256) }, 'at most 255 characters, got 256'],
    ['template.language.code', { language: { code: 'x'.repeat(21) } }, {}, 'at most 20 characters, got 21'],
    ['template.components[0].type', { components: [{ type: 'x'.repeat(41) }] }, {}, 'at most 40 characters, got 41'],
    [
      `${parameter}.parameter_name`,
      inBody({ ...text, parameter_name: 'x'.repeat(61) }),
      {},
      'at most 60 characters, got 61',
    ],
    [
      `${parameter}.parameter_name`,
      inBody({ ...text, parameter_name: { a: [] } }),
      {},
      'expected a string, got an object',
    ],
    [`${parameter}.type`, inBody({ type: 'x'.repeat(41) }), {}, 'at most 40 characters, got 41'],
    [
      `${parameter}.text`,
      inBody({ type: 'text', text: 'x'.repeat(4_097) }),
      {},
      'at most 4096 characters and 50 values, got more',
    ],
    [
      'template.components',
      { components: Array.from({ length: 21 }, () => ({ type: 'BODY' })) },
      {},
      'at most 20 items, got 21',
    ],
    [
      'template.components[0].parameters',
      { components: [{ type: 'BODY', parameters: Array.from({ length: 201 }, () => text) }] },
      {},
      'at most 200 items, got 201',
    ],
    [
      'template.components',
      { components: Array.from({ length: 8 }, () => ({ parameters: Array.from({ length: 200 }, () => text) })) },
      {},
      'at most 2000 values in all, got more',
    ],
  ])('%s', (path, template, fields, message) => {
    expect(faultsOf(templateBody(template, fields))).toEqual([{ path, message }])
  })

  test('a valid_until, of as many characters as a time can have', () => {
    const faults = faultsOf(templateBody({}, { valid_until: `2026-01-31T12:00:00.${'1'.repeat(40)}Z` }))
    expect(faults).toEqual([{ path: 'valid_until', message: 'at most 40 characters, got 61' }])
  })
})
