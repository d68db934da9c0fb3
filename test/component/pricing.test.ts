// Pins: what WhatsApp says of the price of a message is kept with it, the last by its own time, and shown wherever the
// message is; and so is a word of its acknowledgement that nobody knows. Real: Redis, HTTP, producer, worker, the simulator.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { eraseMessage } from '../../src/erase/erase-messages.ts'
import { openFolder } from '../../src/files/folder.ts'
import { type MessageId, messageId, newUlid } from '../../src/kernel/message-id.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { claim } from '../support/claim.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { messageRecord } from '../support/state/messages.ts'
import { bringWebhook, messagesChange } from '../support/webhooks.ts'

const MARKETING = { billable: true, pricing_model: 'PMP', type: 'regular', category: 'marketing' }
// What the simulator says of a template that it does not list.
const UTILITY = { ...MARKETING, category: 'utility' }
const FREE = { billable: false, pricing_model: 'PMP', type: 'free_customer_service', category: 'utility' }

let service: CampaignService
let opaqueIds: ReturnType<typeof createOpaqueIds>
beforeAll(async () => {
  service = await startCampaigns()
  opaqueIds = createOpaqueIds(secretKeysOf(service.config))
})
afterAll(() => service?.close())

const NOW_S = Math.floor(Date.now() / 1_000)

async function claimed(to = '491700000001'): Promise<MessageId> {
  const id = { lane: service.lane, ulid: newUlid(Date.now()) }
  const times = { lostAfterMs: 600_000, evidenceWaitMs: 600_000, retentionMs: 3_600_000 }
  const about = { to, type: 'audio', text: 'x', class: 'transactional' } as const
  await claim(
    service.redis,
    id,
    'AAAAAA',
    { ...about, validUntil: Date.now() + 600_000, campaign: undefined, run: undefined },
    times,
  )
  return id
}
const status = (id: MessageId, word: string, pricing: unknown, atS = NOW_S, attempt = 'AAAAAA') => ({
  ...{ id: `wamid.${id.ulid}`, status: word, timestamp: String(atS) },
  biz_opaque_callback_data: opaqueIds.sign(messageId(id.lane, id.ulid), attempt),
  ...(pricing !== undefined && { pricing }),
})
async function bring(...statuses: object[]): Promise<void> {
  const answer = await bringWebhook(service.url, [messagesChange(`${PHONE_NUMBER_ID}1`, { statuses })])
  expect(answer.status, answer.text).toBe(200)
}
const shown = z.object({ data: z.looseObject({ pricing: z.unknown() }) })
async function pricingOf({ lane, ulid }: MessageId): Promise<unknown> {
  const answer = await service.request('GET', `/messages/${messageId(lane, ulid)}`)
  return shown.parse(answer.json()).data.pricing
}

test('a message shows null until WhatsApp reports a price, and then that price', async () => {
  const id = await claimed()
  expect(await pricingOf(id)).toBeNull()
  await bring(status(id, 'sent', MARKETING))
  expect(await pricingOf(id)).toEqual(MARKETING)
  await bring(status(id, 'delivered', undefined, NOW_S + 1))
  expect(await pricingOf(id)).toEqual(MARKETING)
  await bring(status(id, 'read', FREE, NOW_S + 2))
  expect(await pricingOf(id)).toEqual(FREE)
})

test('the latest price by WhatsApp’s time counts, in whatever order and however often they come', async () => {
  const said = [
    ['sent', MARKETING, NOW_S - 9],
    ['delivered', { ...MARKETING, tier: 'A' }, NOW_S - 5],
    ['read', FREE, NOW_S - 1],
  ] as const
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [2, 0, 1, 2, 0],
    [0, 0, 2, 1, 1],
  ]
  for (const order of orders) {
    const id = await claimed()
    for (const at of order) {
      const [word, pricing, atS] = said[at] ?? said[0]
      await bring(status(id, word, pricing, atS))
    }
    expect(await pricingOf(id)).toEqual(FREE)
  }
})

test('within one second the later status counts, and across attempts the later time', async () => {
  const id = await claimed()
  await bring(status(id, 'delivered', FREE), status(id, 'sent', MARKETING))
  expect(await pricingOf(id)).toEqual(FREE)
  await bring(status(id, 'sent', MARKETING, NOW_S + 5, 'BBBBBB'))
  expect(await pricingOf(id)).toEqual(MARKETING)
})

test.each([
  ['no object', 'PMP'],
  ['null', null],
  ['a list', [1]],
])('a status counts although its price is %s', async (_what, pricing) => {
  const id = await claimed()
  await bring(status(id, 'delivered', pricing))
  expect(await pricingOf(id)).toBeNull()
  expect((await readMessage(service.redis, id))?.state).toBe('delivered')
})

test('after the person was erased only the known labels stay', async () => {
  for (const [to, when] of [
    ['491700000071', 'before'],
    ['491700000072', 'after'],
  ] as const) {
    const id = await claimed(to)
    await bring(status(id, 'delivered', FREE, NOW_S - 50))
    const more = { ...FREE, note: 'Canary' }
    if (when === 'before') await bring(status(id, 'read', more))
    // Found by its record: the claim of this test has put it into no index.
    const record = messageRecord(service.redis, id)
    const { redis, config } = service
    const queues = openLaneQueues(redis)
    const deps = { redis, queues, files: openFolder(config.dataDir), config }
    expect(await eraseMessage(deps, id, to)).toBe('erased')
    await queues.close()
    if (when === 'after') await bring(status(id, 'read', more))
    expect(await pricingOf(id)).toEqual(FREE)
    expect(JSON.stringify(await record.fields())).not.toContain('Canary')
  }
})

test('a campaign’s export has the price, and so have events of what was sent, delivered and read', async () => {
  const events = await service.tenant.key('events')
  await service.request('GET', '/events', undefined, events)
  const { tag } = await service.addPeople(3)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  const rows = await vi.waitUntil(
    async () => {
      const csv = (await service.request('GET', `/campaigns/${id}/export`)).text.trim().split('\n')
      return csv.slice(1).every((line) => line.includes(',utility,regular,true')) ? csv : undefined
    },
    { timeout: 300_000, interval: 200 },
  )
  expect(rows[0]?.trim()).toMatch(/,pricing_category,pricing_type,billable\b/)
  expect(rows).toHaveLength(4)
  const lines = (await service.request('GET', `/campaigns/${id}/export?format=ndjson`)).text.trim().split('\n')
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    pricing_category: 'utility',
    pricing_type: 'regular',
    billable: true,
  })
  const page = z.looseObject({ data: z.array(z.looseObject({ type: z.string(), data: z.looseObject({}) })) })
  const told = await vi.waitUntil(
    async () => {
      const all = page.parse((await service.request('GET', '/events?limit=1000', undefined, events)).json()).data
      const read = all.filter(({ type }) => type === 'message.read')
      return read.length >= 3 ? all : undefined
    },
    { timeout: 300_000, interval: 200 },
  )
  for (const { type, data } of told) {
    if (/^message\.(sent|delivered|read)$/.test(type)) expect(data.pricing).toEqual(UTILITY)
  }
})

test('an unknown state is kept with the message and shown', async () => {
  const id = await claimed()
  await recordStatus(service.redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.w', word: 'paused' })
  const answer = await service.request('GET', `/messages/${messageId(id.lane, id.ulid)}`)
  expect(answer.json().data).toMatchObject({ state: 'sent', message_status: 'paused' })
  // Of an attempt that is over it says nothing any more.
  await bring(status(id, 'failed', undefined))
  const failed = await service.request('GET', `/messages/${messageId(id.lane, id.ulid)}`)
  expect(failed.json().data).not.toHaveProperty('message_status')
})
