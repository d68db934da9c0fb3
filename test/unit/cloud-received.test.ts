// Pins: every received message of a webhook is kept with what it holds, in the shapes that public test suites of the
// WhatsApp's webhooks have; whatever is odd about one, it is kept all the same.
import { describe, expect, test } from 'vitest'
import { type ReceivedParts, receivedPartsSchema } from '../../src/model/messages/received.ts'
import { readWebhook } from '../../src/providers/cloud-webhook.ts'

const person = { profile: { name: 'Ada' }, wa_id: '491700000001' }

async function received(message: object, contacts: unknown = [person]) {
  const base = { from: '491700000001', id: 'wamid.A', timestamp: '1763640000' }
  const metadata = { display_phone_number: '15550001', phone_number_id: '106' }
  const value = { messaging_product: 'whatsapp', metadata, contacts, messages: [{ ...base, ...message }] }
  const body = { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }
  const content = await readWebhook(JSON.parse(JSON.stringify(body)))
  const [found] = content?.received ?? []
  if (!found) throw new Error(`not kept: ${JSON.stringify(content)}`)
  return found
}

const FILE = { id: '77', mime_type: 'image/jpeg', sha256: 'aGFzaA==' }

test.each<[string, object, { type: string; text: string; parts: ReceivedParts }]>([
  ['text', { type: 'text', text: { body: 'Hi' } }, { type: 'text', text: 'Hi', parts: {} }],
  [
    'a text that answers a message',
    { type: 'text', text: { body: 'Hi' }, context: { from: '1555', id: 'wamid.B' } },
    { type: 'text', text: 'Hi', parts: { context: { message_id: 'wamid.B', from: '1555' } } },
  ],
  [
    'a forwarded text',
    { type: 'text', text: { body: 'Hi' }, context: { frequently_forwarded: true } },
    { type: 'text', text: 'Hi', parts: { context: { frequently_forwarded: true } } },
  ],
  [
    'a reply button',
    { type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: 'yes', title: 'Yes' } } },
    { type: 'interactive', text: 'Yes', parts: { reply: { id: 'yes', title: 'Yes' } } },
  ],
  [
    'a row of a list',
    { type: 'interactive', interactive: { list_reply: { id: 'tea', title: 'Tea', description: 'Green' } } },
    { type: 'interactive', text: 'Tea', parts: { reply: { id: 'tea', title: 'Tea', description: 'Green' } } },
  ],
  [
    'a quick reply of a template',
    { type: 'button', button: { text: 'Stop', payload: 'stop-1' } },
    { type: 'button', text: 'Stop', parts: { reply: { id: 'stop-1', title: 'Stop' } } },
  ],
  [
    'an image',
    { type: 'image', image: { ...FILE, caption: 'Look' } },
    { type: 'image', text: 'Look', parts: { media: FILE } },
  ],
  ['a video', { type: 'video', video: FILE }, { type: 'video', text: '', parts: { media: FILE } }],
  [
    'a forwarded video',
    { type: 'video', video: { ...FILE, caption: 'Look' }, context: { forwarded: true } },
    { type: 'video', text: 'Look', parts: { media: FILE, context: { forwarded: true } } },
  ],
  [
    'a document',
    { type: 'document', document: { ...FILE, filename: 'a.pdf' } },
    { type: 'document', text: '', parts: { media: { ...FILE, filename: 'a.pdf' } } },
  ],
  [
    'a voice note',
    { type: 'audio', audio: { ...FILE, voice: true } },
    { type: 'audio', text: '', parts: { media: { ...FILE, voice: true } } },
  ],
  [
    'a sticker',
    { type: 'sticker', sticker: { ...FILE, animated: false } },
    { type: 'sticker', text: '', parts: { media: { ...FILE, animated: false } } },
  ],
  [
    'a location',
    { type: 'location', location: { latitude: 1.5, longitude: -2, name: 'Pier' } },
    { type: 'location', text: 'Pier', parts: { location: { latitude: 1.5, longitude: -2, name: 'Pier' } } },
  ],
  [
    'contacts',
    { type: 'contacts', contacts: [{ name: { formatted_name: 'Bo' }, phones: [{ phone: '+1', type: 'HOME' }] }] },
    {
      type: 'contacts',
      text: 'Bo',
      parts: { contacts: [{ name: 'Bo', phones: [{ phone: '+1', type: 'HOME' }], emails: [] }] },
    },
  ],
  [
    'a reaction',
    { type: 'reaction', reaction: { message_id: 'wamid.B', emoji: '👍' } },
    { type: 'reaction', text: '👍', parts: { reaction: { message_id: 'wamid.B', emoji: '👍' } } },
  ],
  [
    'a reaction that was taken back',
    { type: 'reaction', reaction: { message_id: 'wamid.B' } },
    { type: 'reaction', text: '', parts: { reaction: { message_id: 'wamid.B', emoji: '' } } },
  ],
  [
    'an order',
    {
      type: 'order',
      order: {
        catalog_id: 'c',
        text: 'Soon please',
        product_items: [{ product_retailer_id: 'TEA', quantity: 2, item_price: 3, currency: 'EUR' }],
      },
    },
    {
      type: 'order',
      text: 'Soon please',
      parts: {
        order: {
          catalog_id: 'c',
          items: [{ product_retailer_id: 'TEA', quantity: 2, item_price: 3, currency: 'EUR' }],
        },
      },
    },
  ],
  [
    'a text from an advertisement',
    { type: 'text', text: { body: 'Hi' }, referral: { source_type: 'ad', source_id: '9', headline: 'Sale' } },
    { type: 'text', text: 'Hi', parts: { referral: { source_type: 'ad', source_id: '9', headline: 'Sale' } } },
  ],
  [
    'a question about a product',
    {
      type: 'text',
      text: { body: 'Blue?' },
      context: { referred_product: { catalog_id: 'c', product_retailer_id: 'TEA' } },
    },
    {
      type: 'text',
      text: 'Blue?',
      parts: { context: { product: { catalog_id: 'c', product_retailer_id: 'TEA' } } },
    },
  ],
  [
    'an answer to whether one may be called',
    { type: 'interactive', interactive: { call_permission_reply: { response: 'accept', is_permanent: false } } },
    { type: 'interactive', text: 'accept', parts: { reply: { id: 'accept', title: 'accept' } } },
  ],
  ['a request to be welcomed', { type: 'request_welcome' }, { type: 'request_welcome', text: '', parts: {} }],
  [
    'what is written in a group',
    { type: 'text', text: { body: 'Hi' }, group_id: 'g1' },
    { type: 'text', text: 'Hi', parts: { group_id: 'g1' } },
  ],
  [
    'a flow',
    { type: 'interactive', interactive: { nfm_reply: { name: 'flow', body: 'Sent', response_json: '{"a":1}' } } },
    {
      type: 'interactive',
      text: 'Sent',
      parts: { flow: { name: 'flow', response_json: '{"a":1}', response: { a: 1 } } },
    },
  ],
  [
    'an edited text',
    { type: 'edit', edit: { original_message_id: 'wamid.B', message: { type: 'text', text: { body: 'New' } } } },
    { type: 'edit', text: 'New', parts: { edits: 'wamid.B' } },
  ],
  [
    'an edited caption',
    { type: 'edit', edit: { original_message_id: 'wamid.B', message: { image: { ...FILE, caption: 'New' } } } },
    { type: 'edit', text: 'New', parts: { edits: 'wamid.B', media: FILE } },
  ],
  [
    'a deletion',
    { type: 'revoke', revoke: { original_message_id: 'wamid.B' } },
    { type: 'revoke', text: '', parts: { deletes: 'wamid.B' } },
  ],
  [
    'a change of number',
    { type: 'system', system: { body: 'A changed', wa_id: '492', type: 'user_changed_number' } },
    { type: 'system', text: 'A changed', parts: { system: { type: 'user_changed_number', wa_id: '492' } } },
  ],
  [
    'a change of user id',
    { type: 'system', system: { type: 'user_changed_user_id', user_id: 'US.2', previous_user_id: 'US.1' } },
    {
      type: 'system',
      text: '',
      parts: { system: { type: 'user_changed_user_id', user_id: 'US.2', previous_user_id: 'US.1' } },
    },
  ],
  [
    'what WhatsApp cannot show',
    { type: 'unsupported', errors: [{ code: 131051, title: 'Message type unknown' }] },
    {
      type: 'unsupported',
      text: '',
      parts: { unsupported: { type: 'unsupported', code: 131051, title: 'Message type unknown' } },
    },
  ],
  [
    'a kind that nobody knows',
    { type: 'hologram', hologram: {} },
    { type: 'unsupported', text: '', parts: { unsupported: { type: 'hologram' } } },
  ],
  [
    'a quick reply with its payload alone',
    { type: 'button', button: { payload: 'order_7_yes' } },
    { type: 'button', text: 'order_7_yes', parts: { reply: { id: 'order_7_yes', title: 'order_7_yes' } } },
  ],
  [
    'a quick reply with its text alone',
    { type: 'button', button: { text: 'Yes' } },
    { type: 'button', text: 'Yes', parts: { reply: { id: 'Yes', title: 'Yes' } } },
  ],
  [
    'a quick reply whose payload is a figure',
    { type: 'button', button: { text: 'Yes', payload: 7 } },
    { type: 'button', text: 'Yes', parts: { reply: { id: '7', title: 'Yes' } } },
  ],
  [
    'a reply button without an id',
    { type: 'interactive', interactive: { button_reply: { title: 'Stop' } } },
    { type: 'interactive', text: 'Stop', parts: { reply: { id: 'Stop', title: 'Stop' } } },
  ],
  [
    'a row without a title',
    { type: 'interactive', interactive: { list_reply: { id: 'tea', description: 'Green' } } },
    { type: 'interactive', text: 'tea', parts: { reply: { id: 'tea', title: 'tea', description: 'Green' } } },
  ],
  [
    'a caption whose file has no id',
    { type: 'image', image: { caption: 'Look' } },
    { type: 'image', text: 'Look', parts: {} },
  ],
  [
    'a place without degrees',
    { type: 'location', location: { name: 'Pier', address: '1 Sea Road' } },
    { type: 'location', text: 'Pier', parts: { location: { name: 'Pier', address: '1 Sea Road' } } },
  ],
  [
    'a reaction to nobody knows what',
    { type: 'reaction', reaction: { emoji: '👍' } },
    { type: 'reaction', text: '👍', parts: { reaction: { emoji: '👍' } } },
  ],
  [
    'a contact card with everything',
    {
      type: 'contacts',
      contacts: [
        {
          name: { formatted_name: 'Dr. Bo Lee', first_name: 'Bo', last_name: 'Lee', prefix: 'Dr.' },
          birthday: '1990-01-31',
          org: { company: 'Tea Ltd', department: 'Sales', title: 'Head' },
          emails: [{ email: 'bo@example.org', type: 'WORK' }],
          urls: [{ url: 'https://example.org', type: 'WORK' }],
          addresses: [
            { street: '1 High Street', city: 'London', zip: 'N1', country: 'United Kingdom', country_code: 'gb' },
          ],
        },
      ],
    },
    {
      type: 'contacts',
      text: 'Dr. Bo Lee',
      parts: {
        contacts: [
          {
            name: 'Dr. Bo Lee',
            birthday: '1990-01-31',
            org: { company: 'Tea Ltd', department: 'Sales', title: 'Head' },
            phones: [],
            emails: [{ email: 'bo@example.org', type: 'WORK' }],
            urls: [{ url: 'https://example.org', type: 'WORK' }],
            addresses: [
              { street: '1 High Street', city: 'London', zip: 'N1', country: 'United Kingdom', country_code: 'gb' },
            ],
          },
        ],
      },
    },
  ],
  [
    'contact cards whose names are made of what there is',
    {
      type: 'contacts',
      contacts: [
        { name: { prefix: 'Dr.', first_name: 'Bo', middle_name: 'K.', last_name: 'Lee', suffix: 'Jr.' } },
        { name: { formatted_name: ' ' }, org: { company: 'Tea Ltd' } },
        { emails: [{ email: 'bo@example.org' }] },
        { phones: [{ phone: '+44 7700 900611' }] },
        { urls: [{ url: 'https://example.org' }] },
        {},
      ],
    },
    {
      type: 'contacts',
      text: 'Dr. Bo K. Lee Jr., Tea Ltd, bo@example.org, https://example.org',
      parts: {
        contacts: [
          { name: 'Dr. Bo K. Lee Jr.', phones: [], emails: [] },
          { name: 'Tea Ltd', phones: [], emails: [], org: { company: 'Tea Ltd' } },
          { name: 'bo@example.org', phones: [], emails: [{ email: 'bo@example.org' }] },
          { name: '', phones: [{ phone: '+44 7700 900611' }], emails: [] },
          { name: 'https://example.org', phones: [], emails: [], urls: [{ url: 'https://example.org' }] },
          { name: '', phones: [], emails: [] },
        ],
      },
    },
  ],
  [
    'an advertisement with its picture and its greeting',
    {
      type: 'text',
      text: { body: 'Hi' },
      referral: { source_id: '9', image_url: 'https://example.org/a.jpg', welcome_message: { text: 'Hello' } },
    },
    {
      type: 'text',
      text: 'Hi',
      parts: { referral: { source_id: '9', image_url: 'https://example.org/a.jpg', welcome_message: 'Hello' } },
    },
  ],
  ['an interactive without its object', { type: 'interactive' }, { type: 'interactive', text: '', parts: {} }],
])('%s is kept with what it holds', async (_name, message, { parts, ...rest }) => {
  const found = await received(message)
  expect(found).toMatchObject({ providerId: 'wamid.A', from: '491700000001', atMs: 1_763_640_000_000, ...rest })
  const stored: unknown = JSON.parse(JSON.stringify(found.parts))
  expect(stored).toEqual({ from_name: 'Ada', ...parts })
  expect(receivedPartsSchema.parse(stored)).toEqual(stored)
})

describe('the person who wrote', () => {
  const text = { type: 'text', text: { body: 'Hi' } }

  test('is the number if there is one, with the user id beside it', async () => {
    const contacts = [{ ...person, user_id: 'US.1' }]
    const found = await received({ ...text, from_user_id: 'US.1' }, contacts)
    expect(found).toMatchObject({ from: '491700000001', parts: { from_user_id: 'US.1', from_name: 'Ada' } })
  })

  test('is the user id if there is no number', async () => {
    const contacts = [{ profile: { name: 'Bo' }, user_id: 'US.2' }]
    const found = await received({ ...text, from: undefined, from_user_id: 'US.2' }, contacts)
    expect(found).toMatchObject({ from: 'US.2', parts: { from_user_id: 'US.2', from_name: 'Bo' } })
    expect((await received({ ...text, from: undefined }, contacts)).from).toBe('US.2')
  })

  test.each(['BR.AB12cd34EF', 'user.93737', 'abc-12'])(
    'is an id as written when it replaces the number: %s',
    async (id) => {
      const contacts = [{ profile: { name: 'Bo' }, wa_id: id }, person]
      const found = await received({ ...text, from: id }, contacts)
      expect(found).toMatchObject({ from: id, parts: { from_user_id: id, from_name: 'Bo' } })
    },
  )

  test('is a number in any spelling', async () => {
    const found = await received({ ...text, from: '\u202A+49 170\u00A00000001\u202C' })
    expect(found).toMatchObject({ from: '491700000001', parts: { from_name: 'Ada' } })
    expect(found.parts.from_user_id).toBeUndefined()
  })

  test.each(['', '+', 'anonymous', 'two words 12', 'a'.repeat(500), '\u200B'])(
    'is nobody when nothing names one: %j',
    async (from) => {
      expect((await received({ ...text, from }, [])).from).toBe('')
    },
  )

  test('has the name of its own profile among several', async () => {
    const contacts = [{ profile: { name: 'Bo' }, wa_id: '49222' }, person]
    expect((await received(text, contacts)).parts.from_name).toBe('Ada')
  })

  test.each([null, 5, [5, null], undefined])('is found even with odd contacts: %j', async (contacts) => {
    expect(await received(text, contacts)).toMatchObject({ from: '491700000001', text: 'Hi' })
  })
})

test.each([undefined, 'TIMESTAMP', '', null])('a message whose time is %j is kept', async (timestamp) => {
  expect(await received({ type: 'text', text: { body: 'Hi' }, timestamp })).toMatchObject({
    text: 'Hi',
    atMs: undefined,
  })
})

test('a message is kept whatever odd value any of its parts has', async () => {
  const names = ['text', 'image', 'button', 'interactive', 'location', 'reaction', 'order', 'contacts', 'referral']
  for (const name of [...names, 'context', 'system', 'edit', 'revoke', 'errors', 'unsupported', 'group_id']) {
    for (const odd of [null, 5, 'x', [], {}, [null], { id: {} }, { message: 5 }]) {
      const { parts } = await received({ type: 'text', [name]: odd })
      receivedPartsSchema.parse(JSON.parse(JSON.stringify(parts)))
    }
  }
})

describe('a text longer than is kept', () => {
  const cutOf = async (message: object) => {
    const { text, parts } = await received(message)
    expect(receivedPartsSchema.parse(JSON.parse(JSON.stringify(parts)))).toBeDefined()
    return { text, parts, cut: parts.cut }
  }

  test('is cut between characters, and the message says so', async () => {
    const head = 'a'.repeat(8_190)
    for (const [emoji, kept] of [
      ['😀', '😀'],
      ['👨‍👩‍👧', ''],
      ['👍🏽', ''],
      ['e\u0301', 'e\u0301'],
      ['\r\n', '\r\n'],
    ] as const) {
      const { text, cut } = await cutOf({ type: 'text', text: { body: `${head}${emoji}${'b'.repeat(800)}` } })
      expect([text, cut], emoji).toEqual([head + kept, ['text']])
    }
    const odd = await cutOf({ type: 'text', text: { body: `a${'😀'.repeat(5_000)}` } })
    expect(odd.text).toBe(`a${'😀'.repeat(4_095)}`)
  })

  test('is cut between code points when a character never ends', async () => {
    const { text } = await cutOf({ type: 'text', text: { body: `${'a'.repeat(8_000)}e${'\u{1D165}'.repeat(300)}` } })
    expect(text).not.toMatch(/\p{Cs}/u)
    expect(text.length).toBeGreaterThan(8_190)
  })

  test('is listed by the name of the shown field', async () => {
    const long = 'x'.repeat(9_000)
    const cut = async (message: object) => (await cutOf(message)).cut
    expect(await cut({ type: 'text', text: { body: 'x'.repeat(8_192) } })).toBeUndefined()
    expect(await cut({ type: 'image', image: { ...FILE, caption: long, filename: long } })).toEqual([
      'media.filename',
      'text',
    ])
    expect(await cut({ type: 'button', button: { text: 'Yes', payload: long } })).toEqual(['reply.id'])
    expect(
      await cut({ type: 'interactive', interactive: { nfm_reply: { response_json: JSON.stringify({ long }) } } }),
    ).toEqual(['flow.response_json'])
    expect(await cut({ type: 'contacts', contacts: Array(101).fill({ name: { formatted_name: 'Bo' } }) })).toEqual([
      'contacts',
    ])
    expect(await cut({ type: 'order', order: { product_items: Array(101).fill({ quantity: 1 }) } })).toEqual([
      'order.items',
    ])
    expect(await cut({ type: 'edit', edit: { original_message_id: 'w', message: { text: { body: long } } } })).toEqual([
      'text',
    ])
    expect(await cut({ type: 'location', location: { name: long, latitude: 1, longitude: 2 } })).toEqual([
      'location.name',
    ])
  })

  test('is not reported for the next message', async () => {
    await cutOf({ type: 'text', text: { body: 'x'.repeat(9_000) } })
    expect((await cutOf({ type: 'text', text: { body: 'Hi' } })).cut).toBeUndefined()
  })
})
