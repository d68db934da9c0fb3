// Pins: 1,000 keys, numbers, names and texts are put through every door, good and bad, and none comes out where it has no
// business: logs, metrics, traces, activity, events without content, what another account is shown, process lists, files
// that others may read. Real: Redis, HTTP, producer, worker, command line, simulator, the SDK of traces.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { context, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { loggedError } from '../../src/kernel/log.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { traceOfLog } from '../../src/kernel/tracing.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { runCli } from '../support/cli.ts'
import { audioTo, reaches, sendTo } from '../support/messages.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { contactsOf } from '../support/state/accounts.ts'
import { messageRecord } from '../support/state/messages.ts'
import { intakeQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'
import { signatureOf } from '../support/webhooks.ts'

const EACH = 250
const of = (make: (i: number) => string): string[] => Array.from({ length: EACH }, (_, i) => make(i))
const numbers = of((i) => `4915259${String(870_000 + i * 37)}`)
const names = of((i) => `Canaryname${i}x`)
const texts = of((i) => `Canarytext ${i}x of a secret`)
/** 190 bits of the form of a key, all of them unknown; those that are good are added to them. */
const keys = of((i) => `lw_Canary${String(i).padStart(5, '0')}Canary0123456789Canary012345`)

/** Each is put somewhere once at least; `next` gives one that was not used yet. */
const used = { numbers: 0, names: 0, texts: 0, keys: 0 }
const pools = { numbers, names, texts, keys }
function next(kind: keyof typeof pools): string {
  const one = pools[kind][used[kind] % EACH] ?? ''
  used[kind] += 1
  return one
}
const left = (kind: keyof typeof pools): string[] => pools[kind].slice(used[kind])

const lines: string[] = []
const spans = new InMemorySpanExporter()
let service: CampaignService
let admin: string
let other: string
let operator: { cookie: string }
const CLI_SECRET = 'canary-webhook-secret-of-an-account'

beforeAll(async () => {
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  provider.register()
  const options = { level: 'debug', serializers: { err: loggedError }, mixin: traceOfLog }
  service = await startCampaigns({ log: pino(options, { write: (line: string) => void lines.push(line) }) })
  const { redis, tenant } = service
  admin = (await createCredential(redis, tenant.account, [...PERMISSIONS], Date.now())).secret
  const neighbour = await service.addTenant()
  other = (await createCredential(redis, neighbour.account, [...PERMISSIONS], Date.now())).secret
  operator = await sessionHeader(redis)
  keys.push(admin, tenant.apiKey, CLI_SECRET)
})
afterAll(async () => {
  await service?.close()
  trace.disable()
  context.disable()
})

const http = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, key = admin) =>
  service.api.as(key).request(method, path, body, { 'content-type': 'application/json', ...headers })
const textTo = (to: string, body: string) => ({
  ...audioTo(to),
  audio: undefined,
  type: 'text',
  text: { body },
})
const cli = (words: readonly string[], input = '') => runCli(words, service.settings, input)

async function webhook(value: object, secret = 'app-secret') {
  const entry = [{ id: '1', changes: [{ field: 'messages', value }] }]
  const raw = JSON.stringify({ object: 'whatsapp_business_account', entry })
  return http('POST', '/webhooks/cloud-api', raw, { 'x-hub-signature-256': signatureOf(raw, secret) })
}

/** Where one of them stands. Numbers also as people write them. */
function found(where: string, secrets: readonly string[] = [...numbers, ...names, ...texts, ...keys]): string[] {
  return secrets.filter((secret) => where.includes(secret))
}

test('nothing that enters anywhere comes out where it must not', async () => {
  const { redis, tenant } = service
  const send = '/sendservicemessages/sendmessages'

  // HTTP: what is good, what is wrong with the message, and what is wrong with the key.
  const rows = Array.from({ length: 60 }, () => textTo(`+${next('numbers')}`, next('texts')))
  expect((await http('POST', '/messages/batch', { messages: rows })).status).toBe(200)
  const last = await sendTo(service, tenant, `+${next('numbers')}`)
  await Promise.all([
    ...Array.from({ length: 10 }, () => http('POST', send, { api_key: next('keys'), ...audioTo(next('numbers')) })),
    ...Array.from({ length: 10 }, () => http('GET', '/messages', undefined, {}, next('keys'))),
    ...Array.from({ length: 5 }, () =>
      http('GET', '/console/session', undefined, { cookie: `laneway_session=${next('keys')}` }),
    ),
    ...Array.from({ length: 5 }, () => http('POST', '/console/session', { key: next('keys') })),
    http('POST', send, { api_key: tenant.apiKey, ...textTo(`+${next('numbers')}9999`, next('texts')) }),
    http('POST', send, { api_key: tenant.apiKey, ...textTo(`+${next('numbers')}`, next('texts').repeat(400)) }),
    http('POST', send, `{"to":"${next('numbers')}","text":"${next('texts')}"`),
    http('POST', send, { api_key: tenant.apiKey, ...audioTo(next('numbers')) }, { 'idempotency-key': next('numbers') }),
    http('POST', '/chatappbusiness/send-templated-message', {
      ...{ api_key: tenant.apiKey, to: `+${next('numbers')}`, type: 'template', recipient_type: 'individual' },
      template: {
        name: 'spring',
        language: { code: 'en_US' },
        components: [{ type: 'BODY', parameters: [{ type: 'text', text: `${next('names')}\n` }] }],
      },
    }),
    http('POST', '/chatappbusiness/fetchmessageinfo', { api_key: tenant.apiKey, message_id: next('texts') }),
    http('GET', `/messages?to=${next('numbers')}`),
    http('GET', `/messages/${next('numbers')}`),
    http('GET', `/${next('numbers')}/${encodeURIComponent(next('texts'))}`),
    http('POST', '/messages/requeue', { to: next('numbers'), dry_run: false }),
    http('GET', `/admin/people/${next('numbers')}`),
    http('DELETE', `/admin/people/${next('numbers')}`),
    http('POST', '/contacts', { phone: `+${next('numbers')}`, name: next('names'), tags: [] }),
    http('POST', '/contacts', { phone: `+${next('numbers')}x`, name: next('names'), tags: 'none' }),
    http('PUT', '/admin/webhook-secrets/webhook.verify_token', { secret: 'canary-webhook-secret-of-an-account' }),
    http(
      'GET',
      '/webhooks/cloud-api?hub.mode=subscribe&hub.challenge=1&hub.verify_token=canary-webhook-secret-of-an-account',
    ),
  ])

  // Campaigns: recipients that are taken and recipients that are refused.
  const campaign = await service.create({ rows: {} })
  const list = Array.from({ length: 40 }, (_, i) => `${next('numbers')}${i % 4 ? '' : '99999'},${next('names')}`)
  expect((await service.upload(campaign, `phone,name\n${list.join('\n')}\n`)).status).toBe(200)
  await service.checked(campaign)
  await service.move(campaign, 'start')
  await service.reaches(campaign, 'done')

  // Jobs of another service, good, refused and none at all, under ids and names that say too much.
  const queue = intakeQueue(service.server.url, INTAKE_QUEUE)
  const job = (name: string, data: object) => queue.add(name, data, { jobId: `order-${next('numbers')}` })
  const jobs = await Promise.all([
    job('send', { v: 1, api_key: tenant.apiKey, message: textTo(`+${next('numbers')}`, next('texts')) }),
    job('send', { v: 1, api_key: next('keys'), message: textTo(`+${next('numbers')}`, next('texts')) }),
    job('send', { v: 1, api_key: tenant.apiKey, message: textTo(`+${next('numbers')}`, '') }),
    job(next('names'), { to: next('numbers'), text: next('texts'), api_key: next('keys') }),
  ])
  const isOver = async (one: (typeof jobs)[number]) => /completed|failed/.test(await one.getState()) || undefined
  for (const one of jobs) await eventually(() => isOver(one), 'the job is over')
  await queue.close()

  // The command line.
  const csv = Array.from({ length: 20 }, () => `${next('numbers')},${next('names')}`).join('\n')
  const file = join(service.config.dataDir, 'people.csv')
  const { writeFileSync } = await import('node:fs')
  writeFileSync(file, `phone,name\n${csv}\nnonsense,${next('names')}\n`, { mode: 0o600 })
  await cli(['contacts', 'import', file, '--account', String(tenant.account), '--tag', 'canaries'])
  await cli(['people', 'show', `+${next('numbers')}`, '--account', String(tenant.account)])
  await cli(['messages', 'list', '--account', String(tenant.account), '--to', `+${next('numbers')}`])
  await cli(['accounts', 'set', String(tenant.account), 'webhook.app_secret', '-'], CLI_SECRET)

  // Webhooks: received messages, items that cannot be read, an error that says too much, a signature that is wrong.
  const received = (body: object) => ({
    id: `wamid.${next('keys')}`,
    from: next('numbers'),
    timestamp: '1795255202',
    ...body,
  })
  const value = {
    metadata: { phone_number_id: `${PHONE_NUMBER_ID}1` },
    contacts: [{ profile: { name: next('names') }, wa_id: next('numbers') }],
    messages: [
      received({ type: 'text', text: { body: next('texts') } }),
      received({ type: next('texts'), text: { body: 1 } }),
      { from: next('numbers'), text: next('texts') },
    ],
    statuses: [{ status: next('texts'), recipient_id: next('numbers') }],
  }
  expect((await webhook(value)).status).toBe(200)
  expect((await webhook(value, next('keys'))).status).toBe(401)

  // What the provider says of a message, a record that is broken, a number for whom Redis has no memory.
  const control = {
    match: { to: next('numbers') },
    behaviour: { status: 500, message: `no ${next('texts')} for ${next('numbers')}` },
  }
  await fetch(`${service.simulator.url}/_control`, {
    method: 'POST',
    body: JSON.stringify(control),
    headers: { 'content-type': 'application/json' },
  })
  const parsed = parseMessageId(last)
  await reaches(service, tenant, last, 'read')
  const shown = await http('GET', `/messages/${last}`)
  expect(shown.status).toBe(200)
  if (parsed) await messageRecord(redis, parsed).change({ s: 'Z', t: next('numbers'), x: next('texts') })
  await http('GET', `/messages/${last}`)
  await contactsOf(redis, tenant.account).phones.ruin(next('numbers'))
  expect((await http('POST', '/contacts', { phone: `+${next('numbers')}`, name: next('names') })).status).toBe(500)
  await redis.config('SET', 'maxmemory', '1')
  const full = await http('POST', '/messages/batch', {
    messages: Array.from({ length: 5 }, () => textTo(next('numbers'), next('texts'))),
  })
  expect(full.status).toBeGreaterThanOrEqual(200)
  await redis.config('SET', 'maxmemory', '0')

  // The rest of them, so that there is none that was not tried.
  const rest = { numbers: left('numbers'), texts: left('texts'), names: left('names') }
  const many = rest.numbers.map((to, i) => textTo(to, `${rest.texts[i] ?? ''} ${rest.names[i] ?? ''}`))
  for (let at = 0; at < many.length; at += 100) {
    await http('POST', '/messages/batch', { messages: many.slice(at, at + 100) })
  }
  await Promise.all(
    left('keys').map((key) => http('POST', '/chatappbusiness/fetchmessageinfo', { api_key: key, message_id: 'x' })),
  )

  const events = await http('GET', '/events?limit=1000')
  const metrics = await http('GET', '/metrics')
  const activity = await cli(['activity', 'list', '--json'])
  const traced = JSON.stringify(
    spans.getFinishedSpans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  )
  expect(lines.length).toBeGreaterThan(50)
  expect(traced.length).toBeGreaterThan(1_000)
  expect({
    log: found(lines.join('')),
    metrics: found(metrics.text),
    traces: found(traced),
    activity: found(activity.stdout),
    events: found(events.text),
  }).toEqual({ log: [], metrics: [], traces: [], activity: [], events: [] })

  // What another account is shown, at every address that shows anything.
  const shownToOther = await Promise.all(
    ROUTES.filter(({ method, access }) => method === 'get' && access.in === 'bearer').map(async ({ path }) => {
      const at = path
        .replace(/:(lane|sender)\b/, String(service.lane))
        .replace(':person', numbers[0] ?? '')
        .replace(/:id\b/, path.startsWith('/campaigns') ? campaign : last)
        .replaceAll(/:\w+/g, '1')
      if (at.endsWith('/stream')) return ''
      return (await http('GET', at, undefined, {}, other)).text
    }),
  )
  expect(shownToOther.length).toBeGreaterThan(25)
  expect(
    found(shownToOther.join('').replaceAll(`"person":"${numbers[0]}"`, '').replaceAll(`"names":["${numbers[0]}"]`, '')),
  ).toEqual([])
  const boards = ['/dashboard', '/dashboard/api/queues'].map((path) =>
    fetch(`${service.url}${path}`, { headers: { ...operator, 'x-laneway-account': '2' } }).then((answer) =>
      answer.text(),
    ),
  )
  expect(found((await Promise.all(boards)).join(''))).toEqual([])

  // What anybody on the machine may look at.
  const processes = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))
  expect(found(processes.map((pid) => readOr(`/proc/${pid}/cmdline`)).join('\n'))).toEqual([])
  const files = readdirSync(service.config.dataDir, { recursive: true, encoding: 'utf8' })
  const open = files.filter((name) => (statSync(join(service.config.dataDir, name)).mode & 0o077) !== 0)
  expect(open).toEqual([])
  for (const kind of ['numbers', 'names', 'texts', 'keys'] as const) {
    expect(used[kind] + left(kind).length, kind).toBeGreaterThanOrEqual(EACH)
  }
})

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
