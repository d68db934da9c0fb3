// Pins: made-up traffic comes through the public addresses, with failures and a campaign, is switched by those who run the
// account, ends by itself, and is not there without a demo. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDemoTemplates } from '../../packages/simulator/demo/data.ts'
import { createDemoTraffic } from '../../packages/simulator/demo/traffic.ts'
import { snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { silentLog } from '../support/app.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let tenant: Tenant
let admin: string
beforeAll(async () => {
  service = await startService({ templates: readDemoTemplates() })
  tenant = await service.addTenant()
  admin = await tenant.key('admin')
})
afterAll(() => service?.close())

const ask = (path: string, running?: boolean, key = admin) =>
  running === undefined
    ? service.api.as(key).get(`/console/${path}`)
    : service.api.as(key).post(`/console/${path}`, { running })
const snapshot = async () => snapshotSchema.parse(Object((await ask('snapshot')).json).data)
const target = () => ({
  ...{ baseUrl: service.url, simulatorUrl: service.simulator.url, apiKey: tenant.apiKey },
  campaignSender: tenant.cloudNumber,
})

test('demo traffic does not exist without a demo', async () => {
  expect((await ask('demo')).json).toMatchObject({ data: { available: false, running: false } })
  expect((await ask('demo', true)).status).toBe(404)
})

test('demo traffic has messages, failures with explanations and a campaign that adds up, until it is switched off', async () => {
  service.traffic.aim(target())
  expect((await ask('demo', true, tenant.apiKey)).status).toBe(403)
  expect((await ask('demo', true)).json).toMatchObject({ data: { available: true, running: true } })
  expect((await ask('demo', true)).json).toMatchObject({ data: { available: true, running: true } })
  const seen = await eventually(async () => {
    const now = await snapshot()
    const [campaign] = now.campaigns
    const isSeen = now.failures.length > 0 && campaign && campaign.delivered + campaign.read > 0
    return isSeen && now.totals.accepted_per_s > 0 ? now : undefined
  }, 'failures and a campaign')
  for (const { code, meaning, count } of seen.failures) {
    expect(meaning.length, code).toBeGreaterThan(10)
    expect(count).toBeGreaterThan(0)
  }
  expect(seen.campaigns).toHaveLength(1)
  const [campaign] = seen.campaigns
  expect(campaign?.refused).toBeGreaterThan(10)
  const states = ['queued', 'sending', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'] as const
  const sum = [...states, 'unconfirmed', 'unknown'].reduce(
    (all, state) => all + Number(Reflect.get(campaign ?? {}, state)),
    0,
  )
  expect(sum).toBe(campaign?.total)
  expect((await ask('demo', false)).json).toMatchObject({ data: { available: true, running: false } })
})

test('demo traffic ends by itself', async () => {
  const traffic = createDemoTraffic(silentLog, 50)
  traffic.start()
  expect(traffic.isRunning()).toBe(false)
  traffic.aim({ ...target(), apiKey: 'none' })
  traffic.start()
  expect(traffic.isRunning()).toBe(true)
  await eventually(async () => !traffic.isRunning(), 'it has ended')
})
