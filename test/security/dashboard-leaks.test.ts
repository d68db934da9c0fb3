// Pins: whatever the dashboard can be asked for one account, another account's keys, numbers and texts are in no answer. Generated from
// bull-board's own table of routes, so a route that a new version adds is asked too.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { MOVE_QUEUE, POLL_QUEUE } from '../../src/jobs/background.ts'
import { CAMPAIGN_QUEUE, PREFLIGHT_QUEUE } from '../../src/jobs/campaigns.ts'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { shownAs } from '../support/state/lanes.ts'
import { queuesToSee } from '../support/state/queues.ts'

const CANARY = 'canary-of-account-one'
const NUMBER = '447700900987'

let service: Service
let one: Tenant
let connection: Redis
let queues: { queue: ReturnType<typeof queuesToSee>['ofLane']; isShared: boolean }[]
let keyOfOne: string
let session: { cookie: string }
let accountOne: string
let accountTwo: string

const require = createRequire(import.meta.url)
const routes = z
  .object({ appRoutes: z.object({ api: z.array(z.object({ method: z.string(), route: z.string() })) }) })
  .parse(require(join(dirname(require.resolve('@bull-board/api')), 'routes.js')))
  .appRoutes.api.filter(({ method }) => method === 'get')
  .map(({ route }) => route)

/** As an operator sees it who acts for this account. */
const look = (path: string, account: string) =>
  fetch(`${service.url}/dashboard${path}`, { headers: { ...session, 'x-laneway-account': account } })

beforeAll(async () => {
  service = await startService({ worker: false })
  one = await service.addTenant()
  const two = await service.addTenant()
  keyOfOne = await one.key('messages:send')
  session = await sessionHeader(service.redis)
  accountOne = String(one.account)
  accountTwo = String(two.account)
  connection = connectWithRetry(service.server.url)
  const background = [MOVE_QUEUE, POLL_QUEUE, CAMPAIGN_QUEUE, PREFLIGHT_QUEUE]
  const { ofLane, shared } = queuesToSee(connection, one.partnerLane, INTAKE_QUEUE, background)
  queues = [{ queue: ofLane, isShared: false }, ...shared.map((queue) => ({ queue, isShared: true }))]
  const data = { v: 1, api_key: keyOfOne, message: { to: NUMBER, caption: CANARY } }
  for (const { queue } of queues) {
    const options = { jobId: `id-${CANARY}`, delay: 3_600_000, backoff: { type: `backoff-${CANARY}` } }
    const job = await queue.add(`name-${CANARY}-${keyOfOne}`, data, options)
    await job.updateProgress({ to: NUMBER, text: CANARY })
    await job.log(`log ${CANARY} ${NUMBER} ${keyOfOne}`)
    await queue.upsertJobScheduler(`scheduler-${CANARY}`, { every: 3_600_000 }, { name: 'send', data })
  }
})
afterAll(async () => {
  for (const { queue } of queues ?? []) await queue.close()
  connection?.disconnect()
  await service?.close()
})

/** Every address of the route, for every queue and job. */
const addressesOf = (route: string): string[] => [
  ...new Set(
    queues.flatMap(({ queue }) =>
      [`id-${CANARY}`, `repeat:scheduler-${CANARY}`, 'meta', 'id'].map((job) =>
        route.replace(':queueName', encodeURIComponent(queue.name)).replace(':jobId', encodeURIComponent(job)),
      ),
    ),
  ),
]

/**
 * Queues to name in the query: each, and on a route that has one in its path only the lane and one that is shared, as the
 * query decides nothing there.
 */
const queuesFor = (route: string) => (route.includes(':queueName') ? queues.slice(0, 2) : queues)

const secretsIn = (text: string): string[] => [keyOfOne, NUMBER, CANARY].filter((secret) => text.includes(secret))

test('bull-board has routes to test', () => {
  expect(routes).toContain('/api/job-schedulers')
  expect(routes).toContain('/api/queues/:queueName/:jobId/logs')
})

describe.each(routes)('GET %s', (route) => {
  test('shows account two nothing of account one', async () => {
    for (const address of addressesOf(route)) {
      const queries = ['', ...queuesFor(route).map(({ queue }) => `?activeQueue=${queue.name}&queueName=${queue.name}`)]
      for (const query of queries.flatMap((text) => [text, text && `${text}&status=delayed&jobsPerPage=1000`])) {
        const answer = await look(address + query, accountTwo)
        // What the address itself says is no news.
        const text = (await answer.text()).replaceAll(address, '').replaceAll(encodeURIComponent(address), '')
        expect(secretsIn(text), `${address}${query}: ${answer.status}`).toEqual([])
      }
    }
  })

  test('shows account one no key of a shared queue, and no scheduler', async () => {
    for (const address of addressesOf(route)) {
      for (const { queue, isShared } of queuesFor(route)) {
        const answer = await look(`${address}?activeQueue=${queue.name}&queueName=${queue.name}`, accountOne)
        const text = await answer.text()
        if (isShared && !address.includes(shownAs(one.partnerLane))) {
          const said = text.replaceAll(address, '').replaceAll(encodeURIComponent(address), '')
          expect(secretsIn(said), address).toEqual([])
        }
        expect(text).not.toContain(`"caption":"${CANARY}"`)
        expect(text).not.toContain('template')
      }
    }
  })
})

test('shared queues are shown as counts only', async () => {
  const shown = z
    .object({ queues: z.array(z.object({ name: z.string(), counts: z.record(z.string(), z.number()) })) })
    .parse(await (await look('/api/queues', accountTwo)).json()).queues
  for (const { queue } of queues.filter(({ isShared }) => isShared)) {
    expect(shown.find(({ name }) => name === queue.name)?.counts.delayed, queue.name).toBeGreaterThan(0)
  }
})

test.each(['/api/redis/stats', '/api/metrics/history', '/api/queues/lane-1/workers', '/api/something/new'])(
  'anything not on the list of shown paths is 404: %s',
  async (path) => {
    expect((await look(path, accountTwo)).status).toBe(404)
  },
)

test('its pages request nothing from another host, and may not', async () => {
  for (const path of ['', '/queue/lane-1', '/job-schedulers']) {
    const page = await look(path, accountTwo)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy, path).toContain("default-src 'none'; script-src 'self'")
    expect(policy).not.toMatch(/https?:|\*/)
    const text = await page.text()
    expect(text).toContain('<div id="root">')
    expect(text).not.toMatch(/(href|src)="(https?:)?\/\//)
  }
})

test('the pages of the dashboard exist', async () => {
  for (const path of ['', '/', '/queue/lane-1', '/queue/lane-1/some-job', '/job-schedulers']) {
    expect((await look(path, accountTwo)).status, path).toBe(200)
  }
})

test('a page has at most 100 jobs, however many are requested', async () => {
  const lane = queues[0]?.queue
  if (!lane) throw new Error('no lane')
  await lane.addBulk(Array.from({ length: 150 }, () => ({ name: 'send', data: {}, opts: { delay: 3_600_000 } })))
  const path = `/api/queues?activeQueue=${lane.name}&status=delayed&jobsPerPage=100000`
  const shown = z
    .object({ queues: z.array(z.object({ name: z.string(), jobs: z.array(z.unknown()) })) })
    .parse(await (await look(path, accountOne)).json()).queues
  expect(shown.find(({ name }) => name === lane.name)?.jobs).toHaveLength(100)
})
