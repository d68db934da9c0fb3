// Pins: an account that signs webhooks of its own, or names the account at WhatsApp of another one, neither hears what that
// one is told nor keeps it from hearing it. Real: Redis, HTTP, producer. The test itself plays WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

const OWN_SECRET = 'the-secret-of-their-own-app'

let service: Service
let us: Tenant
let them: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  us = await service.addTenant({ defaultProvider: 'cloud-api' })
  them = await service.addTenant({ defaultProvider: 'cloud-api' })
  await ask(them, 'PUT', '/admin/webhook-secrets/webhook.app_secret', { secret: OWN_SECRET })
  await eventually(async () => (await bring(them, '1', [])) === 200 || undefined, 'their secret is good')
})
afterAll(() => service?.close())

const ask = async ({ apiWith }: Tenant, method: string, path: string, body?: object) =>
  (await apiWith('admin')).request(method, path, body)

/** Brings a webhook to the address of an account, signed by its own app, or to that of the installation. */
async function bring(to: Tenant | undefined, wabaId: string, changes: object[]): Promise<number> {
  const time = Math.floor(Date.now() / 1_000)
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: wabaId, time, changes }] })
  const path = `/webhooks/cloud-api${to ? `/${to.account}` : ''}`
  return (await postSigned(service.url + path, body, to && OWN_SECRET)).status
}
const ofNumber = async ({ cloudLane }: Tenant) => {
  const id = (await findSender(service.redis, cloudLane))?.phone_number_id
  return { field: 'messages', value: { metadata: { phone_number_id: id }, statuses: [] } }
}
const wabaOf = async ({ cloudLane }: Tenant) => (await findSender(service.redis, cloudLane))?.waba_id

test('reports from another account do not keep our number’s account at WhatsApp from being learned', async () => {
  const change = await ofNumber(us)
  expect(await bring(them, '8001', [change])).toBe(200)
  expect(await wabaOf(us)).toBe('')
  expect(await bring(undefined, '8001', [change])).toBe(200)
  expect(await wabaOf(us)).toBe('8001')
})

test('another account gets no updates of our account at WhatsApp, whether it names it itself or by a webhook', async () => {
  expect(await bring(them, '8001', [await ofNumber(them)])).toBe(200)
  expect(await wabaOf(them)).toBe('')
  const claimed = await ask(them, 'PATCH', `/admin/senders/${them.cloudLane}`, { waba_id: '8001' })
  expect([claimed.status, claimed.text]).toEqual([403, expect.stringContaining('operator')])
  const sender = { number: '+447700900888', provider: 'cloud-api', base_url: service.simulator.url, token: 'a-token' }
  const added = await ask(them, 'POST', '/admin/senders', { ...sender, phone_number_id: '777', waba_id: '8001' })
  expect([added.status, added.text]).toEqual([403, expect.stringContaining('waba_id')])
  const value = { entity_type: 'WABA', alert_type: 'OURS_ALONE' }
  expect(await bring(undefined, '8001', [{ field: 'account_alerts', value }])).toBe(200)
  expect((await ask(us, 'GET', '/admin/notices')).text).toContain('OURS_ALONE')
  expect((await ask(them, 'GET', '/admin/notices')).text).not.toContain('OURS_ALONE')
})

test('a broken record of ours stops nobody else, and does not give our account at WhatsApp away', async () => {
  await senderRecord(service.redis, us.cloudLane).change({ rate: 'fast' })
  expect(await bring(them, '8002', [await ofNumber(them)])).toBe(200)
  expect(await wabaOf(them)).toBe('8002')
  const sender = { number: '+447700900889', provider: 'cloud-api', base_url: service.simulator.url, token: 'a-token' }
  const add = (more: object) => ask(them, 'POST', '/admin/senders', { ...sender, phone_number_id: '778', ...more })
  expect((await add({ waba_id: '8001' })).status).toBe(403)
  const added = await add({ waba_id: '8002' })
  expect(added.status, added.text).toBe(201)
})
