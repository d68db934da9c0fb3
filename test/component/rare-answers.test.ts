// Pins: documented answers that come of nothing but a certain moment or a certain size, which no other test meets. Real:
// Redis, HTTP, producer, worker. Stood in for: the chat product.
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATOR } from '../../src/accounts/permissions.ts'
import { createCredential } from '../../src/accounts/store/credentials.ts'
import { GALLERY } from '../../src/producer/routes/gallery-folders.ts'
import { faultOfAnswer, faultOfHead } from '../support/answer-check.ts'
import { errorOf } from '../support/api-error.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { DECLARED } from '../support/declared-routes.ts'

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns({ env: { LANEWAY_BULK_MOVE_WAIT_SECONDS: '2' } })
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
] as const)(
  '%s that are announced larger than may be are refused before they are sent',
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
    const seen = { method: 'POST', path, status: answer.statusCode, type: answer.headers['content-type'] }
    expect([faultOfHead(seen), faultOfAnswer(seen, text)]).toEqual([undefined, undefined])
    expect(answer.statusCode).toBe(413)
    expect(errorOf({ json: JSON.parse(text) }).code).toBe('too_large')
  },
)

test.each(DECLARED.filter(({ key }) => key === 'bearer').map((route) => [route.name, route] as const))(
  '%s is refused to an operator who acts for no account that there is',
  async (_name, route) => {
    const { secret } = await createCredential(service.redis, 0, [OPERATOR], Date.now())
    for (const [account, wanted] of [
      ['none', 'account_required'],
      ['999999', 'not_found'],
    ] as const) {
      const headers = { authorization: `Bearer ${secret}`, 'x-laneway-account': account }
      const json = route.body === 'other' ? {} : { 'content-type': 'application/json' }
      const answer = await fetch(service.url + route.path, {
        method: route.method,
        headers: { ...headers, ...json },
        ...(route.body === 'other' ? {} : { body: '{}' }),
      })
      const { code } = errorOf({ json: JSON.parse(await answer.text()) })
      // What is looked at first may be the body, or the path.
      if (answer.status !== 404 || code !== 'not_found') expect([wanted, 'invalid_request']).toContain(code)
    }
  },
)

test('the 51st bulk move of an account at a time is refused until one of them is done', async () => {
  await service.stopWorker()
  const key = await service.tenant.key('gallery')
  const move = () =>
    fetch(`${service.url}${GALLERY}/files/bulk-move`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ file_ids: [1], folder_id: 1 }),
    })
  const answers = await Promise.all(Array.from({ length: 51 }, move))
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(1)
  expect(refused[0]?.headers.get('retry-after')).toBe('1')
  expect(errorOf({ json: await refused[0]?.json() }).code).toBe('too_many_moves')
  await service.startWorker()
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
