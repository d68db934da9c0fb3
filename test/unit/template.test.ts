// Approved templates: which definitions are taken, and what shape a message of each has to have.
import { describe, expect, test } from 'vitest'
import { faultsOf } from '../../src/kernel/zod-faults.ts'
import { shapeOf, templateSchema, whyNotSendable } from '../../src/model/templates/template.ts'
import { fillIn, valuesOf, variablesOf } from '../../src/model/templates/variables.ts'
import {
  allProducts,
  flashSale,
  invoice,
  lastDay,
  newArrivals,
  oneProduct,
  orderUpdate,
  parsed,
  plainHello,
  shape,
  someProducts,
  visit,
  welcome,
  writtenCode,
} from '../support/example-templates.ts'

function faults(raw: unknown) {
  const result = templateSchema.safeParse(raw)
  if (result.success) throw new Error('expected faults, the template passed')
  return faultsOf(result.error, raw)
}

const withComponents = (...components: unknown[]) => ({ ...plainHello, components })
const withButtons = (...buttons: unknown[]) => withComponents({ type: 'BUTTONS', buttons })

describe('a definition', () => {
  test('is accepted in any letter case, with the labels that previews show and without unused fields', () => {
    const lower = {
      name: 'hello',
      language: 'en_US',
      category: 'utility',
      status: 'approved',
      parameter_format: 'named',
      quality_score: { score: 'GREEN' },
      components: [
        { type: 'header', format: 'image', example: {} },
        { type: 'body', text: 'Hi {{who}}', example: {} },
        { type: 'footer', text: 'Bye' },
        {
          type: 'buttons',
          buttons: [
            { type: 'url', text: 'Go', url: 'https://a.example/' },
            { type: 'phone_number', text: 'Call', phone_number: '+1' },
          ],
        },
        { type: 'carousel', cards: [{ components: [{ type: 'header', format: 'video' }] }] },
      ],
    }
    expect(templateSchema.parse(lower)).toEqual({
      name: 'hello',
      language: 'en_US',
      category: 'UTILITY',
      status: 'APPROVED',
      parameter_format: 'NAMED',
      components: [
        { type: 'HEADER', format: 'IMAGE' },
        { type: 'BODY', text: 'Hi {{who}}' },
        { type: 'FOOTER', text: 'Bye' },
        {
          type: 'BUTTONS',
          buttons: [
            { type: 'URL', text: 'Go', url: 'https://a.example/' },
            { type: 'PHONE_NUMBER', text: 'Call' },
          ],
        },
        { type: 'CAROUSEL', cards: [{ components: [{ type: 'HEADER', format: 'VIDEO' }] }] },
      ],
    })
  })

  test('without status counts as approved, without parameter_format as positional', () => {
    const { status: _, ...handwritten } = plainHello
    expect(templateSchema.parse(handwritten)).toMatchObject({ status: 'APPROVED', parameter_format: 'POSITIONAL' })
  })

  test('keeps a status that WhatsApp adds later', () => {
    expect(parsed({ ...plainHello, status: 'Snoozed' }).status).toBe('SNOOZED')
  })

  test.each([
    ...[orderUpdate, flashSale, newArrivals, invoice, welcome, plainHello],
    ...[visit, lastDay, oneProduct, someProducts, allProducts, writtenCode],
  ])('that was stored is read back unchanged: $name', (raw) => {
    const template = parsed(raw)
    expect(templateSchema.parse(JSON.parse(JSON.stringify(template)))).toEqual(template)
  })

  test.each([
    ['', 5, 'expected an object, got a number'],
    ['name', { ...plainHello, name: undefined }, 'required'],
    ['name', { ...plainHello, name: 'Plain Hello' }, 'expected only lower-case letters, digits and underscores'],
    ['name', { ...plainHello, name: 'x'.repeat(513) }, 'at most 512 characters, got 513'],
    ['language', { ...plainHello, language: { code: 'en_US' } }, 'expected a string, got an object'],
    [
      'category',
      { ...plainHello, category: 'SPAM' },
      'expected "AUTHENTICATION", "MARKETING", "UTILITY" or "FREE_SERVICE", got "SPAM"',
    ],
    ['parameter_format', { ...plainHello, parameter_format: 'X' }, 'expected "POSITIONAL" or "NAMED", got "X"'],
    ['components', { ...plainHello, components: undefined }, 'required'],
    ['components[0]', withComponents(null), 'expected an object, got null'],
    ['components[0].type', withComponents({}), 'required'],
    ['components[0].format', withComponents({ type: 'HEADER' }), 'required'],
    ['components[0].text', withComponents({ type: 'HEADER', format: 'TEXT' }), 'required'],
    ['components[0].text', withComponents({ type: 'BODY' }), 'required'],
    ['components[0].buttons', withComponents({ type: 'BUTTONS' }), 'required'],
    ['components[0].buttons[0].url', withButtons({ type: 'URL' }), 'required'],
    ['components[0].cards', withComponents({ type: 'CAROUSEL', cards: [] }), 'at least 1 item, got 0'],
  ])('%s: a fault is reported', (path, raw, message) => {
    expect(faults(raw)).toEqual([{ path, message }])
  })
})

describe('a part unknown to Laneway', () => {
  test.each([
    [
      'a part',
      withComponents({ type: 'BODY', text: 'Hi' }, { type: 'CALL_PERMISSION_REQUEST' }),
      'CALL_PERMISSION_REQUEST',
    ],
    ['a header', withComponents({ type: 'HEADER', format: 'hologram' }), 'HEADER HOLOGRAM'],
    ['a button', withButtons({ type: 'QUICK_REPLY' }, { type: 'ORDER_DETAILS', text: 'Pay' }), 'ORDER_DETAILS'],
    ['a part of a card', withComponents({ type: 'CAROUSEL', cards: [{ components: [{ type: 'FOOTER' }] }] }), 'FOOTER'],
    ['a word of any length', withButtons({ type: `<b>${'x'.repeat(500)}` }), `B${'X'.repeat(39)}`],
  ])('is kept by its name, and is why the template cannot be sent: %s', (_, raw, named) => {
    const template = parsed(raw)
    expect(templateSchema.parse(JSON.parse(JSON.stringify(template)))).toEqual(template)
    expect(whyNotSendable(template)).toMatch(new RegExp(`that Laneway cannot fill in: ${named}\\.$`))
    expect(shapeOf(template).notSendable).toBe(whyNotSendable(template))
  })

  test('is none of the known kinds, which can all be sent', () => {
    for (const raw of [visit, lastDay, oneProduct, someProducts, allProducts, writtenCode, newArrivals]) {
      expect(whyNotSendable(parsed(raw))).toBeUndefined()
    }
  })
})

describe('the shape', () => {
  test("of a code is the same in our own definition and in WhatsApp's list", () => {
    const { body, buttons } = shape(writtenCode)
    expect([body?.variables, buttons]).toEqual([['1'], [{ kind: 'URL', url: { text: '{{1}}', variables: ['1'] } }]])
  })

  test('includes places, products, offers and what opens a form or a catalogue', () => {
    expect(shape(visit)).toMatchObject({ header: { kind: 'location' }, buttons: [{ kind: 'FLOW' }] })
    expect(shape(lastDay)).toMatchObject({ header: { kind: 'gif' }, offer: { ends: true } })
    expect(shape(oneProduct)).toMatchObject({ header: { kind: 'product' }, buttons: [{ kind: 'SPM' }] })
    expect([shape(someProducts).buttons, shape(allProducts).buttons]).toEqual([
      [{ kind: 'MPM' }],
      [{ kind: 'CATALOG' }],
    ])
  })

  test('of a template with a text header, body variables and buttons', () => {
    expect(shape(orderUpdate)).toEqual({
      category: 'UTILITY',
      named: false,
      header: { kind: 'text', text: 'Order {{1}}', variables: ['1'] },
      body: { text: 'Hi {{1}}, your order leaves us on {{2}}.', variables: ['1', '2'] },
      buttons: [
        { kind: 'URL', url: { text: 'https://shop.example/track/{{1}}', variables: ['1'] } },
        { kind: 'QUICK_REPLY' },
      ],
    })
  })

  test('of a carousel has its cards', () => {
    const card = {
      header: { kind: 'image' },
      body: { text: 'Only {{1}} today', variables: ['1'] },
      buttons: [{ kind: 'URL', url: { text: 'https://shop.example/i/{{1}}', variables: ['1'] } }],
    }
    expect(shape(newArrivals)).toEqual({
      category: 'MARKETING',
      named: false,
      body: { text: 'Just in.', variables: [] },
      buttons: [],
      cards: [card, card],
    })
  })

  test('includes the kinds of media headers', () => {
    const kindOf = (format: string) => shape(withComponents({ type: 'HEADER', format })).header?.kind
    expect(['IMAGE', 'VIDEO', 'DOCUMENT'].map(kindOf)).toEqual(['image', 'video', 'document'])
  })

  test('of a URL without a variable has nothing to fill in', () => {
    expect(shape(welcome)).toMatchObject({ named: true, buttons: [{ kind: 'URL' }] })
    expect(shapeOf(parsed(welcome)).buttons[0]).not.toHaveProperty('url')
  })
})

describe('variables', () => {
  test.each([
    ['', []],
    ['no variables {1} {{}} { {1}}', []],
    ['{{1}} and {{2}}', ['1', '2']],
    ['{{2}} before {{1}}', ['1', '2']],
    ['{{10}} {{9}}', ['9', '10']],
    ['{{1}} twice {{1}}', ['1']],
    ['{{ 1 }} with spaces', ['1']],
    ['{{who}} meets {{what_1}}', ['who', 'what_1']],
  ])('of %j are %j', (text, variables) => {
    expect(variablesOf(text)).toEqual(variables)
  })

  const values = (entries: Record<string, string>) => new Map(Object.entries(entries))

  test('are filled in wherever they occur', () => {
    expect(fillIn('{{1}}, {{ 2 }} and {{1}}', values({ 1: 'a', 2: 'b' }))).toBe('a, b and a')
  })

  test('without a value stay as they are', () => {
    expect(fillIn('{{1}} {{2}}', values({ 1: 'a' }))).toBe('a {{2}}')
  })

  test('are not searched in filled-in values, nor are those replacement patterns', () => {
    expect(fillIn('{{1}}{{2}}', values({ 1: '{{2}}', 2: '$&$1' }))).toBe('{{2}}$&$1')
  })

  test('take their values by position, or by name in any order', () => {
    const parameters = [
      { type: 'text', text: 'a', parameter_name: 'y' },
      { type: 'text', text: 'b', parameter_name: 'x' },
    ]
    expect(valuesOf(['x', 'y'], parameters, false)).toEqual(values({ x: 'a', y: 'b' }))
    expect(valuesOf(['x', 'y'], parameters, true)).toEqual(values({ y: 'a', x: 'b' }))
  })

  test('ignore parameters that are not text or too many', () => {
    expect(valuesOf(['1'], [{ type: 'image' }, { type: 'text', text: 'b' }], false)).toEqual(new Map())
  })
})
