// Pins: a sender of which WhatsApp says that it can send nothing is paused at once and loses nothing; a message
// that draws that answer alone does not pause it again once others were sent. Real: Redis, HTTP, producer, worker.
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readAuditLog } from '../../src/accounts/audit-log.ts'
import { findSender, listSenders } from '../../src/accounts/senders.ts'
import { laneStatuses, resumeLane } from '../../src/lanes/control.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { startWorker } from '../../src/worker/main.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** A number of the demo's table: the simulator answers it that the token has expired. */
const TOKEN_EXPIRED = '+15550100109'

const line = z.looseObject({ msg: z.string(), lane: z.number().optional() })
const lines: z.infer<typeof line>[] = []
let service: Service
let queues: LaneQueues
let worker: { close(): Promise<void> }
beforeAll(async () => {
  service = await startService({ worker: false })
  queues = openLaneQueues(service.redis)
  const log = pino({ level: 'info' }, { write: (text) => lines.push(line.parse(JSON.parse(text))) })
  worker = await startWorker(service.config, service.server.url, log)
})
afterAll(async () => {
  await worker?.close()
  await queues?.close()
  await service?.close()
})

const statusOf = async (tenant: Tenant) =>
  (await laneStatuses(service.redis, await listSenders(service.redis, tenant.account))).find(
    ({ lane }) => lane === tenant.partnerLane,
  )
const isPaused = (tenant: Tenant) =>
  eventually(async () => (await statusOf(tenant))?.paused, 'the lane is paused', 15_000)
const resume = (tenant: Tenant) => resumeLane(service.redis, queues, tenant.partnerLane)

const page = ({ account }: Tenant) => ({ account, limit: 10, cursor: undefined })

async function control(order: object): Promise<void> {
  const body = JSON.stringify(order)
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${service.simulator.url}/_control`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
}

test('a message that alone gets such an answer pauses its sender once, and fails after the resume', async () => {
  const tenant = await service.addTenant()
  const bad = await sendTo(service, tenant, TOKEN_EXPIRED)
  await isPaused(tenant)
  const { paused_at: since } = (await statusOf(tenant)) ?? {}
  expect(Math.abs(Date.parse(String(since)) - Date.now())).toBeLessThan(60_000)
  const acts = async () => (await readAuditLog(service.redis, page(tenant), Date.now())).entries
  expect(await eventually(async () => (await acts())[0], 'the activity tells of it')).toMatchObject({
    ...{ actor: { system: 'Laneway' }, action: 'lane.pause', target: String(tenant.partnerLane) },
    ...{ target_name: 'partner', detail: expect.stringContaining('code 190') },
  })
  const others = await Promise.all(
    Array.from({ length: 20 }, (_, i) => sendTo(service, tenant, `+4917000030${i + 10}`)),
  )
  // A person takes longer than workers, which read a sender every 2 s.
  const blockedAt = (await findSender(service.redis, tenant.partnerLane))?.blocked_at ?? 0
  await eventually(async () => Date.now() - blockedAt > 2_200, 'workers know of the block')
  await resume(tenant)
  for (const id of others) await reaches(service, tenant, id, 'read')
  expect(await reaches(service, tenant, bad, 'failed')).toMatchObject({ error_message: expect.stringContaining('190') })
  expect((await statusOf(tenant))?.paused).toBe(false)
  expect(lines.filter(({ msg, lane }) => msg === 'sender.blocked' && lane === tenant.partnerLane)).toHaveLength(1)
  expect(await acts()).toHaveLength(1)
})

test('a sender that is blocked again after a resume is paused again at once, and nothing fails', async () => {
  const tenant = await service.addTenant()
  await control({ behaviour: 'token-expired' })
  const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => sendTo(service, tenant, `+4917000031${i + 10}`)))
  await isPaused(tenant)
  await resume(tenant)
  await isPaused(tenant)
  // Some that were in flight when the first was refused may be so still.
  for (const id of ids) await reaches(service, tenant, id, 'queued')
  await control({ clear: true })
  await resume(tenant)
  for (const id of ids) await reaches(service, tenant, id, 'read', 30_000)
})

test('a sender is also paused when WhatsApp accepts every message and reports only later that it cannot be billed', async () => {
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  await control({ behaviour: 'payment-issue' })
  const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => sendTo(service, tenant, `+4917000032${i + 10}`)))
  const cloud = async () =>
    (await laneStatuses(service.redis, await listSenders(service.redis, tenant.account))).find(
      ({ lane }) => lane === tenant.cloudLane,
    )
  await eventually(async () => (await cloud())?.paused, 'the lane is paused', 30_000)
  expect(await cloud()).toMatchObject({ paused_for: expect.stringContaining('(code 131042)'), paused_by: 'Laneway' })
  for (const id of ids) {
    // What had left by then has failed; the rest waits for a person.
    await eventually(
      async () => ['failed', 'queued'].includes((await deliveryOf(service, tenant, id)).status),
      'it has failed or waits',
      30_000,
    )
  }
  await control({ clear: true })
  const later = await sendTo(service, tenant, '+491700003301')
  expect((await deliveryOf(service, tenant, later)).status).toBe('queued')
  await resumeLane(service.redis, queues, tenant.cloudLane)
  await reaches(service, tenant, later, 'read', 30_000)
  expect((await cloud())?.paused).toBe(false)
})

test('the log has lane, code and sentence of a blocked sender, without numbers and tokens', async () => {
  const found = lines.find(({ msg }) => msg === 'sender.blocked')
  expect(found).toMatchObject({ code: '190', sentence: expect.stringContaining('code 190') })
  expect(String(found?.sentence)).not.toMatch(/\d{5}/)
})
