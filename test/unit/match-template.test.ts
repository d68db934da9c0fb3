// Components held against the approved template. Requests go through the parser first, as they do in the service, so
// that letter case and numbers for `index` are part of what is tested.
import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/kernel/fault.ts'
import { parseTemplateMessage } from '../../src/messages/accept/read-send.ts'
import { matchTemplate } from '../../src/model/templates/match-template.ts'
import { templateBody } from '../support/example-messages.ts'
import {
  allProducts,
  flashSale,
  invoice,
  lastDay,
  newArrivals,
  oneProduct,
  oneTimeCode,
  orderUpdate,
  plainHello,
  shape,
  someProducts,
  visit,
  welcome,
  writtenCode,
} from '../support/example-templates.ts'

const text = (value: unknown) => ({ type: 'text', text: value })
const named = (parameter_name: unknown, value: unknown) => ({ ...text(value), parameter_name })
const file = (kind: string, name: string) => ({
  type: kind.toUpperCase(),
  [kind]: { link: `https://files.example/${name}` },
})
const header = (...parameters: unknown[]) => ({ type: 'HEADER', parameters })
const body = (...parameters: unknown[]) => ({ type: 'BODY', parameters })
const button = (sub_type: unknown, index: unknown, ...parameters: unknown[]) => ({
  type: 'BUTTON',
  sub_type,
  index,
  parameters,
})
const card = (card_index: number, ...components: unknown[]) => ({ card_index, components })
const carousel = (...cards: unknown[]) => ({ type: 'CAROUSEL', cards })

const action = (held: object) => ({ type: 'action', action: held })
const place = (more: object = {}) => ({
  type: 'location',
  location: { latitude: '51.5', longitude: -0.1, name: 'The shop', ...more },
})
const ending = (expiration_time_ms: unknown) => ({
  type: 'limited_time_offer',
  limited_time_offer: { expiration_time_ms },
})
const sections = (products: number, title = 'Shoes') => [
  { title, product_items: Array.from({ length: products }, (_, i) => ({ product_retailer_id: `a-${i}` })) },
]

/** What the template needs, and nothing else. */
const matching = {
  order_update: [header(text('A-1')), body(text('Ann'), text('Monday')), button('URL', '0', text('A-1'))],
  flash_sale: [
    header(file('image', 'sale.png')),
    body(text('Ann')),
    button('URL', '0', text('sale')),
    button('COPY_CODE', '1', { type: 'coupon_code', coupon_code: 'SAVE20' }),
  ],
  invoice: [header(file('document', 'invoice.pdf')), body(text('May')), button('URL', '1', text('42'))],
  welcome: [header(named('first_name', 'Ann')), body(named('day', 'Monday'), named('place', 'the pier'))],
  one_time_code: [body(text('123456')), button('URL', '0', text('123456'))],
  visit: [
    header(place()),
    body(text('Ann')),
    button('FLOW', '0', action({ flow_token: 'a', flow_action_data: { type: 'Big' } })),
  ],
  last_day: [
    header({ type: 'gif', gif: { link: 'https://files.example/a.mp4' } }),
    { type: 'LIMITED_TIME_OFFER', parameters: [ending(1_790_000_000_000)] },
    body(text('Ann')),
    button('COPY_CODE', '0', { type: 'coupon_code', coupon_code: 'SAVE20' }),
    button('URL', '1', text('sale')),
  ],
  one_product: [header({ type: 'product', product: { product_retailer_id: 'a-1', catalog_id: '12' } })],
  some_products: [button('MPM', '0', action({ thumbnail_product_retailer_id: 'a-1', sections: sections(2) }))],
}

const cardComponents = [header(file('image', 'a.png')), body(text('Shoes')), button('URL', '0', text('shoes'))]
const goodCarousel = carousel(card(0, ...cardComponents), card(1, ...cardComponents))

function faultsOf(raw: object, components?: unknown): Fault[] {
  const parsed = parseTemplateMessage(templateBody(components === undefined ? {} : { components }))
  if (!parsed.ok) throw new Error(`no such shape: ${JSON.stringify(parsed.faults)}`)
  return matchTemplate(shape(raw), parsed.message.content.template.components)
}

const replaced = <T>(list: readonly T[], position: number, ...by: T[]): T[] => list.toSpliced(position, 1, ...by)

describe('a message that matches', () => {
  test.each([
    ['text header, body, URL button', orderUpdate, matching.order_update],
    ['image header, coupon', flashSale, matching.flash_sale],
    ['document header, a call button before the URL button', invoice, matching.invoice],
    ['named parameters in another order', welcome, matching.welcome],
    ['a carousel', newArrivals, [goodCarousel]],
    [
      'a carousel with its cards in another order',
      newArrivals,
      [carousel(card(1, ...cardComponents), card(0, ...cardComponents))],
    ],
    ['a one-time code', oneTimeCode, matching.one_time_code],
    ['a place, a flow', visit, matching.visit],
    ['a flow that is only named', visit, replaced<object>(matching.visit, 2, button('FLOW', '0'))],
    ['an offer that ends', lastDay, matching.last_day],
    [
      'an offer that ends at a time given as text',
      lastDay,
      replaced<object>(matching.last_day, 1, { type: 'LIMITED_TIME_OFFER', parameters: [ending('1790000000000')] }),
    ],
    ['one product', oneProduct, matching.one_product],
    ['some products', someProducts, matching.some_products],
    ['a catalogue without a word', allProducts, undefined],
    [
      'a catalogue and its picture',
      allProducts,
      [button('CATALOG', 0, action({ thumbnail_product_retailer_id: 'a' }))],
    ],
    ['a code as its definition was written', writtenCode, matching.one_time_code],
    ['nothing to fill in, no components', plainHello, undefined],
    ['nothing to fill in, an empty list', plainHello, []],
    ['nothing to fill in, a body without parameters', plainHello, [{ type: 'BODY' }]],
    ['components in another order', orderUpdate, matching.order_update.toReversed()],
    ['index as a number', orderUpdate, replaced<object>(matching.order_update, 2, button('URL', 0, text('A-1')))],
    [
      'letters of another case',
      orderUpdate,
      JSON.parse(
        JSON.stringify(matching.order_update).replace(/HEADER|BODY|BUTTON|URL/g, (word) => word.toLowerCase()),
      ),
    ],
    [
      'a quick reply with a payload',
      orderUpdate,
      [...matching.order_update, button('QUICK_REPLY', 1, { type: 'payload', payload: 'stop' })],
    ],
    ['a quick reply without one', orderUpdate, [...matching.order_update, button('QUICK_REPLY', 1)]],
    [
      'a document with a file name',
      invoice,
      replaced<object>(
        matching.invoice,
        0,
        header({ type: 'document', document: { link: 'https://files.example/a', filename: 'a.pdf' } }),
      ),
    ],
    ['four spaces in a row', orderUpdate, replaced<object>(matching.order_update, 0, header(text('A    1')))],
  ])('has no faults: %s', (_, raw, components) => {
    expect(faultsOf(raw, components)).toEqual([])
  })
})

describe('a component', () => {
  const at = 'template.components'

  test.each([
    ['HEADER', 0, 'the header has 1 variable'],
    ['BODY', 1, 'the body has 2 variables'],
    ['BUTTON 0', 2, 'the address of this URL button has a variable'],
  ])('%s that is missing is a fault of the list', (slot, position, because) => {
    const message = `a ${slot} component is missing: ${because}`
    expect(faultsOf(orderUpdate, replaced(matching.order_update, position))).toEqual([{ path: at, message }])
  })

  test.each([
    ['HEADER', flashSale, replaced<object>(matching.flash_sale, 0), 'the header is of kind image'],
    ['BUTTON 1', flashSale, replaced<object>(matching.flash_sale, 3), 'this COPY_CODE button needs its code'],
    ['CAROUSEL', newArrivals, undefined, 'the template has 2 cards'],
  ])('%s that is missing is a fault: media, coupon, cards', (slot, raw, components, because) => {
    expect(faultsOf(raw, components)).toEqual([{ path: at, message: `a ${slot} component is missing: ${because}` }])
  })

  test.each([
    ['HEADER', plainHello, header(text('a'))],
    ['BUTTON', plainHello, button('URL', 0, text('a'))],
    ['CAROUSEL', plainHello, goodCarousel],
    ['LIMITED_TIME_OFFER', plainHello, matching.last_day[1]],
  ])('%s that the template does not have is a fault', (type, raw, component) => {
    const message = `expected no ${type} component: the approved template has none here`
    expect(faultsOf(raw, [component])).toEqual([{ path: `${at}[0]`, message }])
  })

  test.each(['FOOTER', 'BUTTONS', 'constructor'])('of type %s is a fault, as no template takes it', (type) => {
    const kinds = '"HEADER", "BODY", "BUTTON", "CAROUSEL" or "LIMITED_TIME_OFFER"'
    const message = `expected ${kinds}, got "${type.toUpperCase()}"`
    expect(faultsOf(plainHello, [{ type }])).toEqual([{ path: `${at}[0].type`, message }])
  })

  test.each<[string, object, unknown[], string, string]>([
    ['a place', visit, matching.visit.slice(1), at, 'a HEADER component is missing: the header is of kind location'],
    [
      'a flow',
      visit,
      matching.visit.slice(0, 2),
      at,
      'a BUTTON 0 component is missing: this FLOW button has to be named',
    ],
    ['products', someProducts, [], at, 'a BUTTON 0 component is missing: this MPM button needs its products'],
    [
      'the end of an offer',
      lastDay,
      matching.last_day.toSpliced(1, 1),
      at,
      'a LIMITED_TIME_OFFER component is missing: the offer says when it ends',
    ],
    [
      'a latitude beyond the pole',
      visit,
      replaced<object>(matching.visit, 0, header(place({ latitude: 91 }))),
      `${at}[0].parameters[0].location.latitude`,
      'expected degrees from -90 to 90',
    ],
    [
      'a latitude with a comma',
      visit,
      replaced<object>(matching.visit, 0, header(place({ latitude: '51,5' }))),
      `${at}[0].parameters[0].location.latitude`,
      'expected degrees from -90 to 90',
    ],
    [
      'a field of a place that WhatsApp does not know',
      visit,
      replaced<object>(matching.visit, 0, header(place({ floor: 2 }))),
      `${at}[0].parameters[0].location.floor`,
      'unknown field',
    ],
    [
      'seconds for milliseconds',
      lastDay,
      replaced<object>(matching.last_day, 1, { type: 'LIMITED_TIME_OFFER', parameters: [ending(1_790_000_000)] }),
      `${at}[1].parameters[0].limited_time_offer.expiration_time_ms`,
      'expected milliseconds since 1970',
    ],
    [
      'too many products',
      someProducts,
      [button('MPM', 0, action({ sections: [...sections(20), ...sections(11, 'Hats')] }))],
      `${at}[0].parameters[0].action.sections`,
      'at most 30 products in all sections',
    ],
    [
      'a button of one product',
      oneProduct,
      [...matching.one_product, button('SPM', 0)],
      `${at}[1]`,
      'expected no component for button 0: it is SPM and has nothing to fill in',
    ],
  ])('is checked by the rules of its kind: %s', (_, raw, components, path, message) => {
    expect(faultsOf(raw, components)).toEqual([{ path, message: expect.stringContaining(message) }])
  })

  test('of a template that cannot be filled in is not checked: the template is the fault', () => {
    const raw = { ...plainHello, components: [{ type: 'BUTTONS', buttons: [{ type: 'ORDER_DETAILS' }] }] }
    const message = 'the template cannot be sent: it has a button that Laneway cannot fill in: ORDER_DETAILS'
    expect(faultsOf(raw, [body(text('a'))])).toEqual([{ path: 'template.name', message }])
  })

  test('that comes twice is a fault, once per place', () => {
    const [first, second, third] = matching.order_update
    expect(faultsOf(orderUpdate, [first, second, third, first, third])).toEqual([
      { path: `${at}[3]`, message: 'expected one HEADER component, got another' },
      { path: `${at}[4]`, message: 'expected one BUTTON 0 component, got another' },
    ])
  })
})

const amount = (more: object = {}) => ({
  type: 'currency',
  currency: { fallback_value: '12,50 €', code: 'EUR', amount_1000: 12_500, ...more },
})

describe('text parameters', () => {
  const at = 'template.components[1].parameters'
  const bodyWith = (...parameters: unknown[]) =>
    faultsOf(orderUpdate, replaced<object>(matching.order_update, 1, body(...parameters)))

  test.each([
    ['too few', [text('Ann')], 'expected 2 parameters, got 1'],
    ['none', [], 'expected 2 parameters, got none'],
    ['too many', [text('a'), text('b'), text('c')], 'expected 2 parameters, got 3'],
  ])('%s: a fault of the list', (_, parameters, message) => {
    expect(bodyWith(...parameters)).toEqual([{ path: at, message }])
  })

  test('left out altogether count as none', () => {
    const components = replaced<object>(matching.order_update, 1, { type: 'BODY' })
    expect(faultsOf(orderUpdate, components)).toEqual([{ path: at, message: 'expected 2 parameters, got none' }])
  })

  test('are a fault when the text has no variable', () => {
    expect(faultsOf(plainHello, [body(text('a'))])).toEqual([
      { path: 'template.components[0].parameters', message: 'expected no parameters, got 1' },
    ])
  })

  test('more than one in a header is a fault, in a text and in a media header', () => {
    const fault = { path: 'template.components[0].parameters', message: 'expected 1 parameter, got 2' }
    expect(faultsOf(orderUpdate, replaced<object>(matching.order_update, 0, header(text('a'), text('b'))))).toEqual([
      fault,
    ])
    const images = header(file('image', 'a.png'), file('image', 'b.png'))
    expect(faultsOf(flashSale, replaced<object>(matching.flash_sale, 0, images))).toEqual([fault])
  })

  test.each([
    ['[0].type', file('image', 'a.png'), 'expected "text", got "image"'],
    ['[0].currency', { type: 'currency' }, 'required'],
    ['[0].currency.fallback_value', amount({ fallback_value: ' ' }), 'expected a text that can be seen'],
    ['[0].currency.code', amount({ code: 'euro' }), 'expected a currency such as EUR'],
    ['[0].currency.amount_1000', amount({ amount_1000: '12.50' }), 'expected a thousand times the amount'],
    ['[0].date_time.fallback_value', { type: 'date_time', date_time: {} }, 'required'],
    ['[0].text', { type: 'text' }, 'required'],
    ['[0].text', text(5), 'expected a string, got a number'],
    ['[0].text', text(null), 'expected a string, got null'],
    ['[0].text', text(''), 'at least 1 character, got 0'],
    ['[0].text', text('a\nb'), 'expected no line break and no tab'],
    ['[0].text', text('a\rb'), 'expected no line break and no tab'],
    ['[0].text', text('a\tb'), 'expected no line break and no tab'],
    ['[0].text', text('a\u2028b'), 'expected no line break and no tab'],
    ['[0].text', text(' \u200b'), 'expected a text that can be seen'],
    ['[0].text', text('\u3164'), 'expected a text that can be seen'],
    ['[0].text', text('a     b'), 'at most 4 spaces in a row, got more'],
  ])('%s: %j is a fault', (path, parameter, message) => {
    expect(bodyWith(parameter, text('Monday'))).toEqual([{ path: `${at}${path}`, message }])
  })

  test('may be amounts and times, which WhatsApp shows by their text', () => {
    const time = { type: 'DATE_TIME', date_time: { fallback_value: '1 May', day_of_month: 1 } }
    expect(bodyWith(amount(), time)).toEqual([])
    const long = amount({ fallback_value: 'x'.repeat(1_024) })
    expect(bodyWith(long, time)).toEqual([{ path: at, message: expect.stringContaining('at most 1024 characters') }])
    expect(faultsOf(orderUpdate, replaced<object>(matching.order_update, 0, header(amount())))).toEqual([
      { path: 'template.components[0].parameters[0].type', message: 'expected "text", got "currency"' },
    ])
  })

  test('in the wrong number are still checked one by one', () => {
    expect(bodyWith(text(''), text('b'), text('\n'))).toEqual([
      { path: at, message: 'expected 2 parameters, got 3' },
      { path: `${at}[0].text`, message: 'at least 1 character, got 0' },
      { path: `${at}[2].text`, message: 'expected no line break and no tab' },
    ])
  })

  test('make a text too long only when it exceeds the limit completely filled in', () => {
    const headerWith = (length: number) =>
      faultsOf(orderUpdate, replaced<object>(matching.order_update, 0, header(text('x'.repeat(length)))))
    expect(headerWith(60 - 'Order '.length)).toEqual([])
    expect(headerWith(61 - 'Order '.length)).toEqual([
      {
        path: 'template.components[0].parameters',
        message: 'at most 60 characters with the parameters filled in, got 61',
      },
    ])
    const fixed = 'Hi , your order leaves us on b.'.length
    expect(bodyWith(text('x'.repeat(1024 - fixed)), text('b'))).toEqual([])
    expect(bodyWith(text('x'.repeat(1025 - fixed)), text('b'))).toEqual([
      { path: at, message: 'at most 1024 characters with the parameters filled in, got 1025' },
    ])
  })

  test('of an authentication template are codes of at most 15 characters, in the body and in the button', () => {
    const message = 'at most 15 characters in an authentication template, got 16'
    expect(faultsOf(oneTimeCode, [body(text('1'.repeat(16))), button('URL', 0, text('1'.repeat(16)))])).toEqual([
      { path: 'template.components[0].parameters[0].text', message },
      { path: 'template.components[1].parameters[0].text', message },
    ])
    expect(faultsOf(oneTimeCode, [body(text('1'.repeat(15))), button('URL', 0, text('1'.repeat(15)))])).toEqual([])
  })
})

describe('named parameters', () => {
  const at = 'template.components[1].parameters'
  const bodyWith = (...parameters: unknown[]) =>
    faultsOf(welcome, replaced<object>(matching.welcome, 1, body(...parameters)))

  test.each([
    [
      'without a name',
      [text('Monday'), named('place', 'a')],
      [
        ['[0].parameter_name', 'required'],
        ['', 'expected a parameter named "day", got none'],
      ],
    ],
    [
      'with an unknown name',
      [named('day', 'a'), named('place', 'a'), named('hour', '9')],
      [['[2].parameter_name', 'expected "place" or "day", got "hour"']],
    ],
    [
      'with a name given twice',
      [named('day', 'a'), named('place', 'a'), named('day', 'b')],
      [['[2].parameter_name', 'expected each name once, got "day" again']],
    ],
    ['one of which is missing', [named('day', 'a')], [['', 'expected a parameter named "place", got none']]],
    ['one of which is empty', [named('day', ''), named('place', 'a')], [['[0].text', 'at least 1 character, got 0']]],
  ])('%s: a fault', (_, parameters, faults) => {
    expect(bodyWith(...parameters)).toEqual(faults.map(([path, message]) => ({ path: `${at}${path}`, message })))
  })

  test('count in the length at every place of their variable', () => {
    const fixed = 'Your table at  is booked for d. See you at !'.length
    const place = (length: number) => bodyWith(named('day', 'd'), named('place', 'x'.repeat(length)))
    expect(place((1024 - fixed) / 2)).toEqual([])
    expect(place((1024 - fixed) / 2 + 1)).toEqual([
      { path: at, message: 'at most 1024 characters with the parameters filled in, got 1026' },
    ])
  })

  test('are a fault when the text has no variable', () => {
    const raw = { ...plainHello, parameter_format: 'NAMED' }
    expect(faultsOf(raw, [body(named('a', 'b'))])).toEqual([
      { path: 'template.components[0].parameters', message: 'expected no parameters, got 1' },
    ])
  })
})

describe('a media header', () => {
  const at = 'template.components[0].parameters'
  const headerWith = (...parameters: unknown[]) =>
    faultsOf(flashSale, replaced<object>(matching.flash_sale, 0, header(...parameters)))

  test.each([
    ['', [], 'expected 1 parameter, got none'],
    ['[0].type', [text('a')], 'expected "image", got "text"'],
    ['[0].type', [file('video', 'a.mp4')], 'expected "image", got "video"'],
    ['[0].image', [{ type: 'image' }], 'required'],
    ['[0].image', [{ type: 'image', image: 'https://files.example/a.png' }], 'expected an object, got a string'],
    ['[0].image.link', [{ type: 'image', image: {} }], 'required'],
    [
      '[0].image',
      [{ type: 'image', image: { id: '1', gallery: '2' } }],
      'expected one of link, id and gallery, got id and gallery',
    ],
    [
      '[0].image.link',
      [{ type: 'image', image: { link: '/a.png' } }],
      'expected an absolute http or https address, got "/a.png"',
    ],
  ])('%s: %j is a fault', (path, parameters, message) => {
    expect(headerWith(...parameters)).toEqual([{ path: `${at}${path}`, message }])
  })

  test('refuses an empty file name of a document', () => {
    const document = { link: 'https://files.example/a.pdf', filename: '' }
    expect(faultsOf(invoice, replaced<object>(matching.invoice, 0, header({ type: 'document', document })))).toEqual([
      { path: `${at}[0].document.filename`, message: 'at least 1 character, got 0' },
    ])
  })
})

describe('a button', () => {
  const at = 'template.components[2]'
  const urlWith = (component: object) => faultsOf(orderUpdate, replaced<object>(matching.order_update, 2, component))
  const missing = {
    path: 'template.components',
    message: 'a BUTTON 0 component is missing: the address of this URL button has a variable',
  }

  test.each([undefined, '2', '-1', '01', '0.0', ' 0', '1e0', 'first', '', 2, -1, 0.5])(
    'of index %j is a fault',
    (index) => {
      const message = index === undefined ? 'required' : `expected 0 to 1, got "${index}"`
      expect(urlWith(button('URL', index, text('a')))).toEqual([{ path: `${at}.index`, message }, missing])
    },
  )

  test('without an index is a fault each time, but none repeats another', () => {
    const required = (position: number) => ({ path: `template.components[${position}].index`, message: 'required' })
    const nowhere = button('URL', undefined, text('a'))
    expect(faultsOf(orderUpdate, [...matching.order_update, nowhere, nowhere])).toEqual([required(3), required(4)])
  })

  test.each([
    [undefined, 'required'],
    ['QUICK_REPLY', 'expected "URL", got "QUICK_REPLY"'],
    ['PHONE_NUMBER', 'expected "URL", got "PHONE_NUMBER"'],
    ['carrier pigeon', 'expected "URL", got "CARRIER PIGEON"'],
  ])('of sub type %j at a URL button is a fault', (subType, message) => {
    expect(urlWith(button(subType, 0, text('a')))).toEqual([{ path: `${at}.sub_type`, message }])
  })

  test.each([
    ['.parameters', [], 'expected 1 parameter, got none'],
    ['.parameters', [text('a'), text('b')], 'expected 1 parameter, got 2'],
    ['.parameters[0].type', [{ type: 'payload', payload: 'a' }], 'expected "text", got "payload"'],
    ['.parameters[0].text', [text('')], 'at least 1 character, got 0'],
    ['.parameters[0].text', [text('a\tb')], 'expected no line break and no tab'],
    [
      '.parameters',
      [text('x'.repeat(2001 - 'https://shop.example/track/'.length))],
      'at most 2000 characters with the parameters filled in, got 2001',
    ],
  ])('to a URL with a variable needs exactly one text%s (%#)', (path, parameters, message) => {
    expect(urlWith(button('URL', 0, ...parameters))).toEqual([{ path: `${at}${path}`, message }])
  })

  test.each([
    ['.parameters', [], 'expected 1 parameter, got none'],
    ['.parameters[0].type', [text('SAVE20')], 'expected "coupon_code", got "text"'],
    ['.parameters[0].coupon_code', [{ type: 'coupon_code' }], 'required'],
    ['.parameters[0].coupon_code', [{ type: 'coupon_code', coupon_code: '' }], 'at least 1 character, got 0'],
    [
      '.parameters[0].coupon_code',
      [{ type: 'coupon_code', coupon_code: 'x'.repeat(16) }],
      'at most 15 characters, got 16',
    ],
  ])('to copy a code needs exactly one coupon%s (%#)', (path, parameters, message) => {
    const components = replaced<object>(matching.flash_sale, 3, button('COPY_CODE', 1, ...parameters))
    expect(faultsOf(flashSale, components)).toEqual([{ path: `template.components[3]${path}`, message }])
  })

  test.each([
    [
      '.parameters',
      [
        { type: 'payload', payload: 'a' },
        { type: 'payload', payload: 'b' },
      ],
      'expected 1 parameter, got 2',
    ],
    ['.parameters[0].type', [text('a')], 'expected "payload", got "text"'],
    ['.parameters[0].payload', [{ type: 'payload' }], 'required'],
    ['.parameters[0].payload', [{ type: 'payload', payload: 'x'.repeat(129) }], 'at most 128 characters, got 129'],
  ])('for a quick reply has at most one payload%s (%#)', (path, parameters, message) => {
    const components = [...matching.order_update, button('QUICK_REPLY', 1, ...parameters)]
    expect(faultsOf(orderUpdate, components)).toEqual([{ path: `template.components[3]${path}`, message }])
  })

  test('to call somebody, or to a static URL, accepts no component', () => {
    const message = (kind: string) => `expected no component for button 0: it is ${kind} and has nothing to fill in`
    expect(faultsOf(invoice, [...matching.invoice, button('PHONE_NUMBER', 0)])).toEqual([
      { path: 'template.components[3]', message: message('PHONE_NUMBER') },
    ])
    expect(faultsOf(welcome, [...matching.welcome, button('URL', 0, text('a'))])).toEqual([
      { path: 'template.components[2]', message: message('URL') },
    ])
  })

  test('counts the call button before it: index 0 is not the URL button', () => {
    expect(faultsOf(invoice, replaced<object>(matching.invoice, 2, button('URL', 0, text('42'))))).toEqual([
      { path: `${at}.sub_type`, message: 'expected "PHONE_NUMBER", got "URL"' },
      {
        path: 'template.components',
        message: 'a BUTTON 1 component is missing: the address of this URL button has a variable',
      },
    ])
  })
})

describe('a carousel', () => {
  const at = 'template.components[0].cards'
  const cardsOf = (...cards: unknown[]) => faultsOf(newArrivals, [carousel(...cards)])
  const good = (index: number) => card(index, ...cardComponents)

  test('without cards is a fault', () => {
    expect(faultsOf(newArrivals, [{ type: 'CAROUSEL' }])).toEqual([{ path: at, message: 'required' }])
  })

  test.each([
    [
      'too few',
      [good(0)],
      [
        ['', 'expected 2 cards, got 1'],
        ['', 'the card with card_index 1 is missing'],
      ],
    ],
    [
      'too many',
      [good(0), good(1), good(2)],
      [
        ['', 'expected 2 cards, got 3'],
        ['[2].card_index', 'expected 0 to 1, got 2'],
      ],
    ],
    [
      'one twice',
      [good(1), good(1)],
      [
        ['[1].card_index', 'expected each card once, got 1 again'],
        ['', 'the card with card_index 0 is missing'],
      ],
    ],
    [
      'counted from one',
      [good(1), good(2)],
      [
        ['[1].card_index', 'expected 0 to 1, got 2'],
        ['', 'the card with card_index 0 is missing'],
      ],
    ],
    [
      'a negative index',
      [good(0), good(-1)],
      [
        ['[1].card_index', 'expected 0 to 1, got -1'],
        ['', 'the card with card_index 1 is missing'],
      ],
    ],
  ])('with wrong cards is a fault: %s', (_, cards, faults) => {
    expect(cardsOf(...cards)).toEqual(faults.map(([path, message]) => ({ path: `${at}${path}`, message })))
  })

  test('has each card checked like a template, under its own path', () => {
    const cards = [card(0, header(file('video', 'a.mp4')), body(text('a'), text('b'))), { card_index: 1 }]
    const because = (slot: string, why: string) => `a ${slot} component is missing: ${why}`
    expect(cardsOf(...cards)).toEqual([
      { path: `${at}[0].components[0].parameters[0].type`, message: 'expected "image", got "video"' },
      { path: `${at}[0].components[1].parameters`, message: 'expected 1 parameter, got 2' },
      { path: `${at}[0].components`, message: because('BUTTON 0', 'the address of this URL button has a variable') },
      { path: `${at}[1].components`, message: because('HEADER', 'the header is of kind image') },
      { path: `${at}[1].components`, message: because('BODY', 'the body has 1 variable') },
      { path: `${at}[1].components`, message: because('BUTTON 0', 'the address of this URL button has a variable') },
    ])
  })

  test('may have no carousel inside its cards', () => {
    expect(cardsOf(good(0), card(1, ...cardComponents, { type: 'CAROUSEL' }))).toEqual([
      {
        path: `${at}[1].components[3]`,
        message: 'expected no CAROUSEL component: the approved template has none here',
      },
    ])
  })

  test('has lower limits for texts on its cards', () => {
    const fixed = 'Only  today'.length
    const first = (length: number) => card(0, ...replaced<object>(cardComponents, 1, body(text('x'.repeat(length)))))
    expect(cardsOf(first(160 - fixed), good(1))).toEqual([])
    expect(cardsOf(first(161 - fixed), good(1))).toEqual([
      {
        path: `${at}[0].components[1].parameters`,
        message: 'at most 160 characters with the parameters filled in, got 161',
      },
    ])
  })
})

test('all faults of a message are returned at once', () => {
  const components = [
    header(text('a'), text('b')),
    body(text('a\nb'), file('image', 'a.png'), text('c')),
    button('COPY_CODE', '0', { type: 'coupon_code', coupon_code: 'x' }),
    button('URL', '7', text('a')),
    { type: 'FOOTER' },
    goodCarousel,
  ]
  expect(faultsOf(orderUpdate, components).map((fault) => fault.path)).toEqual([
    'template.components[0].parameters',
    'template.components[1].parameters',
    'template.components[1].parameters[0].text',
    'template.components[1].parameters[1].type',
    'template.components[2].sub_type',
    'template.components[2].parameters[0].type',
    'template.components[3].index',
    'template.components[4].type',
    'template.components[5]',
  ])
})
