// Pins: documented answers that come of nothing but a certain moment or a certain size, which no other test meets. Real:
// Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { GALLERY } from '../../src/producer/api/gallery/routes.ts'
import { faultOfAnswer, faultOfHead } from '../support/answer-check.ts'
import { errorOf } from '../support/api-error.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { DECLARED } from '../support/declared-routes.ts'
import { credentialsOf } from '../support/state/accounts.ts'

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns()
})
afterAll(() => service?.close())

test('a campaign that is done cannot be cancelled', async () => {
  const { tag } = await service.addPeople(1)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  const answer = await service.request('POST', `/campaigns/${id}/cancel`, {})
  expect(answer.status).toBe(422)
  expect(errorOf({ json: answer.json() }).code).toBe('wrong_state')
})

test.each([
  [
    'rows of a campaign',
    async (): Promise<string> => `/campaigns/${await service.create({ rows: {} })}/rows`,
    'messages:send',
  ],
  ['contacts', async (): Promise<string> => '/contacts/import?tag=People', 'contacts:write'],
  ['opt-outs', async (): Promise<string> => '/opt-outs/import', 'contacts:write'],
] as const)(
  '%s that are announced as larger than the limit are refused before they are sent',
  async (_what, pathOf, need) => {
    const path = await pathOf()
    // What is announced and never sent needs more than `fetch`.
    const asked = httpRequest(`${service.url}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await service.tenant.key(need)}`,
        'content-type': 'text/csv',
        'content-length': String(1024 ** 3 + 1),
      },
    })
    asked.on('error', () => undefined)
    asked.write('phone\n')
    const [answer] = await once(asked, 'response')
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) {
      text += chunk
      if (text.endsWith('}')) break
    }
    asked.destroy()
    const { pathname } = new URL(path, service.url)
    const seen = { method: 'POST', path: pathname, status: answer.statusCode, type: answer.headers['content-type'] }
    expect([faultOfHead(seen), faultOfAnswer(seen, text)]).toEqual([undefined, undefined])
    expect(answer.statusCode).toBe(413)
    expect(errorOf({ json: JSON.parse(text) }).code).toBe('too_large')
  },
)

test.each(DECLARED.filter(({ key }) => key === 'bearer').map((route) => [route.name, route] as const))(
  '%s is refused for an operator who names no existing account',
  async (_name, route) => {
    const operator = await service.operator()
    for (const [account, wanted] of [
      ['none', 'account_required'],
      ['999999', 'not_found'],
    ] as const) {
      const body = route.body === 'other' ? undefined : {}
      const answer = await operator.request(route.method, route.path, body, { 'x-laneway-account': account })
      const { code } = errorOf(answer)
      // What is looked at first may be the body, or the path.
      if (answer.status !== 404 || code !== 'not_found') expect([wanted, 'invalid_request']).toContain(code)
    }
  },
)

test('the 51st simultaneous bulk move of an account is refused until one of them is done', async () => {
  await service.stopWorker()
  const api = await service.tenant.apiWith('gallery')
  const move = () => api.post(`${GALLERY}/files/bulk-move`, { file_ids: [1], folder_id: 1 })
  const moves = Array.from({ length: 51 }, move)
  // The others wait for a worker; none of them may be over before all have come.
  await Promise.any(moves.map(async (each) => expect((await each).status).toBe(429)))
  await service.startWorker()
  const answers = await Promise.all(moves)
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(1)
  expect(refused[0]?.headers.get('retry-after')).toBe('1')
  expect(errorOf({ json: refused[0]?.json }).code).toBe('too_many_moves')
})

test.each([
  ['compressed', 415, { 'content-encoding': 'gzip' }, 'unsupported_media_type'],
  ['signed with another secret', 401, {}, 'bad_signature'],
] as const)('a webhook that is %s is %i', async (_how, status, headers, code) => {
  const answer = await fetch(`${service.url}/webhooks/cloud-api`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, ...headers },
    body: '{}',
  })
  expect(answer.status).toBe(status)
  expect(errorOf({ json: await answer.json() }).code).toBe(code)
})

test('an account that has a thousand keys gets no other', async () => {
  const { redis, tenant } = service
  const { secret } = await createCredential(redis, tenant.account, ['admin'], Date.now())
  // A thousand entries of the list, all of them this key.
  const list = credentialsOf(redis, tenant.account)
  const [hash = ''] = Object.values(await list.fields())
  const filler = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`key_${i}`, hash]))
  await list.change(filler)
  const answer = await service.api.as(secret).post('/admin/keys', { name: 'one more', permissions: ['admin'] })
  expect([answer.status, errorOf(answer).code]).toEqual([409, 'too_many_keys'])
  await list.drop(...Object.keys(filler))
})

test('a sign-in with a wrong key is refused, and after ten of them nobody at that address may try for a while', async () => {
  const { secret } = await createCredential(service.redis, service.tenant.account, ['admin'], Date.now())
  const signIn = (key: string) =>
    fetch(`${service.url}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ key }),
    })
  for (let i = 0; i < 10; i += 1) {
    const wrong = await signIn(`lw_${i}`)
    expect([wrong.status, errorOf({ json: await wrong.json() }).code]).toEqual([401, 'unauthorized'])
  }
  const late = await signIn(secret)
  expect([late.status, errorOf({ json: await late.json() }).code]).toEqual([429, 'too_many_sign_ins'])
  expect(Number(late.headers.get('retry-after'))).toBeGreaterThan(0)
})
