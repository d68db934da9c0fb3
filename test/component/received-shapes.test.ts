// Pins: whatever shape WhatsApp, or somebody who hands its webhooks on, gives to what a person wrote, the webhook is
// taken and the message is kept. The shapes are those of public test suites; the words are ours. Real: Redis, HTTP,
// producers, of which there may be two.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findInbound } from '../../src/lanes/messages/inbound.ts'
import { messages } from '../../src/producer/api/messages/routes.ts'
import { startProducer } from '../../src/producer/main.ts'
import { silentLog } from '../support/app.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { outboxOf, toldOfReceived } from '../support/state/messages.ts'
import { postSigned } from '../support/webhooks.ts'

let service: Service
let tenant: Tenant
let second: { url: string; close: () => Promise<void> }
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  second = await startProducer(service.config, service.server.url, silentLog)
})
afterAll(async () => {
  await second?.close()
  await service?.close()
})

const post = async (body: object, url = service.url): Promise<number> =>
  (await postSigned(`${url}/webhooks/cloud-api`, JSON.stringify(body))).status

const metadata = { display_phone_number: '15550000001', phone_number_id: `${PHONE_NUMBER_ID}1` }
const ada = { profile: { name: 'Ada' }, wa_id: '491540000001' }
const of = (...messages: object[]) => ({ messaging_product: 'whatsapp', metadata, contacts: [ada], messages })
const webhook = (value: object, change: object = { field: 'messages' }) => ({
  object: 'whatsapp_business_account',
  entry: [{ id: '1', changes: [{ ...change, value }] }],
})

const FILE = { id: '77', mime_type: 'image/jpeg', sha256: 'aGFzaA==', url: 'https://files.example/77' }
/** Ids of all that the account has received. */
async function inboundIds(): Promise<string[]> {
  const { data } = await tenant.api.call(messages.list, { query: { direction: 'inbound', limit: 1_000 } })
  return data.map(({ id }) => id)
}

let count = 0
/** A message with an id of its own. */
function item(more: object): { id: string } {
  count += 1
  return { from: '491540000001', id: `wamid.shape${count}`, timestamp: '1763640000', ...more } as { id: string }
}

test.each<[string, string, object]>([
  ['a text', 'text', { type: 'text', text: { body: 'Hi' } }],
  ['a text that is null', 'text', { type: 'text', text: null }],
  ['a message without a type', 'text', { text: { body: 'Hi' } }],
  ['a message whose type is null', 'image', { type: null, image: FILE }],
  ['an image whose caption is null', 'image', { type: 'image', image: { ...FILE, caption: null } }],
  ['a video that is null', 'video', { type: 'video', video: null }],
  ['a sticker', 'sticker', { type: 'sticker', sticker: { ...FILE, animated: null } }],
  ['a voice note', 'audio', { type: 'audio', audio: { ...FILE, voice: true } }],
  ['a voice note of old', 'voice', { type: 'voice', voice: FILE }],
  ['a document', 'document', { type: 'document', document: { ...FILE, filename: null } }],
  ['a location as text', 'location', { type: 'location', location: { latitude: '52.5', longitude: '13.4' } }],
  ['a live location', 'location', { type: 'location', location: { latitude: 1, longitude: 2, accuracy: 5, speed: 1 } }],
  ['contacts', 'contacts', { type: 'contacts', contacts: [{ name: { first_name: 'Bo' }, phones: [{}] }] }],
  ['a reaction that was taken back', 'reaction', { type: 'reaction', reaction: { message_id: 'wamid.x' } }],
  ['an order without items', 'order', { type: 'order', order: { catalog_id: '1', product_items: null, text: null } }],
  [
    'an answer to a call request',
    'interactive',
    {
      type: 'interactive',
      interactive: { type: 'call_permission_reply', call_permission_reply: { response: 'accept' } },
    },
  ],
  [
    'a flow',
    'interactive',
    { type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: { response_json: '{}' } } },
  ],
  ['a quick reply', 'button', { type: 'button', button: { text: 'Yes' }, context: { from: '1', id: 'wamid.x' } }],
  [
    'a question about a product',
    'text',
    { type: 'text', text: { body: '?' }, context: { referred_product: { catalog_id: '1' } } },
  ],
  [
    'a change of number of old',
    'system',
    { type: 'system', system: { type: 'user_changed_number', new_wa_id: '4915' } },
  ],
  ['a change of user id without a number', 'system', { from: undefined, type: 'system', system: { user_id: 'DE.2' } }],
  ['the first visit', 'request_welcome', { type: 'request_welcome' }],
  [
    'a picture to be seen once',
    'unsupported',
    { type: 'unsupported', unsupported: { type: 'view_once' }, errors: [{}] },
  ],
  ['a message that disappears', 'unsupported', { type: 'ephemeral' }],
  ['a poll', 'unsupported', { type: 'poll_creation', poll_creation: { name: 'Tea?' } }],
  ['a message in a group', 'text', { type: 'text', text: { body: 'Hi' }, group_id: 'g1' }],
  ['a message whose sender is a figure', 'text', { from: 491_540_000_001, type: 'text', text: { body: 'Hi' } }],
  ['a message with a time of ms', 'text', { timestamp: 1_763_640_000_123, type: 'text', text: { body: 'Hi' } }],
  [
    'a flow whose answer is no text',
    'interactive',
    { type: 'interactive', interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', response_json: { a: 1 } } } },
  ],
  [
    'a change of identity of old',
    'system',
    {
      type: 'system',
      system: { body: 'x', type: { customer_changed_number: false, customer_identity_changed: true } },
    },
  ],
  ['a type of the future', 'unsupported', { type: 'hologram', hologram: { id: '1' } }],
  ['what WhatsApp cannot tell', 'unsupported', { type: 'unknown', errors: [{ code: 131051, details: 'x' }] }],
  [
    'an order with figures as text',
    'order',
    {
      type: 'order',
      order: { catalog_id: '9', product_items: [{ quantity: '2', item_price: '3.5', currency: 'EUR' }] },
    },
  ],
  [
    'a message after an advertisement',
    'text',
    {
      type: 'text',
      text: { body: 'Hi' },
      referral: {
        source_type: 'ad',
        source_id: '5',
        image_url: 'https://shop.example/a.png',
        welcome_message: { text: 'Hi' },
      },
    },
  ],
  ['a message of a person with a username alone', 'text', { from: '', from_user_id: 'DE.Ab1', text: { body: 'Hi' } }],
  [
    'an edit',
    'edit',
    { type: 'edit', edit: { original_message_id: 'wamid.o', message: { type: 'text', text: { body: 'No' } } } },
  ],
  ['a deletion', 'revoke', { type: 'revoke', revoke: { original_message_id: 'wamid.o' } }],
  [
    'a list reply without a description',
    'interactive',
    { type: 'interactive', interactive: { list_reply: { id: 'a', title: 'A' } } },
  ],
  [
    'a number that was asked for',
    'contacts',
    {
      ...{ from: undefined, from_user_id: 'DE.Ab2', type: 'contacts', origin: 'contact_request/other' },
      contacts: [{ vcard: 'BEGIN:VCARD', phones: [{ phone: '+49 1540 000009' }] }],
    },
  ],
  [
    'an address that was filled in',
    'interactive',
    {
      type: 'interactive',
      interactive: {
        type: 'nfm_reply',
        nfm_reply: { name: 'address_message', body: 'A', response_json: '{"values":{}}' },
      },
    },
  ],
  [
    'what was said of being called, for a time',
    'interactive',
    {
      ...{ from: '', from_user_id: 'DE.Ab3', type: 'interactive' },
      interactive: {
        type: 'call_permission_reply',
        call_permission_reply: { response: 'reject', is_permanent: false, expiration_timestamp: 1_763_700_000 },
      },
    },
  ],
  [
    'an answer of a kind of the future',
    'interactive',
    { type: 'interactive', interactive: { type: 'slot_reply', slot_reply: { id: '1' } } },
  ],
  ['the card of a payment', 'unsupported', { type: 'payment', payment: { reference_id: 'p1', status: 'captured' } }],
  [
    'a message of a person under a parent company',
    'text',
    { from_user_id: 'DE.Ab4', from_parent_user_id: 'DE.ENT.1', from_logical_id: '9', text: { body: 'Hi' } },
  ],
  [
    'a message with what nobody knows',
    'text',
    { type: 'text', text: { body: 'Hi', x: {} }, identity: {}, errors: null },
  ],
])('%s is kept', async (_name, type, more) => {
  const message = item(more)
  expect(await post(webhook(of(message)))).toBe(200)
  expect(await findInbound(service.redis, tenant.account, message.id)).toMatchObject({ id: message.id, type })
})

test('a webhook without the field or the contacts, or with additional fields, is accepted', async () => {
  const messages = Array.from({ length: 5 }, () => item({ type: 'text', text: { body: 'Hi' } }))
  const [first, another, third, fourth, fifth] = messages.map((message) => of(message))
  expect(await post(webhook(first ?? {}, {}))).toBe(200)
  expect(await post(webhook({ ...another, contacts: undefined }))).toBe(200)
  expect(await post(webhook({ ...third, contacts: [{}], statuses: null, errors: [{ code: 1 }] }))).toBe(200)
  expect(await post({ entry: [{ changes: [{ field: 'messages', value: fourth, x: 1 }], time: 1 }], x: 1 })).toBe(200)
  expect(await post(webhook({ ...fifth, metadata: { phone_number_id: Number(metadata.phone_number_id) } }))).toBe(200)
  const found = await Promise.all(messages.map(({ id }) => findInbound(service.redis, tenant.account, id)))
  expect(found.map((each) => each?.text)).toEqual(['Hi', 'Hi', 'Hi', 'Hi', 'Hi'])
})

test.each<[string, object]>([
  ['what was written on the phone of the business', { message_echoes: [item({ type: 'text', to: '491540000001' })] }],
  ['the history of a number', { history: [{ threads: [{ messages: [item({ type: 'text' })] }] }] }],
  ['a call', { calls: [{ id: 'wacid.1', event: 'connect' }] }],
  ['what became of a group', { groups: [{ type: 'group_create', group_id: 'g1', request_id: 'r1' }] }],
  ['who may be in a group', { groups: [{ type: 'group_participants_add', added_participants: [{ wa_id: '1' }] }] }],
  ['a contact of the phone of the business', { state_sync: [{ type: 'contact', action: 'add', contact: {} }] }],
  ['the state of a template', { event: 'REJECTED', message_template_id: 7, reason: 'NONE' }],
  ['what happened to the account', { event: 'ACCOUNT_RESTRICTION', restriction_info: [] }],
  ['a change of a user id', { user_id_update: [{ wa_id: '4915', user_id: { previous: 'DE.1', current: 'DE.2' } }] }],
  ['a flow that is slow', { event: 'ENDPOINT_LATENCY', flow_id: 'f1', p90_latency: 9_000 }],
  ['what goes to another partner who has the conversation', { standby: { messages: [item({ type: 'text' })] } }],
  ['a conversation handed over', { control_passed: { metadata: 'x' }, sender: { phone_number: '4915' } }],
  ['a new category of a template', { message_template_id: 7, previous_category: 'UTILITY', new_category: 'MARKETING' }],
  ['a payment configuration', { configuration_name: 'upi', provider_name: 'x', status: 'Needs Testing' }],
  ['a username of the business', { username: 'shop', status: 'approved' }],
  ['what a person has clicked', { tracking_events: [{ event_name: 'x', tracking_data: { click_id: '1' } }] }],
  ['nothing at all', {}],
])('%s is acknowledged and is no received message', async (_name, value) => {
  const before = await inboundIds()
  for (const field of ['other', undefined]) expect(await post(webhook({ metadata, ...value }, { field }))).toBe(200)
  expect(await inboundIds()).toEqual(before)
})

test.each<[string, object]>([
  ['an error that is about no message', { errors: [{ code: 130429, title: 'Rate limit hit', error_data: {} }] }],
  [
    'a payment',
    { statuses: [{ id: 'w1', type: 'payment', status: 'captured', timestamp: '1763640000', payment: {} }] },
  ],
  [
    'a status of a message to a group',
    { statuses: [{ id: 'w2', status: 'sent', timestamp: '1', recipient_type: 'group' }] },
  ],
  [
    'a status to a person without a number',
    { statuses: [{ id: 'w4', status: 'read', timestamp: '1', recipient_user_id: 'DE.1', recipient_id: '' }] },
  ],
  ['a status that nobody knows', { statuses: [{ id: 'w3', status: 'warning', timestamp: '1' }] }],
  ['a status without an id', { statuses: [{ status: 'sent' }] }],
  ['lists that are none', { statuses: 1, messages: 'x', contacts: {}, errors: {} }],
])('%s is acknowledged, and a message beside it is kept', async (_name, value) => {
  expect(await post(webhook({ metadata, ...value }))).toBe(200)
  const beside = item({ type: 'text', text: { body: 'Beside' } })
  const changes = [value, of(beside)].map((each) => ({ field: 'messages', value: { metadata, ...each } }))
  expect(await post({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] })).toBe(200)
  expect(await findInbound(service.redis, tenant.account, beside.id)).toMatchObject({ text: 'Beside' })
})

test('the answer of a flow and the kind of a change of identity are kept, however they are written', async () => {
  const flow = item({ type: 'interactive', interactive: { nfm_reply: { name: 'flow', response_json: { a: 1 } } } })
  const system = item({ type: 'system', system: { type: { customer_identity_changed: true } } })
  expect(await post(webhook(of(flow, system)))).toBe(200)
  const kept = await Promise.all([flow, system].map(({ id }) => findInbound(service.redis, tenant.account, id)))
  expect(kept).toMatchObject([
    { parts: { flow: { name: 'flow', response_json: '{"a":1}' } } },
    { parts: { system: { type: 'customer_identity_changed' } } },
  ])
})

test('a button or a row without a title is identified by its id, and a requested number is kept', async () => {
  const button = item({ type: 'interactive', interactive: { type: 'button_reply', button_reply: { id: 'yes' } } })
  const row = item({ type: 'interactive', interactive: { list_reply: { id: 'r1', title: null, description: 'D' } } })
  const number = item({
    from: '',
    from_user_id: 'DE.Ab5',
    type: 'contacts',
    contacts: [{ phones: [{ phone: '+49 1' }] }],
  })
  expect(await post(webhook(of(button, row, number)))).toBe(200)
  const kept = await Promise.all([button, row, number].map(({ id }) => findInbound(service.redis, tenant.account, id)))
  expect(kept).toMatchObject([
    { text: 'yes', parts: { reply: { id: 'yes', title: 'yes' } } },
    { text: 'r1', parts: { reply: { id: 'r1', title: 'r1', description: 'D' } } },
    { from: 'DE.Ab5', parts: { contacts: [{ name: '', phones: [{ phone: '+49 1' }] }] } },
  ])
})

test('a message that comes to two producers at once, and again, is one message and makes one event', async () => {
  const lane = tenant.cloudLane
  // Somebody listens.
  await outboxOf(service.redis, lane).add('e', '{}')
  const message = item({ type: 'text', text: { body: 'Once' } })
  const body = webhook(of(message))
  const all = await Promise.all([service.url, second.url, service.url, second.url].map((url) => post(body, url)))
  expect([...all, await post(body), await post(body, second.url)]).toEqual([200, 200, 200, 200, 200, 200])
  const query = { from: '491540000001', direction: 'inbound', limit: 1_000 }
  const { data } = await tenant.api.call(messages.list, { query })
  expect(data.filter(({ id }) => id === message.id)).toHaveLength(1)
  // The outbox names it by its digest: WhatsApp's own id has the number in it.
  const told = () => toldOfReceived(service.redis, lane, message.id)
  const before = (await told()).length
  // Of those that came at the same moment each may tell: `seq` is the same.
  expect(before).toBeGreaterThanOrEqual(1)
  await post(body)
  expect(await told()).toHaveLength(before)
})
