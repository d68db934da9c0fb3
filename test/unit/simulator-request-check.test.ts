// Pins: what each wire accepts, and the code and the details with which it refuses anything else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Refusal } from '../../packages/simulator/src/chat-errors.ts'
import {
  cloudMessage,
  type PartnerMessage,
  partnerServiceMessage,
  partnerTemplateMessage,
} from '../../packages/simulator/src/message-schema.ts'
import { checkMessage } from '../../packages/simulator/src/request-check.ts'
import { cloudText, partnerImage, partnerTemplate } from '../support/simulator-wires.ts'

type Body = Record<string, unknown>

const TO = '+491701234567'
const LINK = 'https://example.com/a.jpg'

function cloud(body: Body): Refusal | null {
  const checked = checkMessage(cloudMessage, body, 'cloud')
  return 'refusal' in checked ? checked.refusal : null
}

function partner(body: Body): Refusal | null {
  const schema = body.type === 'template' ? partnerTemplateMessage : partnerServiceMessage
  const checked = checkMessage<PartnerMessage>(schema, body, 'partner')
  return 'refusal' in checked ? checked.refusal : null
}

const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `r${index}`, title: `Row ${index}` }))
const replies = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ type: 'reply', reply: { id: `b${index}`, title: `Button ${index}` } }))

function list(more: Body = {}): Body {
  const action = { button: 'Open', sections: [{ title: 'All', rows: rows(3) }] }
  return { type: 'list', body: { text: 'Choose' }, action, ...more }
}

function buttons(more: Body = {}): Body {
  const header = { type: 'text', text: 'Hello' }
  return { type: 'button', header, body: { text: 'Choose' }, action: { buttons: replies(3) }, ...more }
}

const PLAIN = 'TEXT, IMAGE, VIDEO, AUDIO, DOCUMENT, STICKER, LOCATION, CONTACTS, REACTION'

const HEADERS = [
  { type: 'text', text: 'Hello' },
  { type: 'image', image: { link: LINK } },
  { type: 'video', video: { link: LINK } },
  { type: 'document', document: { link: LINK, filename: 'a.pdf' } },
]

const cloudInteractive = (interactive: Body) => cloudText(TO, { type: 'interactive', interactive, text: undefined })
const partnerInteractive = (interactive: Body) =>
  partnerImage(TO, { type: 'interactive', interactive, image: undefined })

const SEND_LOCATION = { name: 'send_location' }
const linkButton = (display_text = 'Open', url = LINK): Body => ({
  type: 'cta_url',
  body: { text: 'Look' },
  action: { name: 'cta_url', parameters: { display_text, url } },
})

/** Each kind that is neither interactive nor a template, good. */
const PLAIN_KINDS: Record<string, unknown> = {
  text: { body: 'Hello', preview_url: true },
  image: { link: LINK, caption: 'Look' },
  video: { link: LINK, caption: 'Look' },
  audio: { link: LINK },
  document: { link: LINK, caption: 'Look', filename: 'a.pdf' },
  sticker: { link: LINK },
  location: { latitude: 52.5, longitude: 13.4, name: 'Office', address: 'Here 1' },
  contacts: [{ name: { formatted_name: 'Ada' }, phones: [{ phone: '+14155550123', type: 'WORK' }] }],
  reaction: { message_id: 'wamid.1', emoji: '👍' },
}
const kindOn = (base: Body, type: string, content: unknown, more: Body = {}): Body =>
  wired({ ...base, text: undefined, image: undefined, type, [type]: content, ...more })
const onBoth = (type: string, content: unknown, more: Body = {}) => [
  cloud(kindOn(cloudText(TO), type, content, more)),
  partner(kindOn(partnerImage(TO), type, content, more)),
]

/** `undefined` written in a test means that the field is not there, as it is after JSON. */
function wired(body: Body): Body {
  const parsed: unknown = JSON.parse(JSON.stringify(body))
  return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
}

describe('both wires accept', () => {
  test.each([
    ['a list', list()],
    ['a list with a text header and a footer', list({ header: HEADERS[0], footer: { text: 'Bye' } })],
    [
      'a list of ten rows in two titled sections',
      list({
        action: {
          button: 'x'.repeat(20),
          sections: [
            { title: 'A', rows: rows(5) },
            { title: 'B', rows: rows(10).slice(5) },
          ],
        },
      }),
    ],
    ['a list of one section without a title', list({ action: { button: 'Open', sections: [{ rows: rows(1) }] } })],
    ['buttons', buttons()],
    ...HEADERS.map((header): [string, Body] => [`buttons under a ${header.type} header`, buttons({ header })]),
    ['a link', linkButton()],
    ['a request for a location', { type: 'location_request_message', body: { text: 'Where?' }, action: SEND_LOCATION }],
  ])('%s', (_, interactive) => {
    expect(cloud(wired(cloudInteractive(interactive)))).toBeNull()
    expect(partner(wired(partnerInteractive(interactive)))).toBeNull()
  })

  test.each(['491701234567', '+49 170 1234567', '+49 (170) 123-45.67'])('the recipient %s', (to) => {
    expect(cloud(cloudText(to))).toBeNull()
    expect(partner(partnerImage(to))).toBeNull()
  })
})

describe('every kind', () => {
  test.each(Object.entries(PLAIN_KINDS))('%s is accepted on both wires', (type, content) => {
    expect(onBoth(type, content)).toEqual([null, null])
  })

  test.each(Object.entries(PLAIN_KINDS))('%s may quote a message, unless it is a reaction', (type, content) => {
    const refusals = onBoth(type, content, { context: { message_id: 'wamid.1' } })
    const expected = type === 'reaction' ? { code: 100, details: 'Unexpected key "context".' } : null
    expect(refusals).toEqual([expected, expected])
  })

  test.each<[string, string, unknown, number, string]>([
    ['a text of 4,097', 'text', { body: 'x'.repeat(4097) }, 100, "text['body']: Max length: 4096"],
    ['six contacts', 'contacts', Array(6).fill({ name: { formatted_name: 'A' } }), 100, 'contacts: Max items: 5'],
    ['a contact without a name', 'contacts', [{}], 100, "The parameter contacts[0]['name'] is required."],
    ['a latitude of 91', 'location', { latitude: 91, longitude: 0 }, 131009, "location['latitude']: Max value: 90"],
    [
      'a sticker with a caption',
      'sticker',
      { link: LINK, caption: 'x' },
      100,
      'Unexpected key "caption" on param "sticker".',
    ],
    ['a reaction to nothing', 'reaction', { emoji: '👍' }, 100, "The parameter reaction['message_id'] is required."],
    [
      'a link of 21 characters',
      'interactive',
      linkButton('x'.repeat(21)),
      131009,
      "interactive['action']['parameters']['display_text']: Max length: 20",
    ],
  ])('%s is refused on both wires', (_, type, content, code, details) => {
    expect(onBoth(type, content)).toEqual([
      { code, details },
      { code, details },
    ])
  })
})

describe('the wires differ', () => {
  test('a list under a medium is refused on the cloud wire only', () => {
    for (const header of HEADERS.slice(1)) {
      expect(partner(wired(partnerInteractive(list({ header }))))).toBeNull()
      expect(cloud(wired(cloudInteractive(list({ header }))))).toEqual({
        code: 100,
        details: `Param interactive['header']['type'] must be one of {TEXT} - got "${header.type}".`,
      })
    }
  })

  test('buttons without a header are refused on the partner wire only', () => {
    expect(cloud(wired(cloudInteractive(buttons({ header: undefined }))))).toBeNull()
    const details = "The parameter interactive['header'] is required."
    expect(partner(wired(partnerInteractive(buttons({ header: undefined }))))).toEqual({ code: 100, details })
  })

  test('a file may be given by id on the cloud wire only, and by exactly one of id and link', () => {
    const image = (medium: Body, text = undefined) => cloudText(TO, { type: 'image', image: medium, text })
    expect(cloud(wired(image({ id: '123' })))).toBeNull()
    expect(cloud(wired(image({ link: LINK, caption: 'Look' })))).toBeNull()
    expect(cloud(wired(image({ id: '123', link: LINK })))).toEqual({
      code: 100,
      details: 'image: needs exactly one of id and link',
    })
    expect(partner(partnerImage(TO, { image: { id: '123' } }))).toEqual({ code: 100, details: 'image: needs a link' })
  })

  test('the messaging product has another name on each', () => {
    expect(cloud(cloudText(TO, { messaging_product: 'chatapp' }))).toEqual({
      code: 100,
      details: 'Param messaging_product must be one of {WHATSAPP} - got "chatapp".',
    })
    expect(partner(partnerImage(TO, { messaging_product: 'whatsapp' }))).toEqual({
      code: 100,
      details: 'Param messaging_product must be one of {CHATAPP} - got "whatsapp".',
    })
  })

  test('the recipient type may be left out on the cloud wire only', () => {
    expect(cloud(wired(cloudText(TO, { recipient_type: undefined })))).toBeNull()
    expect(partner(wired(partnerImage(TO, { recipient_type: undefined })))?.code).toBe(100)
  })
})

describe('the cloud wire refuses', () => {
  test.each<[string, Body, number, string]>([
    ['no messaging product', { messaging_product: undefined }, 100, 'The parameter messaging_product is required.'],
    ['a recipient that is no number', { to: 'nobody' }, 100, 'to: must be a phone number with country code'],
    [
      'a kind that it does not know',
      { type: 'poem' },
      100,
      `Param type must be one of {${PLAIN}, INTERACTIVE, TEMPLATE} - got "poem".`,
    ],
    ['an unknown field', { colour: 'red' }, 100, 'Unexpected key "colour".'],
    [
      'an unknown field deeper down',
      { text: { body: 'x', colour: 'red' } },
      100,
      'Unexpected key "colour" on param "text".',
    ],
    ['an empty text', { text: { body: '' } }, 100, "text['body']: Min length: 1"],
    ['a text of 4,097', { text: { body: 'x'.repeat(4097) } }, 100, "text['body']: Max length: 4096"],
    ['a text that is no string', { text: { body: 5 } }, 100, "Param text['body'] must be of type string - got number."],
    [
      'opaque data of 513',
      { biz_opaque_callback_data: 'x'.repeat(513) },
      100,
      'biz_opaque_callback_data: Max length: 512',
    ],
  ])('%s', (_, more, code, details) => {
    expect(cloud(wired(cloudText(TO, more)))).toEqual({ code, details })
  })

  test.each<[string, Body, number, string]>([
    [
      'a list body of 1,025',
      list({ body: { text: 'x'.repeat(1025) } }),
      131009,
      "interactive['body']['text']: Max length: 1024",
    ],
    [
      'a header of 61',
      list({ header: { type: 'text', text: 'x'.repeat(61) } }),
      131009,
      "interactive['header']['text']: Max length: 60",
    ],
    [
      'a footer of 61',
      list({ footer: { text: 'x'.repeat(61) } }),
      131009,
      "interactive['footer']['text']: Max length: 60",
    ],
    [
      'eleven rows over two sections',
      list({
        action: {
          button: 'Open',
          sections: [
            { title: 'A', rows: rows(6) },
            { title: 'B', rows: rows(11).slice(6) },
          ],
        },
      }),
      131009,
      "interactive['action']['sections']: total row count exceeds max allowed count: 10",
    ],
    [
      'two sections of which one has no title',
      list({ action: { button: 'Open', sections: [{ title: 'A', rows: rows(1) }, { rows: rows(2).slice(1) }] } }),
      131009,
      "interactive['action']['sections']: every section needs a title when there is more than one",
    ],
    [
      'a row id used twice',
      list({ action: { button: 'Open', sections: [{ rows: [...rows(1), ...rows(1)] }] } }),
      131009,
      "interactive['action']['sections']: duplicated row id",
    ],
    [
      'a section without rows',
      list({ action: { button: 'Open', sections: [{ rows: [] }] } }),
      131009,
      "interactive['action']['sections'][0]['rows']: Min items: 1",
    ],
    [
      'a row title of 25',
      list({ action: { button: 'Open', sections: [{ rows: [{ id: 'a', title: 'x'.repeat(25) }] }] } }),
      131009,
      "interactive['action']['sections'][0]['rows'][0]['title']: Max length: 24",
    ],
    [
      'a row description of 73',
      list({
        action: { button: 'Open', sections: [{ rows: [{ id: 'a', title: 'x', description: 'x'.repeat(73) }] }] },
      }),
      131009,
      "interactive['action']['sections'][0]['rows'][0]['description']: Max length: 72",
    ],
    [
      'a list button of 21',
      list({ action: { button: 'x'.repeat(21), sections: [{ rows: rows(1) }] } }),
      131009,
      "interactive['action']['button']: Max length: 20",
    ],
    [
      'four buttons',
      buttons({ action: { buttons: replies(4) } }),
      131009,
      "interactive['action']['buttons']: Max items: 3",
    ],
    ['no button', buttons({ action: { buttons: [] } }), 131009, "interactive['action']['buttons']: Min items: 1"],
    [
      'a button title of 21',
      buttons({ action: { buttons: [{ type: 'reply', reply: { id: 'a', title: 'x'.repeat(21) } }] } }),
      131009,
      "interactive['action']['buttons'][0]['reply']['title']: Max length: 20",
    ],
    [
      'a button id with a space at its end',
      buttons({ action: { buttons: [{ type: 'reply', reply: { id: 'a ', title: 'x' } }] } }),
      131009,
      "interactive['action']['buttons'][0]['reply']['id']: has a leading or trailing space",
    ],
    [
      'a button id used twice',
      buttons({ action: { buttons: [...replies(1), { type: 'reply', reply: { id: 'b0', title: 'Other' } }] } }),
      131009,
      "interactive['action']['buttons']: duplicated button id",
    ],
    [
      'a button title used twice',
      buttons({ action: { buttons: [...replies(1), { type: 'reply', reply: { id: 'b9', title: 'Button 0' } }] } }),
      131009,
      "interactive['action']['buttons']: duplicated button title",
    ],
    [
      'an unknown kind of interactive message',
      { type: 'carousel' },
      100,
      'Param interactive[\'type\'] must be one of {LIST, BUTTON, CTA_URL, LOCATION_REQUEST_MESSAGE, FLOW, PRODUCT, PRODUCT_LIST, CATALOG_MESSAGE} - got "carousel".',
    ],
    ['no body', buttons({ body: undefined }), 100, "The parameter interactive['body'] is required."],
    [
      'a link that is none',
      buttons({ header: { type: 'image', image: { link: 'a.jpg' } } }),
      131009,
      "interactive['header']['image']['link'] is not valid",
    ],
  ])('%s', (_, interactive, code, details) => {
    expect(cloud(wired(cloudInteractive(interactive)))).toEqual({ code, details })
  })
})

test('an object in place of a name is quoted, whatever its own field names', () => {
  expect(cloud(cloudText(TO, { messaging_product: { toString: 1, valueOf: 1 } }))?.details).toContain('toString')
})

describe('the partner wire refuses', () => {
  test.each<[string, Body, number, string]>([
    ['no recipient type', { recipient_type: undefined }, 100, 'The parameter recipient_type is required.'],
    [
      'a kind that it does not know',
      { type: 'poem' },
      100,
      `Param type must be one of {${PLAIN}, INTERACTIVE} - got "poem".`,
    ],
    ['an image without its object', { image: undefined }, 100, 'The parameter image is required.'],
    [
      'a caption of 1,025',
      { image: { link: LINK, caption: 'x'.repeat(1025) } },
      131009,
      "image['caption']: Max length: 1024",
    ],
    [
      'an audio with a caption',
      { type: 'audio', audio: { link: LINK, caption: 'x' }, image: undefined },
      100,
      'Unexpected key "caption" on param "audio".',
    ],
  ])('%s', (_, more, code, details) => {
    expect(partner(wired(partnerImage(TO, more)))).toEqual({ code, details })
  })

  test('a document header without a file name', () => {
    const header = { type: 'document', document: { link: LINK } }
    const details = "The parameter interactive['header']['document']['filename'] is required."
    expect(partner(wired(partnerInteractive(buttons({ header }))))).toEqual({ code: 100, details })
  })

  test('a template without a sender', () => {
    const details = 'The parameter sender is required.'
    expect(partner(wired(partnerTemplate(TO, { sender: undefined })))).toEqual({ code: 100, details })
  })
})

describe('templates', () => {
  const text = (value: string) => ({ type: 'text', text: value })
  const template = (components: unknown, more: Body = {}) => ({
    name: 'order_update',
    language: { code: 'en_US' },
    components,
    ...more,
  })
  const ofCloud = (components: unknown, more: Body = {}) =>
    cloud(wired(cloudText(TO, { type: 'template', text: undefined, template: template(components, more) })))
  const ofPartner = (components: unknown) => partner(partnerTemplate(TO, { template: template(components) }))
  const card = (index: number, components: unknown = [{ type: 'BODY', parameters: [text('x')] }]) => ({
    card_index: index,
    components,
  })

  const GOOD: [string, unknown][] = [
    ['nothing', []],
    ['a text header', [{ type: 'HEADER', parameters: [text('x')] }]],
    ...['IMAGE', 'VIDEO', 'DOCUMENT'].map((kind): [string, unknown] => [
      `a header of type ${kind}`,
      [{ type: 'HEADER', parameters: [{ type: kind, [kind.toLowerCase()]: { link: LINK } }] }],
    ]),
    ['body texts', [{ type: 'BODY', parameters: [text('x'), text('y')] }]],
    ['a link button', [{ type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text('x')] }]],
    [
      'a copy-code button',
      [
        {
          type: 'BUTTON',
          sub_type: 'COPY_CODE',
          index: '1',
          parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }],
        },
      ],
    ],
    ['a quick reply without a payload', [{ type: 'BUTTON', sub_type: 'QUICK_REPLY', index: '1', parameters: [] }]],
    [
      'a quick reply with a payload',
      [{ type: 'BUTTON', sub_type: 'QUICK_REPLY', index: '1', parameters: [{ type: 'payload', payload: 'p' }] }],
    ],
    ['a carousel', [{ type: 'CAROUSEL', cards: [card(1), card(0)] }]],
  ]

  test.each(GOOD)('both wires accept %s', (_, components) => {
    expect(ofCloud(components)).toBeNull()
    expect(ofPartner(components)).toBeNull()
  })

  test.each(GOOD)('both wires accept %s in lower case', (_, components) => {
    const lowered: unknown = JSON.parse(
      JSON.stringify(components).replaceAll(
        /"(HEADER|BODY|BUTTON|CAROUSEL|IMAGE|VIDEO|DOCUMENT|URL|COPY_CODE|QUICK_REPLY)"/g,
        (word) => word.toLowerCase(),
      ),
    )
    expect(ofCloud(lowered)).toBeNull()
    expect(ofPartner(lowered)).toBeNull()
  })

  test('a button index may be a number on the cloud wire only', () => {
    const button = [{ type: 'button', sub_type: 'url', index: 0, parameters: [text('x')] }]
    expect(ofCloud(button)).toBeNull()
    expect(ofPartner(button)?.code).toBe(100)
  })

  const acting = (sub_type: string, ...parameters: unknown[]) => [{ type: 'button', sub_type, index: '0', parameters }]
  const action = (held: unknown) => ({ type: 'action', action: held })
  const products = { sections: [{ title: 'Shoes', product_items: [{ product_retailer_id: 'a' }] }] }
  const place = { latitude: '1.5', longitude: -2 }
  const ends = { type: 'limited_time_offer', limited_time_offer: { expiration_time_ms: 1_790_000_000_000 } }

  test.each<[string, unknown]>([
    ['a place', [{ type: 'header', parameters: [{ type: 'location', location: place }] }]],
    [
      'a product',
      [{ type: 'header', parameters: [{ type: 'product', product: { product_retailer_id: 'a', catalog_id: 'b' } }] }],
    ],
    ['a GIF', [{ type: 'header', parameters: [{ type: 'gif', gif: { link: LINK } }] }]],
    ['an offer', [{ type: 'limited_time_offer', parameters: [ends] }]],
    ['a flow that is only named', acting('flow')],
    ['a flow', acting('FLOW', action({ flow_token: 'a', flow_action_data: { a: [1] } }))],
    ['a catalogue', acting('catalog', action({ thumbnail_product_retailer_id: 'a' }))],
    ['products', acting('mpm', action(products))],
  ])('only the cloud wire accepts %s', (_, components) => {
    expect(ofCloud(components)).toBeNull()
    expect(ofPartner(components)).not.toBeNull()
  })

  test.each<[string, unknown, number]>([
    [
      'a place without a longitude',
      [{ type: 'header', parameters: [{ type: 'location', location: { latitude: 1 } }] }],
      132012,
    ],
    ['an offer without an end', [{ type: 'limited_time_offer', parameters: [] }], 132012],
    ['products without products', acting('mpm'), 131008],
    ['a flow with a text', acting('flow', text('a')), 132018],
    ['a button of one product', acting('spm'), 100],
  ])('the cloud wire refuses %s', (_, components, code) => {
    expect(ofCloud(components)?.code).toBe(code)
  })

  test.each<[string, unknown, number]>([
    ['an unknown component', [{ type: 'FOOTER' }], 100],
    ['parameters that are no objects', [{ type: 'BODY', parameters: ['x'] }], 100],
    [
      'a header twice',
      [
        { type: 'HEADER', parameters: [text('x')] },
        { type: 'header', parameters: [text('x')] },
      ],
      132018,
    ],
    ['a header without a parameter', [{ type: 'HEADER', parameters: [] }], 132000],
    ['a header with two parameters', [{ type: 'HEADER', parameters: [text('x'), text('y')] }], 132000],
    ['a header of an unknown kind', [{ type: 'HEADER', parameters: [{ type: 'poem' }] }], 132012],
    ['a header medium without a link', [{ type: 'HEADER', parameters: [{ type: 'image', image: {} }] }], 132018],
    ['an image in the body', [{ type: 'BODY', parameters: [{ type: 'image', image: { link: LINK } }] }], 132012],
    ['an empty text', [{ type: 'BODY', parameters: [text('')] }], 131008],
    ['a text with a newline', [{ type: 'BODY', parameters: [text('a\nb')] }], 132018],
    ['a text with five spaces in a row', [{ type: 'BODY', parameters: [text('a     b')] }], 132018],
    ['a text of 1,025', [{ type: 'BODY', parameters: [text('x'.repeat(1025))] }], 132005],
    ['a button without an index', [{ type: 'BUTTON', sub_type: 'URL', parameters: [text('x')] }], 100],
    ['a button at index 10', [{ type: 'BUTTON', sub_type: 'URL', index: '10', parameters: [text('x')] }], 100],
    [
      'a button of a kind that every object has',
      [{ type: 'BUTTON', sub_type: 'constructor', index: '0', parameters: [] }],
      100,
    ],
    [
      'a button whose kind and index are objects',
      [{ type: 'BUTTON', sub_type: { toString: 1 }, index: { toString: 1 } }],
      100,
    ],
    ['a button of an unknown kind', [{ type: 'BUTTON', sub_type: 'POEM', index: '0', parameters: [text('x')] }], 100],
    ['a link button without its parameter', [{ type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [] }], 131008],
    [
      'a link button with a coupon',
      [{ type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [{ type: 'coupon_code', coupon_code: 'x' }] }],
      132018,
    ],
    [
      'a coupon of 16',
      [
        {
          type: 'BUTTON',
          sub_type: 'COPY_CODE',
          index: '0',
          parameters: [{ type: 'coupon_code', coupon_code: 'x'.repeat(16) }],
        },
      ],
      132005,
    ],
    [
      'one button twice',
      [0, 0].map((index) => ({ type: 'BUTTON', sub_type: 'URL', index: String(index), parameters: [text('x')] })),
      132018,
    ],
    ['a carousel of one card', [{ type: 'CAROUSEL', cards: [card(0)] }], 132012],
    ['a card index used twice', [{ type: 'CAROUSEL', cards: [card(0), card(0)] }], 132012],
    [
      'a carousel within a card',
      [{ type: 'CAROUSEL', cards: [card(0), card(1, [{ type: 'CAROUSEL', cards: [] }])] }],
      100,
    ],
    [
      'a fault within a card',
      [{ type: 'CAROUSEL', cards: [card(0), card(1, [{ type: 'BODY', parameters: [text('')] }])] }],
      131008,
    ],
  ])('both wires refuse %s', (_, components, code) => {
    expect(ofCloud(components)?.code).toBe(code)
    expect(ofPartner(components)?.code).toBe(code)
  })

  test.each([{ name: 'Order Update' }, { language: { code: 'english' } }])('a template cannot exist as %o', (more) => {
    expect(ofCloud([], more)?.code).toBe(132001)
  })
})

test('no body makes a check throw', () => {
  const value = fc.object({
    maxDepth: 5,
    key: fc.oneof(
      fc.string(),
      fc.constantFrom('__proto__', 'constructor', 'toString', 'type', 'to', 'template', 'interactive', 'text'),
    ),
  })
  const type = fc.constantFrom('text', 'interactive', 'image', 'template', 'audio')
  fc.assert(
    fc.property(value, type, fc.anything({ maxDepth: 4 }), (body, kind, content) => {
      for (const one of [
        body,
        { ...cloudText(TO), type: kind, [kind]: content },
        { ...partnerImage(TO), type: kind, [kind]: content },
      ]) {
        cloud(one)
        partner(one)
      }
      const components = [content, { type: 'header', parameters: [content] }, { type: 'carousel', cards: content }]
      for (const component of components) {
        const template = { name: 'a', language: { code: 'en' }, components: [component] }
        cloud(cloudText(TO, { type: 'template', template }))
        partner(partnerTemplate(TO, { template }))
      }
    }),
  )
})
