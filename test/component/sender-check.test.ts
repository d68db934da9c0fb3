// Pins: a check of a sender says of everything that WhatsApp tells how it stands and what to do, shows no secret, and ends in time
// whatever the provider answers. Real: Redis, HTTP, producer, simulator.
import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { findSender, setPausedFor, setSenderAccess, setSenderProvider } from '../../src/accounts/senders.ts'
import { addWebhookSecret } from '../../src/accounts/webhook-secrets.ts'
import { checkSender } from '../../src/admin/check-sender.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { senderCheckSchema } from '../../src/model/accounts/sender-check.ts'
import { createGraphApi } from '../../src/providers/graph-api.ts'
import type { Api } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'
import { listen } from '../testbed/free-port.ts'

/** Too short to be taken for a secret by its looks. */
const TOKEN = '12.tok|en'
let service: Service
let tenant: Tenant
let admin: Api
let own: string

beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  admin = await tenant.apiWith('admin')
  own = tenant.cloudNumber
  await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: '4711' })
})
beforeEach(async () => {
  await reachedAt(service.simulator.url)
  await control({ reset: true, number: { display_phone_number: `+${own}` } })
})
afterAll(() => service?.close())

async function reachedAt(baseUrl: string): Promise<void> {
  const sealedToken = createSeal(secretKeysOf(service.config)).encrypt(TOKEN)
  await setSenderAccess(service.redis, tenant.cloudLane, { baseUrl, sealedToken })
}

async function control(account: object): Promise<void> {
  const answer = await fetch(`${service.simulator.url}/_control`, { method: 'POST', body: JSON.stringify({ account }) })
  expect(answer.status, await answer.text()).toBe(200)
}

/** Over HTTP. */
async function check() {
  const { status, text, json } = await admin.get(`/admin/senders/${tenant.cloudLane}/check`)
  expect(status, text).toBe(200)
  expect(text).not.toContain(TOKEN)
  const { data } = z.object({ data: senderCheckSchema }).parse(json)
  return { ...data, of: (what: string) => data.findings.find((each) => each.what === what) }
}

test('nothing is missing for a completely configured sender', async () => {
  const { ok, findings } = await check()
  expect(ok).toBe(true)
  expect(Object.fromEntries(findings.map(({ what, state }) => [what, state]))).toEqual({
    ...{ token: 'good', permissions: 'good', number: 'good', health: 'good', name: 'good', quality: 'good' },
    // It is set to 1,000 a second, and belongs to no portfolio.
    ...{ throughput: 'warning', limit: 'warning', account: 'good', verification: 'good', templates: 'good' },
    ...{ webhook_subscription: 'good', webhook_secret: 'good', lane: 'good' },
    // None was sent yet.
    webhooks: 'unknown',
  })
})

const IN_A_WEEK = Math.floor(Date.now() / 1_000) + 7 * 86_400

test.each<[string, object, string, string, RegExp, RegExp]>([
  ['a token that is not valid', { token: { is_valid: false } }, 'token', 'missing', /not valid/, /senders renew/],
  [
    'a token that has ended',
    { token: { expires_at: 1_700_000_000 } },
    'token',
    'missing',
    /ended at 2023/,
    /never ends/,
  ],
  ['a token that ends', { token: { expires_at: IN_A_WEEK } }, 'token', 'warning', /ends at/, /senders renew/],
  [
    'a token without a permission',
    { token: { scopes: ['whatsapp_business_messaging'] } },
    'permissions',
    'missing',
    /lacks the permission whatsapp_business_management/,
    /system user/,
  ],
  [
    'a token for another account',
    { token: { granular_scopes: [{ scope: 'whatsapp_business_messaging', target_ids: ['99'] }] } },
    'permissions',
    'missing',
    /not for the account 4711/,
    /system user/,
  ],
  ['a number that is not registered', { number: { status: 'PENDING' } }, 'number', 'missing', /PENDING/, /PIN/],
  [
    'a number that is registered elsewhere',
    { number: { platform_type: 'ON_PREMISE' } },
    'number',
    'missing',
    /not registered for the Cloud API/,
    /PIN/,
  ],
  [
    'a number that is not verified',
    { number: { code_verification_status: 'NOT_VERIFIED' } },
    'number',
    'missing',
    /not verified/,
    /SMS/,
  ],
  [
    'the id of another number',
    { number: { display_phone_number: '+1 555 020 9999' } },
    'number',
    'missing',
    /another number, which ends in 9999/,
    /Remove the sender/,
  ],
  [
    'a missing payment method',
    {
      number: {
        health_status: {
          can_send_message: 'BLOCKED',
          entities: [{ entity_type: 'WABA', errors: [{ error_description: 'No payment method.' }] }],
        },
      },
    },
    'health',
    'missing',
    /cannot send: No payment method\./,
    /payment method/,
  ],
  ['a name that was refused', { number: { name_status: 'DECLINED' } }, 'name', 'warning', /DECLINED/, /rules/],
  ['a bad quality', { number: { quality_rating: 'RED' } }, 'quality', 'warning', /RED/, /asked for it/],
  [
    'a small limit',
    { number: { whatsapp_business_manager_messaging_limit: 'TIER_250' } },
    'limit',
    'warning',
    /250 people/,
    /portfolio/,
  ],
  [
    'an account that the token does not know',
    { waba_id: '99' },
    'account',
    'missing',
    /Object with ID/,
    /Check `waba_id` 4711/,
  ],
  ['a number of another account', { numbers: ['1'] }, 'account', 'missing', /does not belong/, /waba_id/],
  [
    'a business that is not verified',
    { business: { business_verification_status: 'not_verified' } },
    'verification',
    'warning',
    /not verified/,
    /security center/,
  ],
  ['an account without templates', { templates: 0 }, 'templates', 'warning', /no template yet/, /WhatsApp Manager/],
  [
    'webhooks that nobody gets',
    { subscribed_apps: [] },
    'webhook_subscription',
    'missing',
    /No app/,
    /subscribed_apps/,
  ],
  [
    'webhooks that only others get',
    { subscribed_apps: ['12'] },
    'webhook_subscription',
    'missing',
    /not that of the token/,
    /subscribed_apps/,
  ],
  [
    'a quality that is not known yet',
    { number: { quality_rating: 'UNKNOWN' } },
    'quality',
    'unknown',
    /not rated/,
    /^$/,
  ],
])('%s is reported in a sentence, with what to do', async (_, account, what, state, sentence, todo) => {
  await control(account)
  const { ok, of } = await check()
  expect(of(what)).toMatchObject({ state, sentence: expect.stringMatching(sentence) })
  expect(of(what)?.do ?? '').toMatch(todo)
  expect(ok).toBe(state !== 'missing')
})

test('for a sender with an unknown account at WhatsApp the check reports that, and checks what can be checked', async () => {
  await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: '' })
  const { ok, findings, of } = await check()
  expect([ok, of('account')?.state, of('token')?.state]).toEqual([false, 'missing', 'good'])
  expect(findings.some(({ what }) => what === 'webhook_subscription')).toBe(false)
  await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: '4711' })
})

/** A server that answers everything alike. */
async function withServer(
  answer: { status: number; body: string } | 'nothing',
  work: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer((_request, response) => {
    if (answer !== 'nothing') response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
  })
  const port = await listen(server)
  try {
    await work(`http://127.0.0.1:${port}`)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a wrong token is reported once for each check, and WhatsApp’s own text never repeats it', async () => {
  const error = { message: `Malformed access token ${TOKEN}`, type: 'OAuthException', code: 190 }
  await withServer({ status: 401, body: JSON.stringify({ error }) }, async (url) => {
    await reachedAt(url)
    const { ok, of } = await check()
    expect([ok, of('token')?.sentence]).toEqual([false, 'WhatsApp does not take the token.'])
    const refused = { error: { message: `(#100) bad ${TOKEN} and ${'x'.repeat(60)}`, code: 100 } }
    await withServer({ status: 400, body: JSON.stringify(refused) }, async (other) => {
      await reachedAt(other)
      expect((await check()).of('number')?.sentence).toBe('WhatsApp refuses it: (#100) bad … and …')
    })
  })
})

test.each([
  ['is no JSON', '<html>'],
  ['is empty', '{}'],
  ['has other kinds', '{"data":{"data":[[]]},"status":5,"health_status":"x","throughput":[]}'],
  ['is a list', '[]'],
  ['has a list of anything', JSON.stringify({ data: [null, 5, { id: 'x' }, { whatsapp_business_api_data: 1 }] })],
])('an answer that %s counts as no answer, and not as a fault of ours', async (_, body) => {
  await withServer({ status: 200, body }, async (url) => {
    await reachedAt(url)
    const { findings } = await check()
    expect(findings.length).toBeGreaterThan(3)
    for (const { sentence } of findings) expect(sentence).toMatch(/\.$/)
  })
})

test('a server that does not exist and one that asks to wait are reported differently', async () => {
  await reachedAt('http://127.0.0.1:1')
  expect((await check()).of('number')).toMatchObject({
    state: 'unknown',
    sentence: expect.stringContaining('(refused)'),
  })
  await withServer({ status: 429, body: JSON.stringify({ error: { code: 80007, message: 'x' } }) }, async (url) => {
    await reachedAt(url)
    expect((await check()).of('number')?.sentence).toContain('throttles requests')
  })
})

test('a server that never answers is given up after the time limit, and simultaneous checks are one', async () => {
  let asked = 0
  const graph = createGraphApi('v25.0')
  const slow = {
    ask: async (...[access, path, query]: Parameters<typeof graph.ask>) => {
      asked += 1
      return graph.ask(access, path, query, { ms: 300, bytes: 1_000 })
    },
  }
  await withServer('nothing', async (url) => {
    await reachedAt(url)
    const sender = await findSender(service.redis, tenant.cloudLane)
    if (sender === undefined) throw new Error('no sender')
    const deps = {
      redis: service.redis,
      seal: createSeal(secretKeysOf(service.config)),
      graph: slow,
      appSecret: undefined,
    }
    const [one, other] = await Promise.all([checkSender(deps, sender), checkSender(deps, sender)])
    expect(one).toBe(other)
    expect(asked).toBe(6)
    expect(one.findings.find(({ what }) => what === 'number')?.sentence).toContain('timeout')
    expect(one.findings.find(({ what }) => what === 'webhook_secret')?.state).toBe('missing')
  })
  await graph.close()
})

test('webhooks that are all refused count as missing, and refused ones among good ones give a warning', async () => {
  const forged = () =>
    fetch(`${service.url}/webhooks/cloud-api`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
      body: '{}',
    })
  for (let i = 0; i < 3; i += 1) expect((await forged()).status).toBe(401)
  const env = {
    ...service.settings,
    LANEWAY_CLOUD_API_APP_SECRET: 'app-secret',
  }
  const refused = await eventually(async () => {
    const found = (await check()).of('webhooks')
    // They are written down two seconds after the first: on a slow machine the others follow later.
    return found?.state === 'missing' && found.sentence.startsWith('3 ') && found
  }, 'the refusals are written down')
  expect(refused.sentence).toMatch(/^3 webhooks of the last hour and 3 of the last day .* none with a right one/)
  expect(refused.do).toContain('webhook.app_secret')
  expect((await check()).ok).toBe(false)
  const bad = await runCli(['senders', 'check', String(tenant.cloudLane)], env)
  expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('something is missing')])
  expect(bad.stdout).toContain('MISSING  webhooks')
  expect(bad.stdout).not.toContain('Nothing is missing')

  expect((await bringWebhook(service.url, [])).status).toBe(200)
  const among = await eventually(async () => {
    const found = (await check()).of('webhooks')
    return found?.state === 'warning' && found
  }, 'the good one is written down')
  expect(among.sentence).toMatch(/^3 webhooks of the last hour .* the last with a right one came at 20/)
  const good = await runCli(['senders', 'check', String(tenant.cloudLane)], env)
  expect([good.code, good.stderr]).toEqual([0, ''])
  expect((await admin.get('/admin/webhook-secrets')).json).toMatchObject({
    data: { last_good_at: expect.any(String), refused_last_hour: 3, refused_last_day: 3 },
  })

  // What came rightly to the address of all is none of an account's with a secret of its own; what was refused may be.
  const other = await service.addTenant()
  await addWebhookSecret(
    service.redis,
    createSeal(secretKeysOf(service.config)),
    other.account,
    'webhook.app_secret',
    'own-secret-of-this-account',
  )
  expect((await (await other.apiWith('admin')).get('/admin/webhook-secrets')).json).toMatchObject({
    data: { last_good_at: null, refused_last_hour: 3 },
  })

  // As of `npm start`, which gives its producer a secret that no other process has.
  const { LANEWAY_CLOUD_API_APP_SECRET: _secret, ...without } = env
  const elsewhere = await runCli(['senders', 'check', String(tenant.cloudLane)], without)
  expect(elsewhere.stdout).not.toContain('MISSING  webhook secret')
  expect(elsewhere.stdout).not.toContain('refuses all webhooks')
})

test('a paused lane is reported with its reason, but not one left by an unfinished pause', async () => {
  await setPausedFor(service.redis, tenant.cloudLane, 'The token has ended.', 'Laneway')
  expect((await check()).of('lane')).toMatchObject({ state: 'good' })
  const pause = (act: string, body?: object) => admin.post(`/admin/lanes/${tenant.cloudLane}/${act}`, body)
  expect((await pause('pause', { reason: 'The shop is closed.' })).status).toBe(200)
  expect((await check()).of('lane')).toMatchObject({
    state: 'missing',
    sentence: 'Its lane is paused: The shop is closed.',
  })
  expect((await pause('resume')).status).toBe(200)
  expect((await check()).of('lane')).toMatchObject({ state: 'good' })
})

test('the command line reports the same, a line each', async () => {
  await control({ number: { display_phone_number: `+${own}`, status: 'PENDING' } })
  const env = service.settings
  const run = await runCli(['senders', 'check', String(tenant.cloudLane)], env)
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('something is missing')])
  expect(run.stdout).toContain('MISSING  number')
  expect(run.stdout).toContain('status is PENDING')
  // The command line has no app secret here, and the producer has verified a webhook lately.
  expect(run.stdout).toMatch(/1 missing\.\n$/)
  expect(run.stdout).not.toContain(TOKEN)
  const partner = await runCli(['senders', 'check', String(tenant.partnerLane)], env)
  expect(partner.stdout).toContain('nothing that could be asked')
})

test('only a key that may administer the account may check, and only its own senders', async () => {
  const other = await service.addTenant()
  const ask = async (api: Api) => (await api.get(`/admin/senders/${tenant.cloudLane}/check`)).status
  expect(await ask(await other.apiWith('admin'))).toBe(404)
  expect(await ask(tenant.api)).toBe(403)
})
