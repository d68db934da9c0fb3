// Pins what an operator's mistakes and a provider's outage do to waiting messages (nothing) and what the log tells of
// them: enough to mend them, and nothing of what a person was to read.
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { setSenderAccess } from '../../src/accounts/senders.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { loggedError } from '../../src/kernel/log.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { startWorker } from '../../src/worker/main.ts'
import { imageBody } from '../support/example-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { addSilently } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const acknowledgement = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })
const delivery = z.object({ message: z.object({ status: z.string() }) })
const line = z.looseObject({ msg: z.string(), lane: z.number().optional(), code: z.string().optional() })

let service: Service
let tenant: Tenant
let lines: z.infer<typeof line>[] = []
const log = pino(
  { level: 'debug', serializers: { err: loggedError } },
  { write: (text) => lines.push(line.parse(JSON.parse(text))) },
)
let worker: { close: () => Promise<void> } | undefined

/** A worker whose log is kept in `lines`. */
const startLoggedWorker = async (env: Record<string, string> = {}) => {
  // A simulator that stands still for seconds would leave messages in doubt.
  const settings = { LANEWAY_DATA_DIR: service.config.dataDir, LANEWAY_SEND_TIMEOUT_SECONDS: '60' }
  const config = loadConfig({ ...settings, ...env })
  worker = await startWorker(config, service.server.url, log)
}

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterEach(async () => {
  await worker?.close()
  worker = undefined
  lines = []
})
afterAll(() => service?.close())

async function send(): Promise<string> {
  const body = imageBody({ caption: 'canary text' })
  const answer = await service.post('/sendservicemessages/sendmessages', { ...body, api_key: tenant.apiKey })
  return acknowledgement.parse(answer.body).messages[0].id
}

async function statusOf(id: string): Promise<string> {
  const body = { api_key: tenant.apiKey, message_id: id }
  return delivery.parse((await service.post('/chatappbusiness/getmessgageinfobyid', body)).body).message.status
}

const logged = (msg: string, code?: string) =>
  eventually(
    async () => lines.some((each) => each.msg === msg && (code === undefined || each.code === code)),
    `the log says ${msg}`,
  )

test('messages of a sender whose token was sealed under another key wait, and leave once the key is right', async () => {
  tenant = await service.addTenant()
  const ids = await Promise.all(Array.from({ length: 20 }, send))
  await startLoggedWorker({ LANEWAY_SECRET_KEY: 'not the key that the token was sealed under' })
  await logged('lane.cooldown', 'sender_unreadable')
  await worker?.close()
  for (const id of ids) expect(await statusOf(id)).toBe('queued')
  await startLoggedWorker()
  await eventually(
    async () => (await Promise.all(ids.map(statusOf))).every((status) => status === 'read'),
    'all are read',
  )
})

test('an unreachable provider is logged, and so is its return', async () => {
  tenant = await service.addTenant()
  const sealedToken = createSeal(secretKeysOf(service.config)).encrypt('token')
  await setSenderAccess(service.redis, tenant.partnerLane, { baseUrl: 'http://127.0.0.1:1', sealedToken })
  const id = await send()
  await startLoggedWorker()
  await logged('lane.cooldown', 'refused')
  await setSenderAccess(service.redis, tenant.partnerLane, { baseUrl: service.simulator.url, sealedToken })
  await logged('lane.recovered')
  await eventually(async () => (await statusOf(id)) === 'read', 'it is read')
})

test('an unreadable message becomes a dead letter with the place and the rule, and nothing of its content', async () => {
  tenant = await service.addTenant()
  const payload = {
    v: 1,
    to: '447700900987',
    class: 'transactional',
    content: { type: 'image', image: { link: 'canary text' } },
    until: Date.now() + 60_000,
  }
  const jobId = messageId(tenant.partnerLane, newUlid(Date.now()))
  await addSilently(service.redis, tenant.partnerLane, jobId, payload)
  await startLoggedWorker()
  await logged('message.dead_lettered')
  const text = JSON.stringify(lines)
  expect(text).toContain('content.image.link (custom)')
  expect(text).not.toContain('canary')
  expect(text).not.toContain('447700900987')
})
