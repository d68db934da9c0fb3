// Pins: what an account may have in all (messages that wait, drafts, rows, gallery, contacts), that requests at the same
// moment do not get past it together, that another account does not notice, and that room comes back when things go. Real:
// Redis, HTTP, two producers, files. Stood in for: WhatsApp, which is not asked.
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { uploadRecipients } from '../../src/campaigns/commands/upload-rows.ts'
import { readRows } from '../../src/campaigns/store/rows-quota.ts'
import { openFolder } from '../../src/files/folder.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import type { LimitSetting } from '../../src/model/accounts/limits.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { GALLERY } from '../../src/producer/api/gallery/routes.ts'
import { startProducer } from '../../src/producer/main.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import { apiClient } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { silentLog } from '../support/app.ts'
import { SPRING } from '../support/campaigns.ts'
import { buttonsBody } from '../support/example-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { campaignRecord } from '../support/state/messages.ts'

let service: Service
let second: { url: string; close: () => Promise<void> }
beforeAll(async () => {
  service = await startService({ worker: false, templates: [SPRING] })
  second = await startProducer(service.config, service.server.url, silentLog)
})
afterAll(async () => {
  await second?.close()
  await service?.close()
})

/** An account with this limit. */
async function tenantWith(limit: LimitSetting, value: number): Promise<Tenant> {
  const tenant = await service.addTenant()
  await setAccountSettings(service.redis, tenant.account, { [limit]: value })
  return tenant
}

async function call(
  method: string,
  path: string,
  key: string,
  body?: string | FormData,
  type?: string,
  url = service.url,
) {
  const asType = type === undefined ? {} : { 'content-type': type }
  const { status, headers, text } = await apiClient(url, key).request(method, path, body, asType)
  return { status, headers, json: JSON.parse(text) }
}
const codeOf = (answer: { json: unknown }): string => errorOf(answer).code

const send = (tenant: Tenant, url = service.url) =>
  fetch(`${url}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...buttonsBody(), api_key: tenant.apiKey }),
  })
const batch = (tenant: Tenant, count: number) => {
  const { api_key: _key, ...message } = buttonsBody()
  const body = JSON.stringify({ messages: Array.from({ length: count }, () => message) })
  return call('POST', '/messages/batch', tenant.apiKey, body, 'application/json')
}

test('an account may have only so many messages waiting, and of requests in a row not one more is accepted', async () => {
  const tenant = await tenantWith('limit.waiting', 3)
  const statuses: number[] = []
  for (let n = 0; n < 5; n += 1) statuses.push((await send(tenant)).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429])
  const refused = await send(tenant)
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(codeOf({ json: await refused.json() })).toBe('too_many_waiting')
})

test('many requests at once to two producers exceed the limit by no more than one producer’s share', async () => {
  const tenant = await tenantWith('limit.waiting', 20)
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => send(tenant, n % 2 === 0 ? service.url : second.url)),
  )
  const accepted = answers.filter(({ status }) => status === 200).length
  expect(accepted).toBeGreaterThanOrEqual(20)
  expect(accepted).toBeLessThanOrEqual(40)
  expect((await send(tenant)).status).toBe(429)
})

test('a batch is accepted or refused whole, templates and messages of class campaign count alike, and a repeat does not count', async () => {
  const tenant = await tenantWith('limit.waiting', 10)
  expect((await batch(tenant, 8)).status).toBe(200)
  const refused = await batch(tenant, 3)
  expect([refused.status, codeOf(refused)]).toEqual([429, 'too_many_waiting'])
  expect((await batch(tenant, 2)).status).toBe(200)
  const template = await service.post('/chatappbusiness/send-templated-message', {
    ...{ api_key: tenant.apiKey, sender: 'partner', to: '+447700900123', recipient_type: 'individual' },
    ...{ messaging_product: 'chatapp', type: 'template' },
    template: {
      name: 'spring',
      language: { code: 'en_US' },
      components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }],
    },
  })
  expect(template.status).toBe(429)
})

test('an account at its limit does not affect another one, and a limit of 0 means none', async () => {
  const tenant = await tenantWith('limit.waiting', 1)
  await send(tenant)
  expect((await send(tenant)).status).toBe(429)
  expect((await send(await service.addTenant())).status).toBe(200)
  await setAccountSettings(service.redis, tenant.account, { 'limit.waiting': 0 })
  await expect.poll(async () => (await send(tenant)).status).toBe(200)
})

const draft = (tenant: Tenant, recipients: object = { rows: {} }, url = service.url) => {
  const from = 'rows' in recipients ? 'row.name' : 'contact.name'
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: { from } }] }]
  const template = { name: 'spring', language: { code: 'en_US' }, components }
  const body = JSON.stringify({ sender: 'partner', template, recipients })
  return call('POST', '/campaigns', tenant.apiKey, body, 'application/json', url)
}

test('an account may have only so many drafts however many come at once, and has room again once one is cancelled', async () => {
  const tenant = await tenantWith('limit.drafts', 3)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => draft(tenant, undefined, n % 2 === 0 ? service.url : second.url)),
  )
  const created = answers.filter(({ status }) => status === 201)
  expect(created).toHaveLength(3)
  const refused = answers.find(({ status }) => status !== 201)
  expect([refused?.status, refused && codeOf(refused)]).toEqual([409, 'too_many_drafts'])
  const cancelled = await call('POST', `/campaigns/${created[0]?.json.data.id}/cancel`, tenant.apiKey)
  expect(cancelled.status).toBe(200)
  await expect.poll(async () => (await draft(tenant)).status).toBe(201)
  expect((await draft(tenant)).status).toBe(409)
})

const upload = (tenant: Tenant, id: string, bytes: number) =>
  call('POST', `/campaigns/${id}/rows`, tenant.apiKey, `phone\n${'1'.repeat(bytes - 6)}`, 'text/csv')

test('the rows of an account have a limit of bytes in total; an upload that replaces another counts in its place', async () => {
  const tenant = await tenantWith('limit.rows_bytes', 1_000)
  const ids = await Promise.all([draft(tenant), draft(tenant)])
  const [one = '', other = ''] = ids.map(({ json }) => String(json.data.id))
  expect((await upload(tenant, one, 600)).status).toBe(200)
  const refused = await upload(tenant, other, 600)
  expect([refused.status, codeOf(refused)]).toEqual([409, 'rows_full'])
  expect((await upload(tenant, one, 900)).status).toBe(200)
  expect((await upload(tenant, other, 100)).status).toBe(200)
  expect((await upload(tenant, other, 101)).status).toBe(409)
  // As when its record has come to its end.
  const id = parseCampaignId(one)
  await campaignRecord(service.redis, { lane: id?.lane ?? 0, number: id?.number ?? 0 }).remove()
  await expect.poll(async () => (await upload(tenant, other, 600)).status).toBe(200)
})

test('of simultaneous uploads for a campaign, only the accepted one counts', async () => {
  const tenant = await tenantWith('limit.rows_bytes', 1_000_000)
  const { json } = await draft(tenant)
  const id = parseCampaignId(String(json.data.id))
  const campaign = id && (await findCampaign(service.redis, id))
  if (campaign === undefined) throw new Error('no campaign')
  const deps = {
    redis: service.redis,
    files: openFolder(service.config.dataDir),
    retentionMs: service.config.retentionMs,
  }
  const uploads = await Promise.allSettled(
    [101, 202, 303].map((bytes) => {
      const rows = Readable.from([Buffer.from(`phone\n${'1'.repeat(bytes - 6)}`)])
      return uploadRecipients(deps, campaign, { format: 'csv', bytes: rows }, 1_000)
    }),
  )
  expect(uploads.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected'])
  const taken = [101, 202, 303][uploads.findIndex(({ status }) => status === 'fulfilled')]
  expect((await readRows(service.redis, tenant.account, '', 0)).total).toBe(taken)
})

async function uploadFile(tenant: Tenant, key: string, bytes: number, url = service.url) {
  const folder = await createFolder(service.redis, tenant.account, { name: `folder ${Math.random()}` })
  const form = new FormData()
  form.set('folder_id', String(folder.id))
  form.set('file', new Blob(['x'.repeat(bytes)]), 'note.txt')
  return call('POST', `${GALLERY}/files`, key, form, undefined, url)
}

test('a gallery has a limit of bytes however many files come at once, including its trash', async () => {
  const tenant = await tenantWith('limit.gallery_bytes', 1_000)
  const key = await tenant.key('gallery')
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => uploadFile(tenant, key, 300, n % 2 === 0 ? service.url : second.url)),
  )
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
  const refused = answers.find(({ status }) => status !== 200)
  expect([refused?.status, refused && codeOf(refused)]).toEqual([409, 'gallery_full'])
  const stored = answers.find(({ status }) => status === 200)
  const trashed = await call('DELETE', `${GALLERY}/files/${stored?.json.data.id}`, key)
  expect(trashed.status).toBe(200)
  expect((await uploadFile(tenant, key, 300)).status).toBe(409)
  expect((await uploadFile(tenant, key, 100)).status).toBe(200)
  expect((await uploadFile(tenant, key, 1)).status).toBe(409)
})

test('an account has a limit of contacts, and existing ones can still be changed and imported again', async () => {
  const tenant = await tenantWith('limit.contacts', 3)
  const key = await tenant.key('contacts:write')
  const rows = (...ends: number[]) => `phone,name\n${ends.map((end) => `+44770090010${end},Ada`).join('\n')}\n`
  const put = (text: string) => call('POST', '/contacts/import?tag=People', key, text, 'text/csv')
  expect((await put(rows(1, 2))).status).toBe(200)
  const refused = await put(rows(2, 3, 4))
  expect([refused.status, codeOf(refused)]).toEqual([409, 'too_many_contacts'])
  expect((await put(rows(1, 2, 3))).status).toBe(200)
  expect((await put(rows(1, 2, 3))).status).toBe(200)
  const one = await call('POST', '/contacts', key, JSON.stringify({ phone: '+447700900105' }), 'application/json')
  expect([one.status, codeOf(one)]).toEqual([409, 'too_many_contacts'])
})

test('an account whose own limit is removed has that of the installation again', async () => {
  const { account } = await tenantWith('limit.contacts', 3)
  expect((await findAccount(service.redis, account))?.['limit.contacts']).toBe(3)
  await setAccountSettings(service.redis, account, { 'limit.contacts': null })
  expect((await findAccount(service.redis, account))?.['limit.contacts']).toBeNull()
})
