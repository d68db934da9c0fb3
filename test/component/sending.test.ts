// Pins: a message accepted over HTTP reaches WhatsApp once and its lookups tell the truth, on both wires.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const image = (to: string, more: object = {}) => ({
  messaging_product: 'chatapp',
  recipient_type: 'individual',
  to,
  type: 'image',
  image: { link: 'https://example.com/a.jpg', caption: 'Look' },
  ...more,
})

const acknowledgement = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })
const delivery = z.object({ message: z.object({ status: z.string(), error_message: z.string().nullable() }) })
const refusal = z.looseObject({ error: z.looseObject({ code: z.string(), request_id: z.string() }) })
const ledgerLine = z.object({ to: z.string() })
const behaviourRows = z.array(z.object({ name: z.string(), number: z.string() }))

let service: Service
const tenants = new Map<'partner-api' | 'cloud-api', Tenant>()

beforeAll(async () => {
  service = await startService()
  tenants.set('partner-api', await service.addTenant({ defaultProvider: 'partner-api' }))
  tenants.set('cloud-api', await service.addTenant({ defaultProvider: 'cloud-api' }))
})
afterAll(() => service?.close())

function tenantOn(provider: 'partner-api' | 'cloud-api'): Tenant {
  const tenant = tenants.get(provider)
  if (!tenant) throw new Error('no tenant')
  return tenant
}

async function send(tenant: Tenant, to: string, headers: Record<string, string> = {}) {
  const body = { api_key: tenant.apiKey, ...image(to) }
  const answer = await service.post('/sendservicemessages/sendmessages', body, headers)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return acknowledgement.parse(answer.body).messages[0].id
}

async function statusOf(tenant: Tenant, id: string) {
  const answer = await service.post('/chatappbusiness/getmessgageinfobyid', { api_key: tenant.apiKey, message_id: id })
  expect(answer.status).toBe(200)
  return delivery.parse(answer.body).message
}

async function reaches(tenant: Tenant, id: string, status: string) {
  return eventually(async () => {
    const now = await statusOf(tenant, id)
    return now.status === status ? now : undefined
  }, `${id} becomes ${status}`)
}

async function sendsTo(to: string): Promise<number> {
  const lines = (await (await fetch(`${service.simulator.url}/_ledger`)).text()).split('\n').filter(Boolean)
  return lines.map((line) => ledgerLine.parse(JSON.parse(line))).filter((line) => line.to === to).length
}

describe.concurrent.each(['partner-api', 'cloud-api'] as const)('on %s', (provider) => {
  const tenant = () => tenantOn(provider)
  const good = provider === 'partner-api' ? '491700000001' : '491700000002'

  test('a message is acknowledged, sent once, followed until read, and its info has what was sent', async () => {
    const id = await send(tenant(), `+${good}`)
    await reaches(tenant(), id, 'read')
    expect(await sendsTo(good)).toBe(1)
    const info = await service.post('/chatappbusiness/fetchmessageinfo', { api_key: tenant().apiKey, message_id: id })
    const from = provider === 'partner-api' ? tenant().partnerNumber : tenant().cloudNumber
    const data = {
      message_id: id,
      message_text: 'Look',
      message_type: 'image',
      message_from: from,
      direction: 'outbound',
      status: 'success',
      timestamp: expect.closeTo(Date.now() / 1_000, -2),
    }
    expect(info.body).toEqual({ status: true, message: { data } })
  })

  test('a message that WhatsApp refuses is failed, with its code', async () => {
    const id = await send(tenant(), '+15550100101')
    const { error_message } = await reaches(tenant(), id, 'failed')
    expect(error_message).toContain('code 100')
  })

  test('a message that fails after it was accepted ends as failed', async () => {
    const id = await send(tenant(), '+15550100201')
    const { error_message } = await reaches(tenant(), id, 'failed')
    expect(error_message).toContain('131026')
  })

  test('a throttled message is sent in the end, once', async () => {
    const id = await send(tenant(), '+15550100001')
    await reaches(tenant(), id, 'read')
    expect(await sendsTo('15550100001')).toBeGreaterThanOrEqual(1)
  })

  test('a message is tried again when the service is unavailable once', async () => {
    const id = await send(tenant(), '+15550100121')
    await reaches(tenant(), id, 'read')
  })
})

test('on cloud-api, a lost answer to an accepted message is settled by the webhook, without a second send', async () => {
  const tenant = tenantOn('cloud-api')
  const row = await behaviour('reset-after-accepting')
  const id = await send(tenant, `+${row}`)
  await reaches(tenant, id, 'read')
  expect(await sendsTo(row)).toBe(1)
})

test('on partner-api, a message whose answer was lost is repeated at most once and then unknown', async () => {
  const tenant = tenantOn('partner-api')
  const row = await behaviour('reset-after-accepting')
  const before = await sendsTo(row)
  const id = await send(tenant, `+${row}`)
  const { error_message } = await reaches(tenant, id, 'unknown')
  expect(error_message).toContain('may have been sent')
  expect((await sendsTo(row)) - before).toBe(2)
})

test('two hundred posts with one Idempotency-Key are one message', async () => {
  const tenant = tenantOn('partner-api')
  const ids = await Promise.all(
    Array.from({ length: 200 }, () => send(tenant, '+491700000777', { 'idempotency-key': 'order-1' })),
  )
  expect(new Set(ids).size).toBe(1)
  await reaches(tenant, ids[0] ?? '', 'read')
  expect(await sendsTo('491700000777')).toBe(1)
  const again = await service.post(
    '/sendservicemessages/sendmessages',
    { api_key: tenant.apiKey, ...image('+491700000778') },
    { 'idempotency-key': 'order-1' },
  )
  expect(again.status).toBe(422)
  expect(refusal.parse(again.body).error.code).toBe('idempotency_key_reused')
})

test("another account's message and one that never existed get the same answer", async () => {
  const id = await send(tenantOn('partner-api'), '+491700000999')
  const key = tenantOn('cloud-api').apiKey
  const others = await service.post('/chatappbusiness/getmessgageinfobyid', { api_key: key, message_id: id })
  const nobodys = await service.post('/chatappbusiness/getmessgageinfobyid', { api_key: key, message_id: 'nonsense' })
  expect(others.status).toBe(404)
  expect(nobodys.status).toBe(404)
  const withoutId = (body: unknown) => {
    const { error, ...rest } = refusal.parse(body)
    return { ...rest, error: { ...error, request_id: '' } }
  }
  expect(withoutId(others.body)).toEqual(withoutId(nobodys.body))
})

/** The reserved number of a behaviour of the simulator. */
async function behaviour(answer: string): Promise<string> {
  const table = behaviourRows.parse(await (await fetch(`${service.simulator.url}/_behaviours`)).json())
  const names = table.map((row) => row.name)
  const row = table.find(({ name }) => name === answer)
  if (!row) throw new Error(`no behaviour ${answer} among ${names.join(', ')}`)
  return row.number.replace(/\D/g, '')
}
