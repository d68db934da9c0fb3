// Pins: marking a received message as read asks WhatsApp once, with the right key only, and says what went wrong; kinds of
// interactive messages that only the Cloud API has arrive there, and answers to a flow come as data. Real: Redis, HTTP,
// producer, worker, simulator.
import { expect } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { messages } from '../../src/producer/api/messages/routes.ts'
import { errorOf } from '../support/api-error.ts'
import { serviceTest } from '../support/fixtures.ts'
import { acknowledgedId, reaches } from '../support/messages.ts'
import { receiveInbound } from '../support/simulator-wires.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { control } from '../support/uploads.ts'
import { eventually } from '../support/wait.ts'

const test = serviceTest({ provider: 'cloud-api' })
  .extend('receive', { scope: 'file' }, ({ service, tenant }) => async (more: object = {}) => {
    const sender = await findSender(service.redis, tenant.cloudLane)
    const body = { sender: sender?.phone_number_id, from: '+447700900161', ...more }
    return (await receiveInbound(service.simulator.url, body)).id
  })
  .extend('mark', { scope: 'file' }, ({ api }) => (id: string, body: object = {}, key?: string) => {
    return (key === undefined ? api : api.as(key)).post(`/messages/${id}/read`, body)
  })

test('a received message can be marked as read, repeatedly, and not by another account', async ({
  service,
  tenant,
  receive,
  mark,
}) => {
  const id = await receive()
  expect((await mark(id)).status).toBe(200)
  expect((await mark(id, { typing: true })).status).toBe(200)
  const other = await service.addTenant()
  expect(errorOf(await mark(id, {}, other.apiKey)).code).toBe('not_found')
  expect(errorOf(await mark(id, {}, await tenant.key('messages:read'))).code).toBe('forbidden')
  expect(errorOf(await mark(id, { typng: true })).code).toBe('invalid_request')
})

test('a message that was sent, or that WhatsApp does not know, cannot be marked', async ({ service, tenant, mark }) => {
  const body = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+447700900161', type: 'text' }
  const sent = await service.post('/sendservicemessages/sendmessages', {
    ...{ ...body, text: { body: 'Hello' }, api_key: tenant.apiKey },
  })
  expect(errorOf(await mark(acknowledgedId(sent))).code).toBe('not_found')
})

test('what a removed sender received can no longer be marked', async ({ service, tenant, receive, mark }) => {
  const id = await receive()
  const record = senderRecord(service.redis, tenant.cloudLane)
  await record.change({ removed_at: Date.now() })
  await eventually(async () => (await mark(id)).status === 409, 'it is known')
  await record.drop('removed_at')
  await eventually(async () => (await mark(id)).status === 200, 'it is back')
})

test('the answers to a flow come as data as well as text', async ({ tenant, receive }) => {
  const text = JSON.stringify({ flow_token: 'order-77', day: 'Monday', times: ['8', '9'] })
  const id = await receive({ type: 'flow_reply', text })
  const { data } = await tenant.api.call(messages.show, { params: { id } })
  expect(data).toMatchObject({
    kind: 'interactive',
    text: 'Sent',
    flow: { token: 'order-77', response: { day: 'Monday', times: ['8', '9'] }, response_json: text },
  })
})

test.for<[string, object]>([
  ['flow', { body: { text: 'When?' }, action: { name: 'flow', parameters: { flow_id: '1', flow_cta: 'Open' } } }],
  ['product', { action: { catalog_id: '1', product_retailer_id: 'shoe' } }],
  [
    'product_list',
    {
      header: { type: 'text', text: 'Shoes' },
      body: { text: 'Look' },
      action: { catalog_id: '1', sections: [{ product_items: [{ product_retailer_id: 'shoe' }] }] },
    },
  ],
  ['catalog_message', { body: { text: 'All' }, action: { name: 'catalog_message' } }],
  ['button', { body: { text: 'Yes?' }, action: { buttons: [{ type: 'reply', reply: { id: 'y', title: 'Yes' } }] } }],
])(
  '%s, a kind or form that only the Cloud API accepts, is delivered there and refused elsewhere',
  async ([type, parts], { service, tenant }) => {
    const body = {
      ...{ messaging_product: 'chatapp', recipient_type: 'individual', to: '+447700900161', type: 'interactive' },
      ...{ interactive: { type, ...parts }, api_key: tenant.apiKey },
    }
    const id = acknowledgedId(await service.post('/sendservicemessages/sendmessages', body))
    await reaches(service, tenant, id, 'read', 15_000)
    const refused = await service.post('/sendservicemessages/sendmessages', { ...body, sender: tenant.partnerNumber })
    expect([refused.status, errorOf({ json: refused.body }).code]).toEqual([400, 'not_supported_by_provider'])
  },
)

test('an answer reports that WhatsApp does not answer', async ({ service, receive, mark }) => {
  const id = await receive()
  await control(service, { clear: true })
  await service.simulator.close()
  const answer = await mark(id)
  expect([answer.status, errorOf(answer).code]).toEqual([502, 'not_marked_read'])
})
