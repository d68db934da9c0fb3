// Pins: what WhatsApp's own rules do is in the metrics, in lists of lanes and in snapshots: campaigns that rest and why, people
// of a portfolio, held and dropped messages, capped people. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { askToReopen } from '../../src/lanes/wake.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { createPortfolio, joinPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { startWorker } from '../../src/worker/main.ts'
import { silentLog } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

const CODE = {
  ...{ name: 'ready', category: 'UTILITY', language: 'en_US', status: 'APPROVED' },
  components: [{ type: 'BODY', text: 'Your order is ready.' }],
}
const LIMIT = 10

let nowMs = 0
const telemetry = createTelemetry({ clock: () => nowMs })
let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
let worker: { close: () => Promise<void> }
let admin: string
let portfolio: number
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10 })
  ;({ service, product } = world)
  const { redis, lane, tenant } = service
  await importTemplate(redis, tenant.account, templateSchema.parse(CODE))
  admin = (await createCredential(redis, tenant.account, ['admin'], Date.now())).secret
  portfolio = await newPortfolioId(redis)
  await createPortfolio(redis, { id: portfolio, account: tenant.account, name: 'Shop', daily_limit: LIMIT })
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  await joinPortfolio(redis, sender, portfolio)
  await service.stopWorker()
  // Its counters are this process's.
  worker = await startWorker(service.config, service.server.url, silentLog, telemetry)
})
afterAll(async () => {
  await worker?.close()
  await world?.close()
})

/** The value of a series in the metrics of all; undefined when it is not there. */
async function value(series: string): Promise<number | undefined> {
  nowMs += 5_000
  const line = (await telemetry.text(service.redis)).split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

const lanes = z.object({
  data: z.array(z.looseObject({ lane: z.int(), campaigns_wait: z.looseObject({ why: z.string() }).nullable() })),
})
const snapshot = z.object({
  data: z.looseObject({
    lanes: z.array(z.looseObject({ sender: z.int(), state: z.string(), reason: z.string().nullable() })),
    campaigns: z.array(z.looseObject({ id: z.string(), capped: z.int(), held: z.int(), waits: z.unknown() })),
  }),
})

/** A signed webhook about a message of the campaign that was sent. */
async function reportFailed(campaign: string, code: number): Promise<void> {
  const page = await service.request('GET', `/messages?campaign=${campaign}&state=sent&limit=1`)
  const [message] = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(page.json()).data
  const shown = await service.request('GET', `/messages/${message?.id}`)
  const { history } = z
    .object({ data: z.object({ history: z.array(z.object({ attempt: z.string().nullable() })) }) })
    .parse(shown.json()).data
  const attempt = history.findLast((each) => each.attempt !== null)?.attempt ?? ''
  const item = {
    ...{ id: `wamid.${message?.id}`, status: 'failed', timestamp: String(Math.floor(Date.now() / 1_000)) },
    biz_opaque_callback_data: createOpaqueIds(secretKeysOf(service.config)).sign(message?.id ?? '', attempt),
    errors: [{ code, title: 'x' }],
  }
  const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value: { statuses: [item] } }] }] })
  expect((await postSigned(`${service.url}/webhooks/cloud-api`, body)).status).toBe(200)
}

test('a campaign that rests at the limit is shown everywhere with the reason and the end of the rest', async () => {
  const { lane, tenant } = service
  const id = await world.started(30)
  await eventually(async () => (await service.show(id)).progress.sent === 9 || undefined, 'nine of ten places are used')
  await eventually(
    async () => (await value(`laneway_campaigns_resting{lane="${lane}",why="portfolio_limit"}`)) === 1 || undefined,
    'it rests',
  )
  expect(await value(`laneway_portfolio_people{portfolio="${portfolio}"}`)).toBe(9)
  expect(await value(`laneway_portfolio_daily_limit{portfolio="${portfolio}"}`)).toBe(LIMIT)
  expect(
    await value(`laneway_rule_waits_total{lane="${lane}",class="campaign",why="portfolio_limit"}`),
  ).toBeGreaterThan(0)
  expect(await value(`laneway_lane_bound{lane="${lane}",by="rule"}`)).toBe(1)

  const [mine] = lanes
    .parse((await service.request('GET', '/admin/lanes', undefined, admin)).json())
    .data.filter((each) => each.lane === lane)
  expect(mine?.campaigns_wait).toMatchObject({ why: 'portfolio_limit', until: expect.any(String) })
  const env = service.settings
  expect((await runCli(['lanes', 'list', '--account', String(tenant.account)], env)).stdout).toMatch(
    /portfolio_limit until \d{4}-/,
  )
  const seen = snapshot.parse((await service.request('GET', '/console/snapshot', undefined, admin)).json()).data
  expect(seen.lanes.find(({ sender }) => sender === lane)).toMatchObject({
    state: 'resting',
    reason: expect.stringContaining('as many people as it may'),
  })
  expect(seen.campaigns.find((each) => each.id === id)?.waits).toMatchObject({ why: 'portfolio_limit' })

  // Codes use the reserve, and wait once that is spent.
  for (const to of ['+4915300000001', '+4915300000002']) {
    const answer = await service.post('/chatappbusiness/send-templated-message', {
      ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', to, type: 'template' },
      ...{ template: { name: 'ready', language: { code: 'en_US' }, components: [] }, sender: service.sender },
    })
    expect(answer.status).toBe(200)
  }
  await eventually(
    async () =>
      ((await value(`laneway_rule_waits_total{lane="${lane}",class="transactional",why="portfolio_limit"}`)) ?? 0) >
        0 || undefined,
    'a code waits',
  )
  await service.move(id, 'cancel')
})

test('an account has its own portfolios in its metrics, and no other account does', async () => {
  const other = await service.addTenant()
  const text = async (key: string) => (await service.request('GET', '/metrics', undefined, key)).text
  const series = `laneway_portfolio_people{portfolio="${portfolio}"}`
  expect(await text(admin)).toContain(series)
  const theirs = await createCredential(service.redis, other.account, ['admin'], Date.now())
  expect(await text(theirs.secret)).not.toContain('portfolio="')
})

test('held, dropped and capped messages are counted, also for a sender without a portfolio', async () => {
  const { lane, redis } = service
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  await joinPortfolio(redis, sender, null)
  await worker.close()
  worker = await startWorker(service.config, service.server.url, silentLog, telemetry)
  product.state.answer = (call, to) => {
    if (Number(to) % 2 === 1) return graphError(400, 131049)
    const { status, body } = accepted(call, to)
    return { status, body: body.replace('"id":', '"message_status":"held_for_quality_assessment","id":') }
  }
  const id = await world.started(6)
  await eventually(async () => (await service.show(id)).progress.failed === 3 || undefined, 'three are capped')
  await service.reaches(id, 'done')
  expect(await value(`laneway_capped_total{lane="${lane}"}`)).toBe(3)
  expect(await value(`laneway_held{lane="${lane}"}`)).toBe(3)
  expect(await value(`laneway_held_oldest_seconds{lane="${lane}"}`)).toBeGreaterThan(0)
  // Which campaigns are the newest is read every few seconds.
  const seen = await eventually(async () => {
    const { data } = snapshot.parse((await service.request('GET', '/console/snapshot', undefined, admin)).json())
    return data.campaigns.find((each) => each.id === id)
  }, 'the snapshot has the campaign')
  expect(seen).toMatchObject({ capped: 3, held: 3 })

  await reportFailed(id, 132015)
  expect(await value(`laneway_held{lane="${lane}"}`)).toBe(2)
  // Counted by the producer, which took the webhook in.
  const operator = await createCredential(redis, NO_ACCOUNT, [OPERATOR], Date.now())
  const { text } = await service.request('GET', '/metrics', undefined, operator.secret)
  expect(text).toContain('\nlaneway_held_dropped_total 1\n')
})

test('a number restricted for spam and a paused template have their own reasons; probes are counted', async () => {
  const { lane, tenant } = service
  product.state.answer = () => graphError(400, 131048)
  const spam = await world.started(3)
  const resting = (why: string) => value(`laneway_campaigns_resting{lane="${lane}",why="${why}"}`)
  await eventually(async () => (await resting('lane_cooldown')) === 1 || undefined, 'campaigns of the number rest')
  const code = {
    ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', to: '+4915300000009' },
    ...{ type: 'template', template: { name: 'ready', language: { code: 'en_US' }, components: [] } },
  }
  expect(
    (await service.post('/chatappbusiness/send-templated-message', { ...code, sender: service.sender })).status,
  ).toBe(200)
  const probes = `laneway_probes_total{lane="${lane}",outcome="campaigns_rest"}`
  await eventually(async () => ((await value(probes)) ?? 0) > 0 || undefined, 'a code asks whether the number sends')
  await service.move(spam, 'cancel')

  product.state.answer = () => graphError(400, 132015)
  await service.request('POST', `/admin/lanes/${lane}/resume`, {}, admin)
  // Otherwise a worker believes in the rest for ten seconds more.
  await askToReopen(service.redis, lane)
  const refused = await world.started(3)
  await service.reaches(refused, 'paused')
  expect(await value('laneway_campaigns_auto_paused_total{why="template"}')).toBe(1)
  expect(await resting('lane_cooldown')).toBeUndefined()
  await service.move(refused, 'cancel')
})
