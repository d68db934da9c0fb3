// Pins: a key of the whole installation acts for the account that it names and for no other, sees all of them where it
// names none, and no other key can name an account or become one. Real: Redis, HTTP, producer.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { OPERATOR, PERMISSIONS } from '../../src/model/accounts/permissions.ts'
import { errorOf } from '../support/api-error.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { credentialRecords } from '../support/state/accounts.ts'
import { shownAs } from '../support/state/lanes.ts'

let service: Service
let one: Tenant
let two: Tenant
let operator: string
let admin: string
beforeAll(async () => {
  service = await startService({ worker: false })
  one = await service.addTenant()
  two = await service.addTenant()
  operator = (await createCredential(service.redis, 0, [OPERATOR], Date.now(), 0, 'Ada')).secret
  admin = await one.key('admin')
})
afterAll(() => service?.close())

const get = (path: string, key: string, headers: Record<string, string> = {}) => service.api.as(key).get(path, headers)
const post = (path: string, key: string, body: object, headers: Record<string, string> = {}) =>
  service.api.as(key).post(path, body, headers)
const as = (account: number) => ({ 'x-laneway-account': String(account) })
const audio = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' }

test('an operator acts for the account that it names, wherever a key of that account could', async () => {
  const lanes = (text: string) => [one, two].map(({ partnerLane }) => text.includes(`"lane":${partnerLane},`))
  expect(lanes((await get('/admin/lanes', operator, as(one.account))).text)).toEqual([true, false])
  expect(lanes((await get(`/admin/lanes?account=${two.account}`, operator)).text)).toEqual([false, true])
  const body = { ...audio, audio: { link: 'https://x.example/a.mp3' }, api_key: operator }
  const sent = await service.post('/sendservicemessages/sendmessages', body, as(two.account))
  expect(sent.status).toBe(200)
  const listed = await get(`/messages?limit=5&account=${two.account}`, operator)
  expect(listed.text).toContain(two.partnerNumber)
  expect((await get('/messages', operator, as(one.account))).json).toMatchObject({ data: [] })
  expect((await post('/campaigns/cmp_999_1/start', operator, {}, as(one.account))).status).toBe(404)
})

test('an operator without an account is asked to name one, and can read all lanes, metrics and acts', async () => {
  for (const path of ['/contacts', '/opt-outs', '/partners/wp-gallery/manage/folders']) {
    const answer = await get(path, operator)
    expect([answer.status, errorOf(answer)], path).toMatchObject([400, { code: 'account_required' }])
    expect(errorOf(answer).message).toContain('x-laneway-account')
  }
  const body = { ...audio, audio: { link: 'https://x.example/a.mp3' }, api_key: operator }
  expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(400)
  const { text } = await get('/admin/lanes', operator)
  for (const { partnerLane } of [one, two]) expect(text).toContain(`"lane":${partnerLane},`)
  const metrics = async (headers: Record<string, string> = {}) => (await get('/metrics', operator, headers)).text
  expect(await metrics()).toContain('laneway_redis')
  expect(await metrics(as(one.account))).not.toContain('laneway_redis')
  expect((await post(`/admin/lanes/${two.partnerLane}/pause`, operator, {})).status).toBe(200)
  expect((await post(`/admin/lanes/${two.partnerLane}/resume`, operator, {}, as(one.account))).status).toBe(404)
})

test('an unknown account and an invalid name are refused', async () => {
  expect((await get('/messages', operator, as(999_999))).status).toBe(404)
  for (const name of ['0', '-1', '1.5', 'one', '1,2', '', '99999999999999999999', `0${one.account}`]) {
    const answer = await get('/messages', operator, { 'x-laneway-account': name })
    expect([answer.status, errorOf(answer).code], name).toEqual([400, 'account_required'])
  }
})

test('a key may name its own account; another one gets the same answer as one that does not exist', async () => {
  expect((await get('/admin/lanes', admin, as(one.account))).status).toBe(200)
  const theirs = await get('/admin/lanes', admin, as(two.account))
  const nobodys = await get('/admin/lanes', admin, as(999_999))
  expect([theirs.status, errorOf(theirs).message]).toEqual([404, errorOf(nobodys).message])
  const { secret } = await createCredential(service.redis, one.account, ['messages:send', 'contacts:read'], Date.now())
  const body = { ...audio, audio: { link: 'https://x.example/a.mp3' }, api_key: secret, tags: [1] }
  for (const path of [
    '/sendservicemessages/sendmessages',
    '/chatappbusiness/send-templated-message',
    '/api/betav3/tagmanage/tag/fetchContactsTagWise',
  ]) {
    expect((await service.post(path, body, as(two.account))).status, path).toBe(404)
  }
})

test('a signed-in operator gets the lanes of all accounts in the dashboard, or those of one', async () => {
  const session = await sessionHeader(service.redis, operator)
  const queues = async (named: Record<string, string> = {}) =>
    (await fetch(`${service.url}/dashboard/api/queues`, { headers: { ...session, ...named } })).text()
  const all = await queues()
  for (const { partnerLane } of [one, two]) expect(all).toContain(`"${shownAs(partnerLane)}"`)
  expect(await queues(as(one.account))).toContain(`"${shownAs(one.partnerLane)}"`)
  expect(await queues(as(one.account))).not.toContain(`"${shownAs(two.partnerLane)}"`)
})

test("a key with only half of an operator's record opens nothing", async () => {
  const both = [
    await createCredential(service.redis, one.account, [...PERMISSIONS, OPERATOR], Date.now()),
    await createCredential(service.redis, 0, [...PERMISSIONS], Date.now()),
  ]
  for (const { secret } of both) expect((await get('/admin/lanes', secret)).status).toBe(500)
  expect((await credentialRecords(service.redis)).length).toBeGreaterThan(4)
})
