// Pins: every received message of a webhook is kept with what it holds, in the shapes that public test suites of the
// WhatsApp's webhooks have; whatever is odd about one, it is kept all the same.
import { describe, expect, test } from 'vitest'
import { type ReceivedParts, receivedPartsSchema } from '../../src/messages/received.ts'
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
  ['an interactive without its object', { type: 'interactive' }, { type: 'interactive', text: '', parts: {} }],
])('%s is kept with what it holds', async (_name, message, { parts, ...rest }) => {
  const found = await received(message)
  expect(found).toMatchObject({ providerId: 'wamid.A', from: '491700000001', atMs: 1_763_640_000_000, ...rest })
  const stored: unknown = JSON.parse(JSON.stringify(found.parts))
  expect(stored).toEqual({ from_name: 'Ada', ...parts })
  expect(receivedPartsSchema.parse(stored)).toEqual(stored)
})

describe('the person', () => {
  const text = { type: 'text', text: { body: 'Hi' } }

  test('is the number where there is one, with the user id beside it', async () => {
    const contacts = [{ ...person, user_id: 'US.1' }]
    const found = await received({ ...text, from_user_id: 'US.1' }, contacts)
    expect(found).toMatchObject({ from: '491700000001', parts: { from_user_id: 'US.1', from_name: 'Ada' } })
  })

  test('is the user id where there is no number', async () => {
    const contacts = [{ profile: { name: 'Bo' }, user_id: 'US.2' }]
    const found = await received({ ...text, from: undefined, from_user_id: 'US.2' }, contacts)
    expect(found).toMatchObject({ from: 'US.2', parts: { from_user_id: 'US.2', from_name: 'Bo' } })
    expect((await received({ ...text, from: undefined }, contacts)).from).toBe('US.2')
  })

  test('has the name of its own profile among several', async () => {
    const contacts = [{ profile: { name: 'Bo' }, wa_id: '49222' }, person]
    expect((await received(text, contacts)).parts.from_name).toBe('Ada')
  })

  test.each([null, 5, [5, null], undefined])('may be told of in an odd way: %j', async (contacts) => {
    expect(await received(text, contacts)).toMatchObject({ from: '491700000001', text: 'Hi' })
  })
})

test.each([undefined, 'TIMESTAMP', '', null])('a message whose time is %j is kept', async (timestamp) => {
  expect(await received({ type: 'text', text: { body: 'Hi' }, timestamp })).toMatchObject({
    text: 'Hi',
    atMs: undefined,
  })
})

test('a message is kept whatever stands in the place of any of its parts', async () => {
  const names = ['text', 'image', 'button', 'interactive', 'location', 'reaction', 'order', 'contacts', 'referral']
  for (const name of [...names, 'context', 'system', 'edit', 'revoke', 'errors', 'unsupported', 'group_id']) {
    for (const odd of [null, 5, 'x', [], {}, [null], { id: {} }, { message: 5 }]) {
      const { parts } = await received({ type: 'text', [name]: odd })
      receivedPartsSchema.parse(JSON.parse(JSON.stringify(parts)))
    }
  }
})
