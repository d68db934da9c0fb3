// Pins: templates are taken over from WhatsApp's list: all pages of it and nothing else, in the order of WhatsApp's own times,
// within its limits, and whatever a list that lies leads to nothing is lost. Real: Redis, HTTP, producer, worker, simulator.
import { createServer, type ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { setSenderAccess, setSenderProvider } from '../../src/accounts/senders.ts'
import { updateTemplateState } from '../../src/accounts/template-states.ts'
import {
  askForSync,
  dueSyncs,
  findTemplateSync,
  type TemplateSync,
  writeTemplateSync,
} from '../../src/accounts/template-syncs.ts'
import { findTemplate, importTemplate, listTemplates } from '../../src/accounts/templates.ts'
import { syncTemplates } from '../../src/admin/sync-templates.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { templates } from '../../src/producer/api/templates/routes.ts'
import { createGraphApi } from '../../src/providers/graph-api.ts'
import { startWorker } from '../../src/worker/main.ts'
import { silentLog } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { slowness } from '../support/machine.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

let service: Service
let tenant: Tenant
let waba: string
let wabas = 0
let graph: ReturnType<typeof createGraphApi>

beforeAll(async () => {
  service = await startService({ worker: false })
  graph = createGraphApi('v25.0')
})
beforeEach(async () => {
  wabas += 1
  waba = String(555_000 + wabas)
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  await control({ reset: true })
})
// Nobody asks for it any more, so that no test meets the questions of another.
afterEach(() => setSenderProvider(service.redis, tenant.cloudLane, { wabaId: '' }))
afterAll(async () => {
  await graph?.close()
  await service?.close()
})

async function control(account: object): Promise<{ asked: number }> {
  const answer = await fetch(`${service.simulator.url}/_control`, { method: 'POST', body: JSON.stringify({ account }) })
  const body: unknown = await answer.json()
  expect(answer.status, JSON.stringify(body)).toBe(200)
  return z.object({ account: z.object({ asked: z.number() }) }).parse(body).account
}

const definition = (name: string, more: object = {}) => ({
  ...{ id: '1', name, language: 'en_US', status: 'APPROVED', category: 'MARKETING' },
  components: [{ type: 'BODY', text: `Hello, this is ${name}.` }],
  ...more,
})

/** Asks WhatsApp with a clock that tells milliseconds: here one list follows another within the second that it tells else. */
const exactly: Pick<typeof graph, 'ask'> = {
  async ask(...how) {
    const atMs = Date.now()
    const end = await graph.ask(...how)
    return end.kind === 'answer' ? { ...end, atMs } : end
  },
}

/** Lists it, as a worker does once it is due. */
async function sync(by: Pick<typeof graph, 'ask'> = exactly): Promise<TemplateSync> {
  const { redis, config } = service
  const synced = { account: tenant.account, wabaId: waba }
  await setSenderProvider(redis, tenant.cloudLane, { wabaId: waba })
  const deps = { redis, retentionMs: 1, log: silentLog, graph: by, seal: createSeal(secretKeysOf(config)) }
  await syncTemplates(deps, synced, { stopped: new AbortController().signal, mayGoOn: async () => true })
  return findTemplateSync(redis, synced)
}

/** Asks, and waits for the end of what was asked for. */
async function askAndWait(): Promise<TemplateSync> {
  const { redis } = service
  const synced = { account: tenant.account, wabaId: waba }
  await setSenderProvider(redis, tenant.cloudLane, { wabaId: waba })
  await askForSync(redis, synced, 'person')
  const askedMs = (await findTemplateSync(redis, synced)).asked_at ?? 0
  return eventually(
    async () => {
      const now = await findTemplateSync(redis, synced)
      const isOver = (now.state === 'done' || now.state === 'failed') && (now.began_at ?? 0) >= askedMs
      return isOver || (now.state === 'waiting' && now.problem !== '') ? now : undefined
    },
    'the sync ends',
    40_000,
  )
}

const names = async () =>
  (await listTemplates(service.redis, tenant.account)).map(({ template }) => `${template.name} ${template.status}`)

test('a thousand templates are copied in four pages, within ten seconds of two quiet cores', async () => {
  await control({ templates: 1_000 })
  const startedAt = performance.now()
  const done = await sync()
  expect(done).toMatchObject({ state: 'done', listed: 1_000, pages: 4, unreadable: 0 })
  expect(performance.now() - startedAt).toBeLessThan(10_000 * (await slowness()))
  expect(await names()).toHaveLength(1_000)
  expect(await sync()).toMatchObject({ state: 'done', listed: 1_000, added: 0, changed: 0, removed: 0 })
})

test('any number is copied with as few requests as pages', async () => {
  await control({ templates: 2_400 })
  const { asked } = await control({})
  expect(await sync()).toMatchObject({ state: 'done', listed: 2_400, pages: 10 })
  expect((await control({})).asked - asked).toBe(10)
})

test('a changed template is replaced, a removed one is removed, and one imported by hand stays', async () => {
  const { redis } = service
  await importTemplate(redis, tenant.account, templateSchema.parse(definition('by_hand')))
  await control({ templates: [definition('a'), definition('b'), definition('c', { status: 'PAUSED' })] })
  await sync()
  expect(await names()).toEqual(['a APPROVED', 'b APPROVED', 'by_hand APPROVED', 'c PAUSED'])
  await control({ templates: [definition('a', { components: [{ type: 'BODY', text: 'Other words.' }] })] })
  expect(await sync()).toMatchObject({ listed: 1, changed: 1, removed: 2 })
  expect(await names()).toEqual(['a APPROVED', 'by_hand APPROVED'])
  expect(await findTemplate(redis, tenant.account, 'a', 'en_US')).toMatchObject({
    components: [{ text: 'Other words.' }],
  })
})

test('a template that cannot be filled in is listed with the reason, and an invalid one is counted', async () => {
  const odd = [
    definition('pays', { components: [{ type: 'BUTTONS', buttons: [{ type: 'ORDER_DETAILS' }] }] }),
    definition('torn', { components: [{ type: 'BODY' }] }),
    { name: 'nameless in part' },
    definition('news', { category: 'SOMETHING' }),
    definition('novel', { components: [{ type: 'BODY', text: 'x'.repeat(70_000) }] }),
  ]
  await control({ templates: [...odd, definition('good')] })
  expect(await sync()).toMatchObject({ state: 'done', listed: 3, not_sendable: 2, unreadable: 3 })
  const all = await listTemplates(service.redis, tenant.account)
  expect(all.map(({ template, notSendable }) => [template.name, notSendable])).toEqual([
    ['good', undefined],
    ['pays', 'It has a button that Laneway cannot fill in: ORDER_DETAILS.'],
    ['torn', 'It has a part that Laneway cannot fill in: components.0.text.'],
  ])
})

test('a webhook with a later time than the list counts, one with an earlier time does not, however late it comes', async () => {
  const { redis } = service
  const { account } = tenant
  const status = async () => (await findTemplate(redis, account, 'a', 'en_US'))?.status
  const tell = (value: string, atMs: number) =>
    updateTemplateState(redis, account, { name: 'a', language: 'en_US' }, { group: 'status', value, atMs })
  await tell('DISABLED', Date.now() - 3_600_000)
  await control({ templates: [definition('a')] })
  await sync()
  expect(await status()).toBe('APPROVED')
  await tell('PAUSED', Date.now() - 1_800_000)
  expect(await status()).toBe('APPROVED')
  await tell('PAUSED', Date.now() + 1_000)
  expect(await status()).toBe('PAUSED')
})

test('a list requested before a webhook came does not undo what the webhook reported', async () => {
  const { account } = tenant
  const stand = await standIn(async (_call, response) => {
    // While the list is under way.
    const word = { group: 'status', value: 'PAUSED', atMs: Date.now() } as const
    await updateTemplateState(service.redis, account, { name: 'a', language: 'en_US' }, word)
    // WhatsApp's clock says of the answer that it is later.
    response.setHeader('date', new Date(Date.now() + 2_000).toUTCString())
    return { data: [definition('a')] }
  })
  await stand.serve()
  expect(await sync(graph)).toMatchObject({ state: 'done', listed: 1 })
  expect((await findTemplate(service.redis, account, 'a', 'en_US'))?.status).toBe('PAUSED')
  stand.close()
})

/** A list that answers as it is told. */
async function standIn(answer: (call: number, response: ServerResponse) => Promise<unknown>) {
  let calls = 0
  const tokens = new Set<string>()
  const server = createServer(async (request, response) => {
    calls += 1
    tokens.add(`${request.headers.authorization} ${request.url?.includes('token')}`)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(await answer(calls, response)))
  })
  const port = await listen(server)
  return {
    tokens,
    calls: () => calls,
    async serve() {
      await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: waba })
      const sealedToken = createSeal(secretKeysOf(service.config)).encrypt('secret-token')
      await setSenderAccess(service.redis, tenant.cloudLane, { baseUrl: `http://127.0.0.1:${port}`, sealedToken })
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

test.each([
  ['loop', 'page_loop', 'leads in circles'],
  ['foreign', 'foreign_page', 'another server'],
])('pages that lead to a %s end the sync, and nothing is removed', async (paging, problem, words) => {
  await control({ templates: [definition('a'), definition('b'), definition('c')] })
  await sync()
  await control({ templates: [definition('a'), definition('d'), definition('e')], page: 2, paging })
  expect(await sync()).toMatchObject({ state: 'failed', problem, sentence: expect.stringContaining(words) })
  const all = (await names()).map((name) => name.split(' ')[0])
  expect(all).toEqual(expect.arrayContaining(['a', 'b', 'c']))
})

test('an empty list removes nothing unless it comes twice', async () => {
  await control({ templates: [definition('a')] })
  await sync()
  await control({ templates: [] })
  expect(await sync()).toMatchObject({ state: 'done', problem: 'empty_list', removed: 0 })
  expect(await names()).toEqual(['a APPROVED'])
  expect(await sync()).toMatchObject({ state: 'done', problem: '', removed: 1 })
  expect(await names()).toEqual([])
})

test.each([
  ['a wrong token', { code: 190, http: 401 }, '190', 'does not take the token'],
  ['an account of somebody else', { code: 100, http: 400 }, '100', 'knows no such account'],
  ['a token without the permission', { code: 200, http: 403 }, '200', 'whatsapp_business_management'],
])('%s ends the sync with what to do, and the templates stay', async (_, refuse, problem, words) => {
  await control({ templates: [definition('a')] })
  await sync()
  await control({ refuse: { ...refuse, count: 3 } })
  expect(await sync()).toMatchObject({ state: 'failed', problem, sentence: expect.stringContaining(words) })
  expect(await names()).toEqual(['a APPROVED'])
})

test('the token is sent only in a header, and the next page is requested from the same server', async () => {
  const stand = await standIn(async (call) =>
    call === 1
      ? { data: [definition('a')], paging: { cursors: { after: 'x' }, next: 'https://elsewhere.example/?after=x' } }
      : { data: [definition('b')] },
  )
  await stand.serve()
  expect(await sync()).toMatchObject({ state: 'done', pages: 2 })
  expect([...stand.tokens]).toEqual(['Bearer secret-token false'])
  stand.close()
})

test('two accounts at WhatsApp with a template of the same name do not take it from each other', async () => {
  await control({ templates: [definition('a')] })
  await sync()
  await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: '' })
  const first = waba
  waba = `${waba}9`
  expect(await sync()).toMatchObject({ state: 'done', listed: 1, of_another: 1 })
  const [one] = await listTemplates(service.redis, tenant.account)
  expect(one?.listing?.wabaId).toBe(first)
})

describe('with a worker', () => {
  beforeAll(async () => {
    await service.startWorker()
  })

  test.each([
    // Longer than the test takes however slow the machine is: it must not be over while the test looks.
    ['Retry-After', { code: 80007, http: 429, retry_after_s: 600 }, 600_000],
    ['the usage that WhatsApp tells', { code: 4, http: 400, regain_access_min: 2 }, 120_000],
    ['nothing', { code: 130429, http: 429 }, 300_000],
  ])('a limit is obeyed, by %s, even when a person asks again', async (_, refuse, waitsMs) => {
    await control({ templates: 600 })
    await control({ refuse: { ...refuse, count: 1 } })
    const { asked } = await control({})
    const startedMs = Date.now()
    const synced = { account: tenant.account, wabaId: waba }
    const waits = await askAndWait()
    const toldMs = Date.now()
    expect(waits).toMatchObject({ state: 'waiting', problem: 'throttled' })
    expect((waits.again_at ?? 0) - startedMs).toBeGreaterThanOrEqual(waitsMs - 500)
    expect((waits.again_at ?? 0) - toldMs).toBeLessThan(waitsMs + 1_000)
    await askForSync(service.redis, synced, 'person')
    expect(await dueSyncs(service.redis, startedMs + waitsMs - 1_000, 100)).not.toContainEqual(synced)
    expect(await dueSyncs(service.redis, toldMs + waitsMs + 1_000, 100)).toContainEqual(synced)
    expect((await control({})).asked - asked).toBe(1)
  })

  test('a sync that was limited in the middle continues after the last page by itself', async () => {
    const pages: (string | null)[] = []
    let isLimited = false
    const server = createServer((request, response) => {
      const after = new URL(request.url ?? '', 'http://x').searchParams.get('after')
      pages.push(after)
      response.setHeader('content-type', 'application/json')
      if (after === 'p2' && !isLimited) {
        isLimited = true
        response.writeHead(429, { 'retry-after': '1' }).end(JSON.stringify({ error: { code: 80007, message: 'x' } }))
        return
      }
      const next = { null: 'p1', p1: 'p2', p2: undefined }[String(after)]
      const paging = next && { cursors: { after: next }, next: 'https://graph.facebook.com/next?access_token=secret' }
      response.end(JSON.stringify({ data: [definition(`t_${after}`)], paging }))
    })
    const port = await listen(server)
    try {
      const sealedToken = createSeal(secretKeysOf(service.config)).encrypt('secret-token')
      await setSenderAccess(service.redis, tenant.cloudLane, { baseUrl: `http://127.0.0.1:${port}`, sealedToken })
      await askAndWait()
      await eventually(async () => (await names()).length === 3 || undefined, 'it goes on')
      expect(pages).toEqual([null, 'p1', 'p2', 'p2'])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test('a sync whose worker stops in the middle is finished by the next worker', async () => {
    let isHeld = true
    const stand = await standIn(async (call) => {
      if (call === 2 && isHeld) await new Promise((resolve) => setTimeout(resolve, 300_000).unref())
      return call === 1 ? { data: [definition('a')], paging: { cursors: { after: 'x' }, next: 'x' } } : { data: [] }
    })
    await stand.serve()
    await askForSync(service.redis, { account: tenant.account, wabaId: waba }, 'person')
    await eventually(async () => stand.calls() === 2 || undefined, 'the second page is asked for')
    await service.stopWorker()
    isHeld = false
    await service.startWorker()
    const done = await eventually(async () => {
      const now = await findTemplateSync(service.redis, { account: tenant.account, wabaId: waba })
      return now.state === 'done' ? now : undefined
    }, 'another one finishes it')
    expect(done).toMatchObject({ listed: 1, pages: 2 })
    expect(await names()).toEqual(['a APPROVED'])
    stand.close()
  })

  test('nothing is lost while Redis is away, and the sync continues by itself afterwards', async () => {
    const stand = await standIn(async (call) => {
      if (call === 1) {
        await service.server.kill9()
        await service.server.restart()
      }
      return { data: [definition('a')] }
    })
    await stand.serve()
    await askForSync(service.redis, { account: tenant.account, wabaId: waba }, 'person')
    await eventually(async () => (await names()).length === 1 || undefined, 'it is taken over', 40_000)
    stand.close()
  })

  test('several workers list an account at WhatsApp one at a time', async () => {
    let underWay = 0
    let most = 0
    const stand = await standIn(async () => {
      underWay += 1
      most = Math.max(most, underWay)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      underWay -= 1
      return { data: [definition('a')] }
    })
    await stand.serve()
    const others = await Promise.all([1, 2].map(() => startWorker(service.config, service.server.url, silentLog)))
    await askAndWait()
    await askAndWait()
    await Promise.all(others.map((each) => each.close()))
    expect(most).toBe(1)
    expect(stand.calls()).toBeGreaterThanOrEqual(2)
    stand.close()
  })

  test('lists that are older are read again when a worker starts', async () => {
    const { redis } = service
    const synced = { account: tenant.account, wabaId: waba }
    await control({ templates: [definition('a')] })
    const first = await askAndWait()
    await service.stopWorker()
    await writeTemplateSync(redis, synced, { ended_at: Date.now() - 3_600_000 })
    await service.startWorker()
    await eventually(async () => {
      const { began_at: beganMs = 0, state } = await findTemplateSync(redis, synced)
      return (state === 'done' && beganMs > (first.began_at ?? 0)) || undefined
    }, 'it is read again')
  })

  test('the command line starts a sync and reports its result; without an account at WhatsApp it says what to do', async () => {
    const env = { REDIS_URL: service.server.url }
    const words = ['templates', 'sync', '--account', String(tenant.account)]
    const before = await runCli(words, env)
    expect(before).toMatchObject({ code: 1, stderr: expect.stringContaining('set its waba_id') })
    await control({ templates: [definition('a')] })
    await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: waba })
    const run = await runCli([...words, '--sender', 'cloud'], env)
    expect(run).toMatchObject({ code: 0, stdout: `${waba}: 1 template; 1 new, 0 changed, 0 removed.\n` })
    const partner = await runCli([...words, '--sender', 'partner'], env)
    expect(partner.stderr).toContain('import them as JSON')
  })

  test('a sync is started and shown over HTTP', async () => {
    const admin = await tenant.apiWith('admin')
    await control({ templates: [definition('a')] })
    await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: waba })
    expect(await admin.post('/admin/templates/sync', { sender: 'cloud' })).toMatchObject({
      status: 202,
      json: { data: [{ waba_id: waba, state: 'waiting' }] },
    })
    const done = () =>
      eventually(async () => {
        const { data } = await admin.call(templates.syncs)
        return data[0]?.state === 'done' || undefined
      }, 'it is done')
    await done()
    const { data } = await admin.call(templates.list)
    expect(data).toMatchObject([{ id: 'a/en_US', waba_id: waba, cannot_be_sent: null }])
    // What came of the first says nothing of the second.
    expect(await admin.post('/admin/templates/sync', { sender: 'cloud' })).toMatchObject({
      json: { data: [{ state: 'waiting', problem: null }] },
    })
    await done()
  })
})
