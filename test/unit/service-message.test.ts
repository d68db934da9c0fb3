// What a service message must look like: each rule once kept and once broken. Pure; assert on messages and faults only.
import { describe, expect, test } from 'vitest'
import type { Fault } from '../../src/kernel/fault.ts'
import { parseServiceMessage } from '../../src/messages/accept/read-send.ts'
import { contentSchema } from '../../src/model/messages/content.ts'
import { audioBody, buttonsBody, imageBody, listBody, listOf, replyButton, row } from '../support/example-messages.ts'

function messageOf(body: unknown) {
  const parsed = parseServiceMessage(body)
  if (!parsed.ok) throw new Error(`refused: ${JSON.stringify(parsed.faults)}`)
  return parsed.message
}

function faultsOf(body: unknown): Fault[] {
  const parsed = parseServiceMessage(body)
  if (parsed.ok) throw new Error('expected faults, the body passed')
  return parsed.faults
}

const buttons = (...given: unknown[]) => buttonsBody({ action: { buttons: given } })
const sectionOf = (...ids: string[]) => ({ title: `Section ${ids[0]}`, rows: ids.map(row) })
const link = (length: number) => `https://files.example/${'x'.repeat(length - 'https://files.example/'.length)}`

const oneOfAllKinds =
  'expected "text", "interactive", "image", "audio", "video", "document", "sticker", "location", "contacts" or "reaction"'

describe('the envelope', () => {
  test('returns the recipient as given and as digits', () => {
    expect(messageOf(imageBody())).toMatchObject({ to: '14155550123', input: '+1 (415) 555-0123' })
  })

  test('returns the end of validity in epoch milliseconds, in any zone, and nothing without one', () => {
    const at = (valid_until: string) => messageOf({ ...imageBody(), valid_until }).validUntilMs
    expect(at('2026-01-31T12:00:00Z')).toBe(Date.UTC(2026, 0, 31, 12))
    expect(at('2026-01-31T12:00:00.250+02:00')).toBe(Date.UTC(2026, 0, 31, 10, 0, 0, 250))
    expect(messageOf(imageBody())).not.toHaveProperty('validUntilMs')
  })

  test.each([
    ['to', undefined, 'required'],
    ['to', 14155550123, 'expected a string, got a number'],
    ['recipient_type', undefined, 'required'],
    ['recipient_type', 'group', 'expected "individual", got "group"'],
    ['messaging_product', 'whatsapp', 'expected "chatapp", got "whatsapp"'],
    ['messaging_product', 'ChatApp', 'expected "chatapp", got "ChatApp"'],
    ['type', undefined, 'required'],
    ['type', 'poll', `${oneOfAllKinds}, got "poll"`],
    ['type', 'template', `${oneOfAllKinds}, got "template"; templates go to /chatappbusiness/send-templated-message`],
    ['type', 'constructor', `${oneOfAllKinds}, got "constructor"`],
    ['image', undefined, 'required'],
    ['image', 'https://files.example/cat.png', 'expected an object, got a string'],
  ])('%s = %j is a fault: %s', (path, value, message) => {
    expect(faultsOf({ ...imageBody(), [path]: value })).toEqual([{ path, message }])
  })

  test.each(['tomorrow', '2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', ''])(
    'valid_until %j is a fault: it needs date, time and zone',
    (valid_until) => {
      const message = 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z'
      expect(faultsOf({ ...imageBody(), valid_until })).toEqual([{ path: 'valid_until', message }])
    },
  )

  test.each([
    [undefined, 'required'],
    [null, 'expected an object, got null'],
    [[], 'expected an object, got a list'],
    ['{}', 'expected an object, got a string'],
  ])('the body %j has one fault, without a path', (body, message) => {
    expect(faultsOf(body)).toEqual([{ path: '', message }])
  })

  test('a wrong type hides no other fault', () => {
    const body = { ...imageBody(), type: 'foo', to: 'nobody', recipient_type: 'group', valid_until: 5 }
    expect(faultsOf(body).map((fault) => fault.path)).toEqual(['to', 'recipient_type', 'valid_until', 'type'])
  })
})

describe('unknown fields', () => {
  test('are dropped at every level', () => {
    const extra = { extra: 1, __proto__extra: {} }
    const body = {
      ...buttonsBody({
        ...extra,
        header: { type: 'document', document: { link: link(50), filename: 'a.pdf', ...extra }, ...extra },
        body: { text: 'text', ...extra },
        footer: { text: 'text', ...extra },
        action: { buttons: [{ type: 'reply', reply: { id: 'a', title: 'A', ...extra }, ...extra }], ...extra },
      }),
      ...extra,
      image: { link: link(50) },
    }
    expect(messageOf(body).content).toEqual({
      type: 'interactive',
      interactive: {
        type: 'button',
        header: { type: 'document', document: { link: link(50), filename: 'a.pdf' } },
        body: { text: 'text' },
        footer: { text: 'text' },
        action: { buttons: [replyButton('a', 'A')] },
      },
    })
  })

  test('with hostile names are neither kept nor harmful', () => {
    const text = JSON.stringify(audioBody()).replace('{', '{"__proto__":{"polluted":1},"constructor":{"prototype":{}},')
    const { content } = messageOf(JSON.parse(text))
    expect(content).toEqual({ type: 'audio', audio: audioBody().audio })
    expect(Object.getPrototypeOf(content)).toBe(Object.prototype)
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('media', () => {
  test('an image needs no caption, and may have an empty one', () => {
    const { caption: _, ...image } = imageBody().image
    expect(messageOf({ ...imageBody(), image }).content).toEqual({ type: 'image', image })
    expect(messageOf(imageBody({ caption: '' })).content).toMatchObject({ image: { caption: '' } })
  })

  test.each([
    ['image.caption', imageBody({ caption: 'x'.repeat(1025) }), 'at most 1024 characters, got 1025'],
    ['image.caption', imageBody({ caption: '🙂'.repeat(513) }), 'at most 1024 characters, got 1026'],
    ['image.link', imageBody({ link: undefined }), 'required'],
    ['audio.link', { ...audioBody(), audio: {} }, 'required'],
    ['audio.link', { ...audioBody(), audio: { link: 5 } }, 'expected a string, got a number'],
  ])('%s: a fault is reported', (path, body, message) => {
    expect(faultsOf(body)).toEqual([{ path, message }])
  })

  test('a caption of 1,024 UTF-16 units is accepted', () => {
    messageOf(imageBody({ caption: '🙂'.repeat(512) }))
  })

  test.each([
    'http://files.example/a.png',
    'HTTPS://files.example:8443/a b'.replace(' ', '%20'),
    'https://bücher.example/ä',
  ])('the link %s is accepted and unchanged', (given) => {
    expect(messageOf(imageBody({ link: given })).content).toMatchObject({ image: { link: given } })
  })

  test('a link with an umlaut is accepted the ten-thousandth time as it was the first', () => {
    // Read as a request is read: the bytes of the string decide which way of the URL parser it takes.
    const link: unknown = JSON.parse('"https://bücher.example/ä"')
    const read = () => parseServiceMessage(imageBody({ link })).ok
    expect(Array.from({ length: 10_000 }, read).filter((passed) => !passed)).toHaveLength(0)
  })

  test.each([
    '',
    '/cat.png',
    '//files.example/cat.png',
    'files.example/cat.png',
    'ftp://files.example/cat.png',
    'https:///files.example/cat.png',
    'data:image/png;base64,AA==',
    'javascript:alert(1)',
    'https:files.example/cat.png',
    'https://',
    'https://files.example/a b.png',
    ' https://files.example/cat.png',
    'https://files.example/cat.png\n',
    'https://files.example/cat\u0000.png',
    'https://[::1/cat.png',
  ])('the link %j is not an absolute web address', (given) => {
    expect(faultsOf(imageBody({ link: given }))).toEqual([
      { path: 'image.link', message: expect.stringContaining('expected an absolute http or https address, got "') },
    ])
  })

  test('a link has at most 2,048 characters', () => {
    messageOf(imageBody({ link: link(2048) }))
    expect(faultsOf(imageBody({ link: link(2049) }))).toEqual([
      { path: 'image.link', message: 'at most 2048 characters, got 2049' },
    ])
  })
})

const headers = [
  { type: 'text', text: 'Hello' },
  { type: 'image', image: { link: 'https://files.example/a.png' } },
  { type: 'video', video: { link: 'https://files.example/a.mp4' } },
  { type: 'document', document: { link: 'https://files.example/a.pdf', filename: 'a.pdf' } },
]

describe.each([
  ['reply buttons', buttonsBody],
  ['a list', listBody],
])('the frame of %s', (_, bodyWith) => {
  test.each(headers)('a header of type $type is accepted', (header) => {
    expect(messageOf(bodyWith({ header })).content).toMatchObject({ interactive: { header } })
  })

  test('the footer may be left out', () => {
    const { footer: _, ...rest } = bodyWith().interactive
    messageOf({ ...bodyWith(), interactive: rest })
  })

  test.each([
    [
      'interactive.type',
      { type: 'carousel' },
      'expected "list", "button", "cta_url", "location_request_message", "flow", "product", "product_list" or "catalog_message", got "carousel"',
    ],
    ['interactive.type', { type: undefined }, 'required'],
    ['interactive.header', { header: 'Hello' }, 'expected an object, got a string'],
    ['interactive.header', { header: null }, 'expected an object, got null'],
    ['interactive.header.type', { header: {} }, 'required'],
    [
      'interactive.header.type',
      { header: { type: 'TEXT', text: 'a' } },
      'expected "text", "image", "video" or "document", got "TEXT"',
    ],
    ['interactive.header.text', { header: { type: 'text' } }, 'required'],
    ['interactive.header.text', { header: { type: 'text', text: '' } }, 'at least 1 character, got 0'],
    ['interactive.header.text', { header: { type: 'text', text: 'x'.repeat(61) } }, 'at most 60 characters, got 61'],
    ['interactive.header.image', { header: { type: 'image' } }, 'required'],
    [
      'interactive.header.image.link',
      { header: { type: 'image', image: { lnk: '1' } } },
      'required; is "lnk" meant for it?',
    ],
    ['interactive.header.video.link', { header: { type: 'video', video: {} } }, 'required'],
    [
      'interactive.header.document.filename',
      { header: { type: 'document', document: { link: link(30) } } },
      'required',
    ],
    [
      'interactive.header.document.filename',
      { header: { type: 'document', document: { link: link(30), filename: '' } } },
      'at least 1 character, got 0',
    ],
    ['interactive.body', { body: undefined }, 'required'],
    ['interactive.body', { body: 'text' }, 'expected an object, got a string'],
    ['interactive.body.text', { body: {} }, 'required'],
    ['interactive.body.text', { body: { text: '' } }, 'at least 1 character, got 0'],
    ['interactive.body.text', { body: { text: 'x'.repeat(1025) } }, 'at most 1024 characters, got 1025'],
    ['interactive.footer.text', { footer: {} }, 'required'],
    ['interactive.footer.text', { footer: { text: 'x'.repeat(61) } }, 'at most 60 characters, got 61'],
    ['interactive.action', { action: undefined }, 'required'],
  ])('$0: $2', (path, interactive, message) => {
    expect(faultsOf(bodyWith(interactive))).toEqual([{ path, message }])
  })

  test('texts of exactly the limits are accepted', () => {
    const interactive = {
      header: { type: 'text', text: 'x'.repeat(60) },
      body: { text: 'x'.repeat(1024) },
      footer: { text: 'x'.repeat(60) },
    }
    messageOf(bodyWith(interactive))
  })
})

describe('reply buttons', () => {
  test('need no header', () => {
    const { content } = messageOf(buttonsBody({ header: undefined }))
    expect(content).toMatchObject({ interactive: { type: 'button', body: {} } })
  })

  test('one to three are accepted, with titles and ids of exactly the limits', () => {
    messageOf(buttons(replyButton('a', 'A')))
    messageOf(buttons(replyButton('x'.repeat(256), 'x'.repeat(20)), replyButton('b', 'B'), replyButton('c', 'C')))
  })

  test.each([
    ['', undefined, 'required'],
    ['', {}, 'expected a list, got an object'],
    ['', [], 'at least 1 item, got 0'],
    ['[0]', ['yes'], 'expected an object, got a string'],
    ['[0].type', [{ ...replyButton('a', 'A'), type: 'url' }], 'expected "reply", got "url"'],
    ['[0].type', [{ reply: { id: 'a', title: 'A' } }], 'required'],
    ['[0].reply', [{ type: 'reply' }], 'required'],
    ['[0].reply.title', [replyButton('a', '')], 'at least 1 character, got 0'],
    ['[0].reply.title', [replyButton('a', 'x'.repeat(31))], 'at most 20 characters, got 31'],
    ['[0].reply.id', [replyButton('', 'A')], 'at least 1 character, got 0'],
    ['[0].reply.id', [replyButton('x'.repeat(257), 'A')], 'at most 256 characters, got 257'],
    ['[0].reply.id', [replyButton(' a', 'A')], 'expected no space at either end, got " a"'],
    ['[0].reply.id', [replyButton('a\n', 'A')], 'expected no space at either end, got "a\\n"'],
    [
      '[1].reply.id',
      [replyButton('a', 'A'), replyButton('a', 'B')],
      'expected one that no other button has, got "a" again',
    ],
    [
      '[1].reply.title',
      [replyButton('a', 'A'), replyButton('b', 'A')],
      'expected one that no other button has, got "A" again',
    ],
  ])('interactive.action.buttons$0: $2', (path, given, message) => {
    expect(faultsOf(buttonsBody({ action: { buttons: given } }))).toEqual([
      { path: `interactive.action.buttons${path}`, message },
    ])
  })

  test('without ids are not also reported as repeating each other', () => {
    const nameless = { type: 'reply', reply: {} }
    const missing = (path: string) => ({ path: `interactive.action.buttons${path}`, message: 'required' })
    expect(faultsOf(buttons(nameless, nameless))).toEqual(
      ['[0].reply.id', '[0].reply.title', '[1].reply.id', '[1].reply.title'].map(missing),
    )
  })

  test('too many buttons hide no fault of any of them', () => {
    const given = [replyButton('a', 'A'), null, replyButton('a', ''), replyButton('d', 'D'), replyButton('e', 'D')]
    expect(faultsOf(buttons(...given))).toEqual([
      { path: 'interactive.action.buttons[1]', message: 'expected an object, got null' },
      { path: 'interactive.action.buttons[2].reply.title', message: 'at least 1 character, got 0' },
      {
        path: 'interactive.action.buttons[2].reply.id',
        message: 'expected one that no other button has, got "a" again',
      },
      {
        path: 'interactive.action.buttons[4].reply.title',
        message: 'expected one that no other button has, got "D" again',
      },
      { path: 'interactive.action.buttons', message: 'at most 3 items, got 5' },
    ])
  })
})

describe('a list', () => {
  test('needs no header', () => {
    messageOf(listBody({ header: undefined }))
  })

  test('of one section needs no title for it', () => {
    messageOf(listOf([{ rows: [row('a')] }]))
  })

  test('needs no description of a row', () => {
    messageOf(listOf([{ rows: [{ id: 'a', title: 'A' }] }]))
  })

  test('may have ten rows over all sections, and ten sections', () => {
    messageOf(listOf([sectionOf('a', 'b', 'c', 'd', 'e'), sectionOf('f', 'g', 'h', 'i', 'j')]))
    messageOf(listOf([...'abcdefghij'].map((id) => sectionOf(id))))
  })

  test('texts of exactly the limits are accepted', () => {
    const rows = [{ id: 'x'.repeat(200), title: 'x'.repeat(24), description: 'x'.repeat(72) }]
    messageOf(listBody({ action: { button: 'x'.repeat(20), sections: [{ title: 'x'.repeat(24), rows }] } }))
  })

  test.each([
    ['sections', undefined, 'required'],
    ['sections', [], 'at least 1 item, got 0'],
    ['sections[0]', ['Drinks'], 'expected an object, got a string'],
    ['sections[0].rows', [{ title: 'a' }], 'required'],
    ['sections[0].rows', [{ title: 'a', rows: [] }], 'at least 1 item, got 0'],
    ['sections[0].title', [{ title: 'x'.repeat(25), rows: [row('a')] }], 'at most 24 characters, got 25'],
    ['sections[0].title', [{ title: '', rows: [row('a')] }], 'at least 1 character, got 0'],
    ['sections[1].title', [sectionOf('a'), { rows: [row('b')] }], 'required when there is more than one section'],
    ['sections[0].rows[0].id', [{ rows: [{ title: 'A' }] }], 'required'],
    ['sections[0].rows[0].id', [{ rows: [{ id: 'x'.repeat(201), title: 'A' }] }], 'at most 200 characters, got 201'],
    ['sections[0].rows[0].title', [{ rows: [{ id: 'a', title: 'x'.repeat(25) }] }], 'at most 24 characters, got 25'],
    [
      'sections[0].rows[0].description',
      [{ rows: [{ id: 'a', title: 'A', description: 'x'.repeat(73) }] }],
      'at most 72 characters, got 73',
    ],
    ['sections[0].rows[1].id', [sectionOf('a', 'a')], 'expected one that no other row has, got "a" again'],
    ['sections[1].rows[0].id', [sectionOf('a'), sectionOf('a')], 'expected one that no other row has, got "a" again'],
    [
      'sections',
      [sectionOf('a', 'b', 'c', 'd', 'e', 'f'), sectionOf('g', 'h', 'i', 'j', 'k')],
      'at most 10 rows over all sections, got 11',
    ],
  ])('interactive.action.$0: $2', (path, sections, message) => {
    expect(faultsOf(listOf(sections))).toEqual([{ path: `interactive.action.${path}`, message }])
  })

  test.each([
    ['', 'at least 1 character, got 0'],
    ['x'.repeat(21), 'at most 20 characters, got 21'],
    [undefined, 'required'],
  ])('interactive.action.button: $1', (button, message) => {
    const action = { button, sections: [sectionOf('a')] }
    expect(faultsOf(listBody({ action }))).toEqual([{ path: 'interactive.action.button', message }])
  })

  test('a row of a wrong type hides neither the other rows nor the rules about all of them', () => {
    const sections = [
      { rows: [row('a'), 5, { id: 'a', title: 'x'.repeat(25) }] },
      ...[...'bcdefghijk'].map((id) => sectionOf(id)),
    ]
    const rowFault = (path: string, message: string) => ({ path: `interactive.action.sections${path}`, message })
    expect(faultsOf(listOf(sections))).toEqual([
      rowFault('[0].rows[1]', 'expected an object, got a number'),
      rowFault('[0].rows[2].title', 'at most 24 characters, got 25'),
      rowFault('', 'at most 10 rows over all sections, got 13'),
      rowFault('[0].rows[2].id', 'expected one that no other row has, got "a" again'),
      rowFault('[0].title', 'required when there is more than one section'),
      rowFault('', 'at most 10 items, got 11'),
    ])
  })
})

test('the file name of a document has at most 240 characters', () => {
  const document = { link: 'https://files.example/a.pdf', filename: 'x'.repeat(241) }
  expect(faultsOf(buttonsBody({ header: { type: 'document', document } }))).toEqual([
    { path: 'interactive.header.document.filename', message: 'at most 240 characters, got 241' },
  ])
})

test('a stored content is read back unchanged', () => {
  for (const body of [buttonsBody(), listBody(), imageBody(), audioBody()]) {
    const { content } = messageOf(body)
    expect(contentSchema.parse(JSON.parse(JSON.stringify(content)))).toEqual(content)
  }
})
