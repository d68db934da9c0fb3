// Pins: a real Prometheus scrapes a real producer and a real worker, takes our rules, knows every metric that rules and
// dashboard name, and tells when a lane is stuck. Needs Debian's `prometheus` (scripts/test-servers.mjs).
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { updateSender } from '../../src/accounts/senders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { pauseLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { keepHeldPlace } from '../../src/portfolios/held-places.ts'
import { createPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { checkProviderRules } from '../../src/portfolios/rules.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from '../testbed/free-port.ts'

const RULES = 'deploy/prometheus/rules.yml'
const DASHBOARD = 'deploy/grafana/laneway.json'
const SECRET_KEY = 'a secret key of thirty-two characters'

let folder: string
let server: TestRedis
let redis: Redis
let queues: LaneQueues
let producer: TestProcess
let worker: TestProcess
let prometheus: TestProcess
let api: string
let producerUrl: string
let metricsUrls: string[]
/** A lane that is paused with work, and one whose worker stands still. */
let paused: Sender
let stuck: Sender

interface Sender {
  lane: number
  key: string
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'laneway-prometheus-'))
  server = await startRedis()
  redis = connectWithRetry(server.url)
  await readyOrLate(redis, 300_000)
  queues = openLaneQueues(redis)
  producer = startPart('producer')
  worker = startPart('worker')
  const urls = await Promise.all([loggedUrl(producer, 'metrics.started'), loggedUrl(worker, 'metrics.started')])
  metricsUrls = urls
  producerUrl = await loggedUrl(producer, 'producer.started')
  paused = await newSender(1)
  stuck = await newSender(2)
  api = await startPrometheus(urls.map((url) => new URL(url).host))
})

afterAll(async () => {
  for (const each of [prometheus, worker, producer]) {
    each?.kill('SIGKILL')
    await each?.ended
  }
  await queues?.close()
  redis?.disconnect()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

function startPart(part: 'producer' | 'worker'): TestProcess {
  return startProcess(process.execPath, [`dist/start/${part}.js`], {
    REDIS_URL: server.url,
    PORT: '0',
    LANEWAY_DATA_DIR: folder,
    LANEWAY_SECRET_KEY: SECRET_KEY,
    LANEWAY_METRICS_PORT: '0',
  })
}

const startedLine = z.object({ msg: z.string(), url: z.string().optional() })

function loggedUrl(started: TestProcess, event: string): Promise<string> {
  return eventually(async () => {
    const lines = started.stdout().split('\n').slice(0, -1)
    return lines.map((line) => startedLine.parse(JSON.parse(line))).find(({ msg }) => msg === event)?.url
  }, `${event} of ${started.stderr()}`)
}

/** An account with a sender to where nobody listens, and a key to send with. */
async function newSender(place: number): Promise<Sender> {
  const account = await createAccount(redis, `account ${place}`)
  const lane = await addSender(redis, {
    ...{ account, number: `4917000${10_000 + place}`, name: '', provider: 'partner-api', phoneNumberId: '' },
    ...{ baseUrl: 'http://127.0.0.1:9', sealedToken: createSeal([SECRET_KEY]).encrypt('token'), rate: 80 },
    ...{ honoursIdempotency: false, isDefault: true },
  })
  return { lane, key: (await createCredential(redis, account, ['messages:send'], Date.now())).secret }
}

async function send({ key }: Sender): Promise<void> {
  const answer = await fetch(`${producerUrl}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700000001', type: 'audio' },
      audio: { link: 'https://example.com/a.mp3' },
      api_key: key,
    }),
  })
  expect(answer.status, await answer.text()).toBe(200)
}

/** The rules as they are, but that nothing takes minutes. */
const hurried = (rules: string): string => rules.replaceAll(/for: \d+m/g, 'for: 1s').replaceAll(/\[\d+[mh]\]/g, '[5s]')

/** Starts it on these targets with our rules, and returns the address of its API. */
async function startPrometheus(targets: readonly string[]): Promise<string> {
  const rules = join(folder, 'rules.yml')
  writeFileSync(rules, hurried(readFileSync(RULES, 'utf8')))
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'laneway', static_configs: [{ targets }] }],
  }
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const port = await freePort()
  prometheus = startProcess(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    {},
  )
  return `http://127.0.0.1:${port}/api/v1`
}

const alertsSchema = z.object({
  data: z.object({ alerts: z.array(z.object({ labels: z.record(z.string(), z.string()), state: z.string() })) }),
})

/** Waits until the alert fires, for this lane if one is given. */
function fires(alertname: string, lane?: number): Promise<object> {
  return eventually(
    async () => {
      const { data } = alertsSchema.parse(await (await fetch(`${api}/alerts`)).json())
      return data.alerts.find(
        ({ labels, state }) =>
          labels.alertname === alertname && state === 'firing' && (lane === undefined || labels.lane === String(lane)),
      )
    },
    `alert ${alertname} of lane ${lane}; ${prometheus.stderr().slice(-500)}`,
  )
}

const targetsSchema = z.object({
  data: z.object({ activeTargets: z.array(z.object({ health: z.string(), lastError: z.string() })) }),
})

test('promtool accepts deploy/prometheus/prometheus.yml with our rules', () => {
  const check = spawnSync('promtool', ['check', 'config', 'deploy/prometheus/prometheus.yml'], { encoding: 'utf8' })
  expect(check.stdout + check.stderr).toContain('1 rule files found')
  expect(check.status).toBe(0)
})

test('promtool accepts the rules', () => {
  const checked = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })
  expect(checked.stdout + checked.stderr).toContain('SUCCESS')
  expect(checked.status).toBe(0)
})

test('the first refusal of a number, and the first message without an outcome, fire an alert', () => {
  // Prometheus sees no increase of a series that begins with 1.
  const test = {
    interval: '1m',
    input_series: [
      { series: 'laneway_attempts_total{lane="1",outcome="sender_blocked",code="190"}', values: '_x20 1x90' },
      { series: 'laneway_messages_total{lane="1",class="campaign",state="unknown"}', values: '_x20 1x90' },
      { series: 'laneway_rule_waits_total{lane="1",class="transactional",why="portfolio_limit"}', values: '_x20 1x90' },
    ],
    // Whether they fire, without what they say.
    promql_expr_test: ['LanewaySenderBlocked', 'LanewayOutcomesUnknown', 'LanewayPortfolioSpent'].flatMap((alertname) =>
      [
        ['15m', 0],
        ['22m', 1],
        ['100m', 0],
      ].map(([eval_time, value]) => ({
        expr: `count(ALERTS{alertname="${alertname}"}) or vector(0)`,
        eval_time,
        exp_samples: [{ labels: '{}', value }],
      })),
    ),
  }
  const file = join(folder, 'rules-test.yml')
  writeFileSync(file, JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval: '1m', tests: [test] }))
  const tested = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })
  expect(tested.stdout + tested.stderr).toContain('SUCCESS')
  expect(tested.status).toBe(0)
})

test('both processes are scraped', async () => {
  await eventually(async () => {
    const { data } = targetsSchema.parse(await (await fetch(`${api}/targets`)).json())
    const { activeTargets } = data
    return activeTargets.length === 2 && activeTargets.every(({ health }) => health === 'up')
  }, 'both targets up')
})

test('every metric used by the rules and the dashboard is in a scrape', async () => {
  const scraped = await Promise.all(metricsUrls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  const known = new Set(scraped.flatMap((text) => Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name)))
  const named = [RULES, DASHBOARD].flatMap((file) =>
    Array.from(readFileSync(file, 'utf8').matchAll(/\b((?:laneway|nodejs|process)_\w+)/g), ([, name = '']) => name),
  )
  expect(named.length).toBeGreaterThan(40)
  const isKnown = (name: string): boolean => known.has(name) || known.has(name.replace(/_(bucket|sum|count)$/, ''))
  expect([...new Set(named)].filter((name) => !isKnown(name))).toEqual([])
})

test('an alert fires for a paused lane with work', async () => {
  await pauseLane(redis, queues, paused.lane, { reason: 'the shop is closed', by: 'Ada' })
  await send(paused)
  await fires('LanewayLanePaused', paused.lane)
})

test('alerts fire for an almost used daily limit, messages held for hours and a flagged number', async () => {
  const portfolio = await newPortfolioId(redis)
  await createPortfolio(redis, {
    id: portfolio,
    account: await createAccount(redis, 'two'),
    name: 'Shop',
    daily_limit: 1,
  })
  const rules = { lane: paused.lane, portfolio: { id: portfolio, dailyLimit: 1, reservePercent: 0 } }
  const message = {
    name: 'one',
    names: ['491700000001'],
    isMarketing: false,
    isCampaign: false,
    opensConversation: true,
  }
  await checkProviderRules(redis, rules, [message], { mostHeld: 100 })
  await keepHeldPlace(redis, rules, 'one', { nowMs: Date.now() - 3 * 3_600_000 })
  await updateSender(redis, paused.lane, 'quality', { atMs: Date.now(), value: 'FLAGGED' })
  await fires('LanewayPortfolioNearlySpent')
  await fires('LanewayHeldForLong')
  await fires('LanewayNumberFlagged', paused.lane)
})

test('an alert fires for a stuck lane, and for the worker that stalls', async () => {
  worker.kill('SIGSTOP')
  await send(stuck)
  await fires('LanewayLaneStuck', stuck.lane)
  await fires('LanewayDown')
  await fires('LanewayNoWorker')
})
