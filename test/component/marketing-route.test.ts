// Pins: approved marketing templates go to WhatsApp's address for marketing when their sender or their campaign says so, however
// they were accepted and however often they are tried; nothing else goes there. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { errorOf } from '../support/api-error.ts'
import { type CampaignService, SPRING, startCampaigns } from '../support/campaigns.ts'
import { runCli } from '../support/cli.ts'
import { acknowledgedId, audioTo, reaches } from '../support/messages.ts'
import { requeueAll } from '../support/requeue.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { eventually } from '../support/wait.ts'

const RECEIPT = { ...SPRING, name: 'receipt', category: 'UTILITY' }
let service: CampaignService
let admin: string
beforeAll(async () => {
  service = await startCampaigns({ rate: 200, templates: [SPRING, RECEIPT] })
  admin = (await createCredential(service.redis, service.tenant.account, ['admin'], Date.now())).secret
})
afterAll(() => service?.close())
const change = (body: object, lane = service.lane) => service.request('PATCH', `/admin/senders/${lane}`, body, admin)

interface Sender {
  lane: number
  number: string
}
let senders = 0
/** A sender of the account that goes by this. It has sent nothing yet, so that no worker believes in what it was. */
async function senderBy(marketing_route: string): Promise<Sender> {
  senders += 1
  const number = `4917200${1_000 + senders}`
  const lane = await addSender(service.redis, {
    ...{ account: service.tenant.account, number, name: '', provider: 'cloud-api', phoneNumberId: `77${number}` },
    ...{ baseUrl: service.simulator.url, rate: 200, honoursIdempotency: false, isDefault: false },
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('token'),
  })
  await goesBy(marketing_route, lane)
  return { lane, number }
}

async function goesBy(marketing_route: string, lane: number): Promise<void> {
  const answer = await change({ marketing_route }, lane)
  expect([answer.status, answer.json().data?.marketing_route]).toEqual([200, marketing_route])
}

const templateTo = (to: string, { number }: Sender, name = 'spring') => ({
  ...{ messaging_product: 'chatapp', recipient_type: 'individual', to, sender: number, type: 'template' },
  template: {
    ...{ name, language: { code: 'en_US' } },
    components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }],
  },
})
const send = async (to: string, sender: Sender, name?: string): Promise<string> =>
  acknowledgedId(
    await service.post('/chatappbusiness/send-templated-message', {
      ...templateTo(to, sender, name),
      api_key: service.tenant.apiKey,
    }),
  )
/** What WhatsApp took for these people. */
const linesOf = async (people: readonly string[]) =>
  (await readLedger(service.simulator.url)).filter(({ to }) => people.includes(to))
/** The policy under which each one's message came to the address for marketing; `usual` for those that did not. */
const policies = async (...people: string[]): Promise<Record<string, string>> =>
  Object.fromEntries((await linesOf(people)).map(({ to, product_policy }) => [to, product_policy ?? 'usual']))

test('a sender with the route sends its marketing templates by it, each with its proof, and nothing else', async () => {
  const sender = await senderBy('marketing_strict')
  const ids = [await send('+491700000001', sender), await send('+491700000002', sender, 'receipt')]
  const single = { ...audioTo('+491700000003'), sender: sender.number, api_key: service.tenant.apiKey }
  ids.push(acknowledgedId(await service.post('/sendservicemessages/sendmessages', single)))
  const batch = await service.request('POST', '/messages/batch', { messages: [templateTo('+491700000004', sender)] })
  ids.push(
    ...z
      .object({ results: z.array(z.object({ id: z.string() })) })
      .parse(batch.json())
      .results.map(({ id }) => id),
  )
  // `read` comes by webhook, which brings our own id back.
  for (const id of ids) await reaches(service, service.tenant, id, 'read')
  expect(await policies('491700000001', '491700000002', '491700000003', '491700000004')).toEqual({
    491700000001: 'STRICT',
    491700000002: 'usual',
    491700000003: 'usual',
    491700000004: 'STRICT',
  })
})

test('a message accepted before a change takes the route set when it leaves', async () => {
  const sender = await senderBy('marketing_strict')
  const queues = openLaneQueues(service.redis)
  await pauseLane(service.redis, queues, sender.lane, { reason: 'test', by: 'test' })
  const id = await send('+491700000011', sender)
  await goesBy('marketing_fallback', sender.lane)
  // A worker believes for a second in what it has read of a sender, and the next one in nothing.
  await service.stopWorker()
  await service.startWorker()
  await resumeLane(service.redis, queues, sender.lane)
  await queues.close()
  await reaches(service, service.tenant, id, 'read')
  expect(await policies('491700000011')).toEqual({ 491700000011: 'CLOUD_API_FALLBACK' })
})

test.concurrent.each([
  ['messages', 'marketing_fallback', 'CLOUD_API_FALLBACK'],
  ['marketing_fallback', 'marketing_strict', 'STRICT'],
  ['marketing_strict', 'messages', 'usual'],
  ['marketing_strict', undefined, 'STRICT'],
])('by a sender with %s a campaign with %s sends %s, also in retries and requeues', async (own, overruling, policy) => {
  const sender = await senderBy(own)
  const { tag, phones } = await service.addPeople(8)
  const [again = '', failing = ''] = phones
  // Refused once for a moment, so that it gets a job of its own; and refused for good, until it is requeued.
  await service.misbehave({ behaviour: 'pair-limited', match: { to: again }, count: 1 })
  await service.misbehave({ behaviour: 'undeliverable', match: { to: failing }, count: 1 })
  const overrules = overruling !== undefined && { marketing_route: overruling }
  const id = await service.ready({ tags: [tag] }, { sender: sender.number, ...overrules })
  expect(await service.show(id)).toMatchObject({ marketing_route: overruling ?? null })
  await service.move(id, 'start')
  await service.reaches(id, 'done', 20_000)
  await eventually(async () => (await service.show(id)).progress.failed === 1 || undefined, 'one has failed')
  await requeueAll(service, service.tenant, { campaign: id, state: 'failed' })
  await eventually(async () => (await service.show(id)).progress.read === 8 || undefined, 'all are read')
  expect(await policies(...phones)).toEqual(Object.fromEntries(phones.map((phone) => [phone, policy])))
})

test('a number whose provider has no such address refuses the route, in its settings and for its campaigns', async () => {
  const refused = [
    await change({ marketing_route: 'marketing_strict' }, service.tenant.partnerLane),
    await service.request('POST', '/campaigns', {
      ...service.definition({ rows: {} }, { marketing_route: 'marketing_fallback' }),
      sender: service.tenant.partnerNumber,
    }),
  ]
  for (const answer of refused) {
    expect([answer.status, errorOf({ json: answer.json() })]).toEqual([
      400,
      expect.objectContaining({
        code: 'not_supported_by_provider',
        details: [{ path: 'marketing_route', message: expect.stringContaining('no other route') }],
      }),
    ])
  }
  expect((await change({ marketing_route: 'messages' }, service.tenant.partnerLane)).status).toBe(200)
})

test.each([
  ['whose template is no marketing at WhatsApp', { templates: [RECEIPT, { ...SPRING, category: 'UTILITY' }] }, 134100],
  ['whose account may not use it', { business: { marketing_messages_onboarding_status: 'ELIGIBLE' } }, 134102],
])('a campaign %s is paused at the first refusal, and none of its recipients is lost', async (_name, account, code) => {
  await service.misbehave({ account })
  const { tag, phones } = await service.addPeople(20)
  const id = await service.ready({ tags: [tag] }, { marketing_route: 'marketing_strict' })
  await service.move(id, 'start')
  const { reason, progress } = await service.reaches(id, 'paused', 20_000)
  expect(reason).toContain(`(code ${code})`)
  expect([progress.failed, progress.sent, progress.unconfirmed]).toEqual([0, 0, 0])
  await service.misbehave({ account: { reset: true } })
  await service.move(id, 'resume')
  await service.reaches(id, 'done', 20_000)
  expect((await linesOf(phones)).map(({ to }) => to).toSorted()).toEqual(phones.toSorted())
})

test('with the fallback an account that may not use the route still sends', async () => {
  await service.misbehave({ account: { business: { marketing_messages_onboarding_status: 'ELIGIBLE' } } })
  const id = await send('+491700000021', await senderBy('marketing_fallback'))
  await reaches(service, service.tenant, id, 'read')
  await service.misbehave({ account: { reset: true } })
  expect(await policies('491700000021')).toEqual({ 491700000021: 'CLOUD_API_FALLBACK' })
})

test('clicks are kept as notices, under their number', async () => {
  const click = await fetch(`${service.simulator.url}/_click`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, people: 3 }),
  })
  expect(await click.json()).toEqual({ delivered: true })
  const answer = await service.request('GET', '/admin/notices', undefined, admin)
  expect(answer.json().data).toContainEqual(
    expect.objectContaining({
      ...{ field: 'user_actions', sender: service.lane, event: 'marketing_messages_link_click' },
      details: { marketing_messages_link_click: 3 },
    }),
  )
})

test('the command line changes the route as well, and lists the choices', async () => {
  const cli = (value: string) =>
    runCli(['senders', 'set', String(service.lane), 'marketing_route', value], service.settings)
  expect((await cli('marketing_strict')).code).toBe(0)
  expect((await change({ rate: 200 })).json().data.marketing_route).toBe('marketing_strict')
  const wrong = await cli('strict')
  expect([wrong.code, wrong.stderr]).toEqual([
    2,
    expect.stringContaining('marketing_route: expected "messages", "marketing_fallback" or "marketing_strict"'),
  ])
})
