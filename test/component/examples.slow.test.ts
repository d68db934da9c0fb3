// Pins: what the description shows as an example can be sent, and is answered with the status that stands with it. Each
// answer is held against its schema by test/support/watch-answers.ts. So are the messages in docs/reference/http.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { demoAccounts } from '../../packages/simulator/demo/data.ts'
import { createAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { CONTENT_TYPES } from '../../src/model/messages/content.ts'
import { operations } from '../../src/producer/openapi/document.ts'
import { shownAnswer } from '../../src/producer/openapi/sample.ts'
import { providerWebhooks } from '../../src/producer/openapi/webhooks.ts'
import type { Example, RouteSpec } from '../../src/producer/route.ts'
import { apiClient } from '../support/api.ts'
import { type DemoWorld, startDemoWorld } from '../support/demo-world.ts'
import { hubSignature, phoneAsks } from '../support/flow-phone.ts'
import { readPage } from '../support/pages.ts'
import { eventually } from '../support/wait.ts'
import { postSigned, signatureOf } from '../support/webhooks.ts'

let world: DemoWorld
let url: string
let operator: string
let worker: Promise<unknown> | undefined
beforeAll(async () => {
  // Two examples wait as long in vain, and two are done within it on a busy machine.
  world = await startDemoWorld({ LANEWAY_BULK_MOVE_WAIT_SECONDS: '5' })
  url = world.service.url
  operator = (await createCredential(world.service.redis, NO_ACCOUNT, [OPERATOR], Date.now())).secret
})
afterAll(() => world?.service.close())

/** Nothing moves by itself until it is asked for. */
async function startWorker(): Promise<void> {
  worker ??= world.service.startWorker()
  await worker
}

const GALLERY = '/partners/wp-gallery/manage'
const answered = z.looseObject({ data: z.unknown().optional(), messages: z.unknown().optional() })

const api = () => apiClient(url, world.key)
async function ask(method: string, path: string, body?: object) {
  const { status, text, json } = await api().request(method, path, body)
  expect(status, `${method} ${path}: ${text}`).toBeLessThan(300)
  return answered.parse(json)
}

const byName = (name: string, at = 0) => operations().find(({ id }) => id === name)?.spec.examples[at]
const dataOf = <S extends z.ZodRawShape>(shape: S, { data }: { data?: unknown }) => z.object(shape).parse(data)

async function sentMessage(): Promise<string> {
  const answer = await ask('POST', '/sendservicemessages/sendmessages', {
    api_key: world.key,
    ...byName('sendingService')?.body,
  })
  return z.tuple([z.object({ id: z.string() })]).parse(answer.messages)[0].id
}

async function campaign(): Promise<string> {
  return dataOf({ id: z.string() }, await ask('POST', '/campaigns', byName('campaignsCreate')?.body)).id
}

/** Disabled, so that nothing is called. */
async function endpoint(): Promise<string> {
  const body = { url: 'https://hooks.example.invalid/', enabled: false }
  return dataOf({ id: z.string() }, await ask('POST', '/event-endpoints', body)).id
}

async function readyCampaign(): Promise<string> {
  await startWorker()
  const id = await campaign()
  await ask('POST', `/campaigns/${id}/preflight`)
  const isReady = async () =>
    dataOf({ state: z.string() }, await ask('GET', `/campaigns/${id}`)).state === 'ready' || undefined
  await eventually(isReady, `${id} is ready`)
  return id
}

async function pausedCampaign(): Promise<string> {
  const id = await readyCampaign()
  await ask('POST', '/admin/lanes/2/pause')
  await ask('POST', `/campaigns/${id}/start`)
  await ask('POST', `/campaigns/${id}/pause`)
  return id
}

/** A message that somebody wrote to the sender of the Cloud API. */
async function receivedMessage(type: string): Promise<Prepared> {
  const sender = demoAccounts.main.senders.find(({ provider }) => provider === 'cloud-api')?.phoneNumberId
  const body = JSON.stringify({ sender, from: '+447700900123', type })
  const answer = await fetch(`${world.service.simulator.url}/_inbound`, { method: 'POST', body })
  return { params: z.object({ id: z.string() }).parse(await answer.json()) }
}

type Prepared = Pick<Example, 'params' | 'query' | 'headers' | 'body'> & { form?: FormData }
const withId = async (id: Promise<string>): Promise<Prepared> => ({ params: { id: await id } })
const VERIFY_TOKEN = 'verify-token-of-the-account'

/** What must be there before an example of a route is sent; `params` instead of those shown. By route, or route and example. */
const PREPARE: Readonly<Record<string, (example: Example) => Promise<Prepared>>> = {
  messagesShow: () => withId(sentMessage()),
  messagesCancel: () => withId(sentMessage()),
  messagesMedia: () => receivedMessage('image'),
  messagesRead: () => receivedMessage('text'),
  // Forms and products are known to the Cloud API only.
  sendingService: async ({ name, body }) =>
    name === 'A form' || name === 'Products' ? { body: { ...body, sender: 'cloud' } } : {},
  async flowsExchange() {
    const secret = 'app-secret-of-the-account'
    await ask('PUT', '/admin/webhook-secrets/webhook.app_secret', { secret })
    const { public_key } = dataOf({ public_key: z.string() }, await ask('POST', '/admin/flows/keys'))
    const { body } = phoneAsks(public_key, { version: '3.0', action: 'ping' })
    const headers = { 'X-Hub-Signature-256': hubSignature(JSON.stringify(body), secret) }
    return { params: { account: String(world.account), flow: 'delivery' }, headers, body }
  },
  async messagesRequeue() {
    const id = await sentMessage()
    await ask('POST', `/messages/${id}/cancel`)
    return { params: { id } }
  },
  async messagesJob() {
    const { job_id } = dataOf({ job_id: z.string() }, await ask('POST', '/messages/requeue', { code: '131026' }))
    return { params: { id: job_id } }
  },
  campaignsShow: () => withId(campaign()),
  campaignsPreflight: () => withId(campaign()),
  campaignsSchedule: () => withId(readyCampaign()),
  campaignsStart: () => withId(readyCampaign()),
  async campaignsPause() {
    const id = await readyCampaign()
    await ask('POST', '/admin/lanes/2/pause')
    await ask('POST', `/campaigns/${id}/start`)
    return { params: { id } }
  },
  campaignsCancel: () => withId(pausedCampaign()),
  async campaignsResume({ body }) {
    const id = await pausedCampaign()
    if (body === undefined || !('class' in body)) return { params: { id } }
    // Nobody has failed here: those that were cancelled take their part.
    await ask('POST', `/campaigns/${id}/cancel`)
    return { params: { id }, body: { ...body, class: 'cancelled' } }
  },
  async campaignsRows() {
    const definition = JSON.stringify(byName('campaignsCreate')?.body).replace('contact.name', 'row.name')
    const body = { ...JSON.parse(definition), recipients: { rows: {} } }
    return withId(ask('POST', '/campaigns', body).then((made) => dataOf({ id: z.string() }, made).id))
  },
  campaignsExport: () => withId(readyCampaign()),
  campaignsRefused: () => withId(readyCampaign()),
  ...Object.fromEntries(
    ['Show', 'Change', 'Remove', 'Rotate', 'Test', 'Replay', 'Attempts'].map((name) => [
      `events${name}`,
      () => withId(endpoint()),
    ]),
  ),
  async eventsReplayed() {
    const id = await endpoint()
    const told = await ask('POST', `/event-endpoints/${id}/replay`, byName('eventsReplay', 1)?.body)
    return { params: { id, replay: dataOf({ replay_id: z.string() }, told).replay_id } }
  },
  async contactsFetch({ answer }) {
    const shape = answer !== undefined && 'msg' in Object(answer) ? 'records' : 'contacts'
    await setAccountSettings(world.service.redis, world.account, { contacts_shape: shape })
    return {}
  },
  async consoleDemoShow() {
    // Nobody takes a key that is none: the traffic runs, and nothing comes of it.
    world.service.traffic.aim({ baseUrl: url, simulatorUrl: url, apiKey: 'none', campaignSender: '1' })
    return {}
  },
  consoleSessionSignIn: async () => ({ body: { key: world.key } }),
  async galleryFilesMove({ status }) {
    if (status === 200) await startWorker()
    return {}
  },
  async peopleErase({ status }) {
    if (status === 200) await startWorker()
    return {}
  },
  async galleryFilesShowMove() {
    const moved = await ask('POST', `${GALLERY}/files/bulk-move`, { file_ids: [2], folder_id: 2 })
    return { params: dataOf({ job_id: z.string() }, moved) }
  },
  async galleryFilesUpload() {
    const form = new FormData()
    form.set('folder_id', '1')
    form.set('file', new Blob(['A text.\n']), 'a.txt')
    return { form }
  },
  async galleryFilesMedia() {
    const listed = z.array(z.object({ url: z.string() })).parse((await ask('GET', `${GALLERY}/files?folder_id=1`)).data)
    const [, , token = '', name = ''] = new URL(listed[0]?.url ?? '').pathname.split('/')
    return { params: { token, name } }
  },
  async webhooksHandshake({ query }) {
    return { query: { ...query, 'hub.verify_token': 'verify-token' } }
  },
  async webhooksReport({ body }) {
    return { headers: { 'X-Hub-Signature-256': signatureOf(JSON.stringify(body)) } }
  },
  async webhooksAccountHandshake({ query }) {
    await ask('PUT', '/admin/webhook-secrets/webhook.verify_token', { secret: VERIFY_TOKEN })
    return { params: { account: String(world.account) }, query: { ...query, 'hub.verify_token': VERIFY_TOKEN } }
  },
  async webhooksAccountReport({ body }) {
    await ask('PUT', '/admin/webhook-secrets/webhook.app_secret', { secret: 'app-secret-of-the-account' })
    const signature = signatureOf(JSON.stringify(body), 'app-secret-of-the-account')
    return { params: { account: String(world.account) }, headers: { 'X-Hub-Signature-256': signature } }
  },
  async keysShow() {
    const { id } = await createCredential(world.service.redis, world.account, ['messages:read'], Date.now())
    return { params: { key: id } }
  },
  async keysRevoke() {
    const { id } = await createCredential(world.service.redis, world.account, ['messages:read'], Date.now())
    return { params: { key: id } }
  },
  async keysRotate() {
    const { id } = await createCredential(world.service.redis, world.account, ['messages:read'], Date.now())
    return { params: { key: id } }
  },
  async sendersCreate({ body }) {
    const { data } = await ask('GET', '/admin/senders')
    const [{ base_url }] = z.tuple([z.object({ base_url: z.string() })], z.unknown()).parse(data)
    return { body: { ...body, base_url } }
  },
  async accountsRemove() {
    return { params: { id: String(await createAccount(world.service.redis, 'closing')) } }
  },
  async sendersRemove() {
    const { redis, simulator, config } = world.service
    const seal = createSeal(secretKeysOf(config))
    const id = await addSender(redis, {
      ...{ account: world.account, number: '447700900077', name: '', provider: 'partner-api', baseUrl: simulator.url },
      ...{ sealedToken: seal.encrypt('t'), phoneNumberId: '', rate: 1, honoursIdempotency: false, isDefault: false },
    })
    return { params: { id: String(id) } }
  },
  async templatesShow() {
    await ask('POST', '/admin/templates', byName('templatesImport')?.body)
    return {}
  },
  async templatesSync() {
    await ask('PATCH', '/admin/senders/2', { waba_id: '4711' })
    return { body: { sender: '2' } }
  },
  async templatesRemove() {
    await ask('POST', '/admin/templates', byName('templatesImport')?.body)
    return {}
  },
  async healthReady() {
    await startWorker()
    return {}
  },
}
const NEED_WORKER =
  /^(health|campaigns(Schedule|Start|Pause|Cancel|Resume|Export|Refused)|galleryFilesMove 200|peopleErase 200)/

/** What is for operators takes one of theirs. */
const keyFor = ({ access }: RouteSpec): string =>
  access.in === 'bearer' && access.permission === 'operator' ? operator : world.key

function send(spec: RouteSpec, example: Example, prepared: Prepared): Promise<Response> {
  const { params = example.params ?? {}, query = example.query, headers = example.headers, form } = prepared
  const path = spec.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const asked = query === undefined ? '' : `?${new URLSearchParams(query)}`
  const inBody = spec.access.in === 'api_key' ? { api_key: world.key } : {}
  const shown = prepared.body ?? example.body
  const json = shown === undefined || form !== undefined ? undefined : JSON.stringify({ ...inBody, ...shown })
  const body = form ?? example.text ?? json
  return apiClient(url, spec.access.in === 'bearer' ? keyFor(spec) : undefined).open(`${path}${asked}`, {
    method: spec.method.toUpperCase(),
    headers: {
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  })
}

const all = operations()
  .flatMap(({ id, spec }) =>
    spec.examples.map((example) => ({ id, spec, example, title: `${id} ${example.status} ${example.name ?? ''}` })),
  )
  .sort((one, other) => Number(NEED_WORKER.test(one.title)) - Number(NEED_WORKER.test(other.title)))

/** These are done by a worker while the request waits. */
const IN_TIME = /^(galleryFilesMove 200|peopleErase 200)/
/** Without a worker these wait as long as they may: together. */
const IN_VAIN = /^(galleryFilesMove 202|galleryFilesShowMove|peopleErase 202)/
const inVain = all.filter(({ title }) => IN_VAIN.test(title))
const others = all.filter(({ title }) => !IN_VAIN.test(title))

test.concurrent.each(inVain)('the example of $title is answered as described', answersAsItSays)
test.each(others)('the example of $title is answered as described', answersAsItSays)

async function answersAsItSays({ id, spec, example }: (typeof all)[number]): Promise<void> {
  const prepared = (await PREPARE[id]?.(example)) ?? {}
  // The id of the examples is nobody's message.
  const shown = id.startsWith('lookups') ? { ...example, body: { message_id: await sentMessage() } } : example
  let answer = await send(spec, shown, prepared)
  // A busy machine takes longer for it than the request waits.
  if (IN_TIME.test(`${id} ${example.status}`)) {
    answer = await eventually(async () => {
      const later = answer.status === 200 ? answer : await send(spec, shown, prepared)
      return later.status === 200 && later
    }, 'it is done while the request waits')
  }
  const text = await answer.text()
  expect(answer.status, text).toBe(example.status)
  const said = z.object({ message: z.string() }).safeParse(shownAnswer(spec, example))
  // How far a job is, a second later nobody knows.
  if (said.success && !/Job|ShowMove|Replayed/.test(id)) expect(JSON.parse(text)).toMatchObject(said.data)
}

test.each(Object.entries(providerWebhooks))('the webhook %s is accepted', async (_name, item) => {
  const example = item.post?.requestBody?.content['application/json']?.example
  const body = JSON.stringify(example)
  expect(body.length).toBeGreaterThan(100)
  const { status, text } = await postSigned(`${url}/webhooks/cloud-api`, body)
  expect([status, JSON.parse(text)]).toEqual([200, { status: true, message: 'received' }])
})

describe('a repeated Idempotency-Key with another body is refused by', () => {
  const OTHER: Readonly<Record<string, object>> = {
    sendingMessage: { to: '+44 7700 900199' },
    sendingService: { to: '+44 7700 900199' },
    sendingTemplate: { to: '+44 7700 900199' },
    sendingBatch: { messages: [{}] },
    messagesRequeueMany: { code: '1', dry_run: false },
    campaignsCreate: { name: 'Another' },
    galleryFoldersCreate: { name: 'Another' },
    contactsCreateList: { name: 'Another' },
    eventsCreate: { include_content: true },
    accountsCreate: { name: 'Another' },
    keysCreate: { name: 'Another' },
    contactBookCreate: { name: 'Another' },
    optOutsAdd: { person: '+44 7700 900156' },
    sendersCreate: { name: 'Another' },
    eventsReplay: { types: ['message.sent'] },
    portfoliosCreate: { name: 'Another' },
  }
  /** What is first asked for, where the first example is no use for it. */
  const FRESH: Readonly<Record<string, (body: object) => object>> = {
    contactsCreateList: () => ({ name: 'Summer customers' }),
    contactBookCreate: () => ({ phone: '+44 7700 900189' }),
    messagesRequeueMany: () => ({ code: '2' }),
    sendersCreate: (body) => ({ ...body, number: '+44 7700 900066', name: 'third shop' }),
    eventsReplay: (body) => ({ ...body, dry_run: false }),
  }
  const taking = operations().filter(({ id, spec }) => 'Idempotency-Key' in (spec.headers?.shape ?? {}) && OTHER[id])

  test.each(taking)('$id', async ({ id, spec }) => {
    const [example] = spec.examples
    if (example === undefined) throw new Error(`${id} has no example`)
    const headers = { ...example.headers, 'Idempotency-Key': `again ${id}` }
    const prepared = { ...(await PREPARE[id]?.(example)), headers }
    const shown = prepared.body ?? example.body ?? {}
    const fresh = FRESH[id]?.(shown) ?? shown
    const first = await send(spec, example, { ...prepared, body: fresh })
    expect(first.ok, await first.text()).toBe(true)
    const again = await send(spec, example, { ...prepared, body: { ...fresh, ...OTHER[id] } })
    expect([again.status, await again.json()]).toMatchObject([422, { error: { code: 'idempotency_key_reused' } }])
  })
})

test('a campaign that is over is neither checked nor scheduled again', async () => {
  const id = await pausedCampaign()
  await ask('POST', `/campaigns/${id}/cancel`)
  for (const [act, body] of Object.entries({ preflight: {}, schedule: { at: '2126-11-22T09:00:00Z' } })) {
    const answer = await api().post(`/campaigns/${id}/${act}`, body)
    expect([answer.status, answer.json], act).toMatchObject([422, { error: { code: 'wrong_state' } }])
  }
})

test('an upload into a folder that does not exist, and a webhook that is compressed, are refused as described', async () => {
  const form = new FormData()
  form.set('folder_id', '999999')
  form.set('file', new Blob(['A text.']), 'a.txt')
  const upload = await api().post(`${GALLERY}/files`, form)
  expect([upload.status, upload.json]).toMatchObject([404, { error: { code: 'not_found' } }])
  const { status, text } = await postSigned(`${url}/webhooks/cloud-api`, 'x', undefined, { 'content-encoding': 'gzip' })
  expect([status, JSON.parse(text)]).toMatchObject([415, { error: { code: 'unsupported_media_type' } }])
})

describe('in docs/reference/http/sending.md', () => {
  const shown = ['sendservicemessages/sendmessages', 'chatappbusiness/send-templated-message'].flatMap((path) => {
    const section =
      readPage('docs/reference/http/sending.md').text.split(`## POST /${path}\n`)[1]?.split(/^## /m)[0] ?? ''
    return Array.from(section.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, json = '']) => {
      const body = z.looseObject({ type: z.string() }).parse(JSON.parse(json))
      const kind = z.object({ interactive: z.object({ type: z.string() }) }).safeParse(body).data?.interactive.type
      return { path, kind: kind ?? body.type, body }
    })
  })

  test('there is an example of every kind of message', () => {
    const types = CONTENT_TYPES.filter((type) => type !== 'interactive')
    const interactive = ['list', 'button', 'cta_url', 'location_request_message']
    expect(new Set(shown.map(({ kind }) => kind))).toEqual(new Set([...interactive, ...types]))
  })

  test.each(shown)('the $kind message is accepted', async ({ path, body }) => {
    const answer = await ask('POST', `/${path}`, { ...body, api_key: world.key })
    expect(answer.messages).toHaveLength(1)
  })
})
