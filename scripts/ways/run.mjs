// Runs a whole service in this process, on a private Redis and against the simulator, has it do what is most usual several
// times, and prints as JSON which files that entered: see scripts/ways.mjs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gathering } from './counted.mjs'
import { takeWorks, traceDist } from './trace.mjs'

/** So many pieces of work of each part are compared. A slow machine has fewer that count, and goes on for longer. */
const ENOUGH = 4
/** Rounds after which there is something else wrong than a slow machine. */
const ROUNDS = 30
const WARM_UP = 2
/** In a round of messages all but the first come while the process still keeps what the first one needed. */
const MESSAGES = 4
/** What nobody waits for, such as writing down that a message was sent, is done by then. */
const SETTLED_MS = 1_000
/** A status comes within moments; a busy machine may take long for it. */
const LIMIT_MS = 120_000

/** Where a worker begins a piece of work: a turn of a lane, a job of a campaign. */
const LANE_TURN = 'worker/sending/lane-loop.ts'
const CAMPAIGN_JOB = 'campaigns/campaigns.processor.ts'
const WRITES = 'lanes/messages/write-steps.ts'
/** The usual end of an attempt has a short step of its own. */
const WRITES_SENT = 'lanes/messages/write-sent.ts'
traceDist([`${LANE_TURN} look`, `${CAMPAIGN_JOB} work`])

const load = (path) => import(new URL(`../../dist/${path}`, import.meta.url).href)
const { loadConfig } = await load('kernel/config.js')
const { createLog } = await load('kernel/log.js')
const { createSeal } = await load('kernel/seal.js')
const { secretKeysOf } = await load('kernel/secret-keys.js')
const { connectWithRetry } = await load('redis/connect.js')
const { createAccount } = await load('accounts/accounts.js')
const { addSender } = await load('accounts/add-sender.js')
const { createCredential } = await load('accounts/credentials.js')
const { importTemplate } = await load('accounts/templates.js')
const { templateSchema } = await load('model/templates/template.js')
const { startEmbeddedRedis } = await load('start/embedded-redis.js')
const { startProducer } = await load('producer/main.js')
const { startWorker } = await load('worker/main.js')
const { startSimulator } = await load('simulator/simulator.js')

/** In the order of a campaign's life. */
const STAGES = ['created', 'rows uploaded', 'check asked for', 'checked', 'started', 'fanned out', 'message sent']

const SECRET = 'app-secret'
/** Each status comes by itself, and after the answer to the message was written down. */
const DELAYS = { sentMs: 400, deliveredMs: 500, readMs: 600 }
const TEMPLATE = {
  name: 'order_update',
  category: 'UTILITY',
  language: 'en_US',
  status: 'APPROVED',
  components: [{ type: 'BODY', text: 'Dear {{1}}, your order comes on {{2}}.' }],
}
const filledIn = (name, day) => ({
  name: TEMPLATE.name,
  language: { code: TEMPLATE.language },
  components: [{ type: 'BODY', parameters: [name, day] }],
})

const dataDir = mkdtempSync(join(tmpdir(), 'laneway-ways-'))
const config = loadConfig({
  ...{ PORT: '0', LANEWAY_DATA_DIR: dataDir, LANEWAY_LOG_LEVEL: 'silent', LANEWAY_CLOUD_API_APP_SECRET: SECRET },
})
const log = createLog(config, 'ways')
const server = await startEmbeddedRedis(dataDir, log)
const producer = await startProducer(config, server.url, log)
const webhookUrl = `${producer.url}/webhooks/cloud-api`
const simulator = await startSimulator({ port: 0, appSecret: SECRET, webhookUrl, ...DELAYS })
const worker = await startWorker(config, server.url, log)
const redis = connectWithRetry(server.url)
let sender = ''
let key = ''
try {
  ;({ sender, key } = await addTenant())
  const accepted = await messagesSent()
  const campaign = await campaignsSent()
  process.stdout.write(JSON.stringify({ ...accepted, campaign }))
} finally {
  await worker.close()
  await simulator.close()
  await producer.close()
  redis.disconnect()
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}

async function addTenant() {
  const account = await createAccount(redis, 'ways')
  const number = '491710001001'
  await addSender(redis, {
    ...{ account, number, name: 'cloud', provider: 'cloud-api', phoneNumberId: '1065403522429221', isDefault: true },
    ...{ baseUrl: simulator.url, sealedToken: createSeal(secretKeysOf(config)).encrypt('token') },
    ...{ rate: 1_000, honoursIdempotency: false },
  })
  await importTemplate(redis, account, templateSchema.parse(TEMPLATE))
  const { secret } = await createCredential(redis, account, ['messages:send', 'messages:read'], Date.now())
  return { sender: number, key: secret }
}

/** A template with parameters, under a key. */
async function messagesSent() {
  const path = '/chatappbusiness/send-templated-message'
  const send = async (i) => {
    const body = {
      ...{ api_key: key, to: `+49 1520 ${String(1_000_000 + i)}`, recipient_type: 'individual', sender },
      ...{ messaging_product: 'chatapp', type: 'template' },
      template: filledIn({ type: 'text', text: `Ann ${i}` }, { type: 'text', text: 'Tuesday' }),
    }
    return (await request('POST', path, body, { 'idempotency-key': `order-${i}` })).messages[0].id
  }
  const reaches = (id, states) =>
    until(async () => states.includes((await request('GET', `/messages/${id}`)).data.state))
  const parts = gathering(['accept', 'send', 'webhook'], ENOUGH)
  await inRounds(parts, async (round) => {
    const ids = []
    for (let i = 0; i < MESSAGES; i += 1) {
      const id = await send(MESSAGES * round + i)
      // Two that wait would leave in one turn of the lane.
      await reaches(id, ['sent', 'delivered', 'read'])
      ids.push(id)
    }
    for (const id of ids) await reaches(id, ['read'])
    return (work) => {
      if (work.name === `POST ${path}`) return 'accept'
      if (isSending(work)) return 'send'
      return isDelivery(work) ? 'webhook' : undefined
    }
  })
  const alone = (part) => [{ ...parts.usual(part), name: 'all' }]
  return { accept: alone('accept'), send: alone('send'), webhook: alone('webhook') }
}

/** `play` does what is traced once, and returns which part a piece of work belongs to. */
async function inRounds(parts, play) {
  for (let round = 0; !parts.isDone(); round += 1) {
    if (round === ROUNDS) throw new Error(`in ${ROUNDS} rounds:\n${parts.missing()}`)
    const partOf = await play(round)
    await sleep(SETTLED_MS)
    const works = takeWorks()
    if (round < WARM_UP) continue
    for (const work of works) {
      const part = partOf(work)
      if (part !== undefined) parts.add(part, work)
    }
  }
}

/** One campaign after the other, each of one message: created, its recipients uploaded, started by a person. */
async function campaignsSent() {
  const parts = gathering(STAGES, ENOUGH)
  await inRounds(parts, async (round) => {
    const template = filledIn({ type: 'text', text: { from: 'row.name' } }, { type: 'text', text: 'Tuesday' })
    const { id } = (await request('POST', '/campaigns', { sender, template, recipients: { rows: {} } })).data
    await request('POST', `/campaigns/${id}/rows`, `phone,name\n49152030${10_000 + round},Ann ${round}\n`)
    const reaches = (state) => until(async () => (await request('GET', `/campaigns/${id}`)).data.state === state)
    await request('POST', `/campaigns/${id}/preflight`)
    await reaches('ready')
    await request('POST', `/campaigns/${id}/start`)
    await reaches('done')
    return (work) => stageOf(work, id)
  })
  return STAGES.map((stage) => ({ ...parts.usual(stage), name: stage }))
}

function stageOf(work, id) {
  const path = `/campaigns/${id}`
  const request = {
    'POST /campaigns': 'created',
    [`POST ${path}/rows`]: 'rows uploaded',
    [`POST ${path}/preflight`]: 'check asked for',
    [`POST ${path}/start`]: 'started',
  }[work.name]
  if (request !== undefined) return request
  if (work.name === CAMPAIGN_JOB) {
    if (work.files.includes('campaigns/preflight/preflight.ts')) return 'checked'
    return work.calls.some(([, file]) => file === 'campaigns/fan-out/feed.ts') ? 'fanned out' : undefined
  }
  return isSending(work) ? 'message sent' : undefined
}

/** A message was delivered, or read: it counts how long that took. Of steps that are written together, the first writes. */
function isDelivery({ name, files }) {
  return name === 'POST /webhooks/cloud-api' && files.includes('model/messages/history.ts') && files.includes(WRITES)
}

function isSending({ name, files }) {
  return name === LANE_TURN && files.includes('worker/sending/attempt.ts') && files.includes(WRITES_SENT)
}

async function request(method, path, body, headers = {}) {
  const isText = typeof body === 'string'
  const type = body === undefined ? {} : { 'content-type': isText ? 'text/csv' : 'application/json' }
  const response = await fetch(`${producer.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...type, ...headers },
    body: isText ? body : JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

async function until(isSo) {
  const endMs = performance.now() + LIMIT_MS
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error('it does not come to its end')
    await sleep(20)
  }
}
