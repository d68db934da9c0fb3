// Pins: a record that cannot be read keeps nothing else of its webhook back, and has WhatsApp repeat nothing. Real: Redis,
// HTTP, producer. The test itself plays WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addSender } from '../../src/accounts/add-sender.ts'
import { setSenderProvider } from '../../src/accounts/senders.ts'
import { toldStatus } from '../../src/accounts/templates.ts'
import { type MessageId, messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { keptLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { messageRecord } from '../support/state/messages.ts'
import { bringWebhook, messagesChange } from '../support/webhooks.ts'

const { log, lines } = keptLog()
const WABA = '4711'

let service: Service
let tenant: Tenant
let opaqueIds: ReturnType<typeof createOpaqueIds>
beforeAll(async () => {
  service = await startService({ worker: false, log })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  await setSenderProvider(service.redis, tenant.cloudLane, { wabaId: WABA })
  opaqueIds = createOpaqueIds(secretKeysOf(service.config))
})
afterAll(() => service?.close())

async function claimed(lane = tenant.cloudLane): Promise<{ id: MessageId; status: object }> {
  const id = { lane, ulid: newUlid(Date.now()) }
  const about = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  const message = { ...about, validUntil: Date.now() + 60_000, campaign: undefined, run: undefined }
  await claim(service.redis, id, 'AAAAAA', message, {
    lostAfterMs: 60_000,
    evidenceWaitMs: 60_000,
    retentionMs: 3_600_000,
  })
  const opaque = opaqueIds.sign(messageId(id.lane, id.ulid), 'AAAAAA')
  const timestamp = String(Math.floor(Date.now() / 1_000))
  return { id, status: { id: 'wamid.1', status: 'delivered', timestamp, biz_opaque_callback_data: opaque } }
}

const templateNews = (name: string) => ({
  field: 'message_template_status_update',
  value: { message_template_name: name, message_template_language: 'en_US', event: 'PAUSED' },
})
const statuses = (...list: object[]) => messagesChange(`${PHONE_NUMBER_ID}1`, { statuses: list })
const stateOf = async (id: MessageId) => (await readMessage(service.redis, id))?.state

test('a message with an unreadable record delays neither other statuses nor updates, and is logged once', async () => {
  const { redis } = service
  const [first, odd, other, last] = [await claimed(), await claimed(), await claimed(), await claimed()]
  await messageRecord(redis, odd.id).ruin()
  await messageRecord(redis, other.id).ruin()
  const from = lines.length
  const answer = await bringWebhook(
    service.url,
    [statuses(first.status, odd.status, other.status, last.status), templateNews('one')],
    { waba: WABA },
  )
  expect(answer.status, answer.text).toBe(200)
  expect([await stateOf(first.id), await stateOf(last.id)]).toEqual(['delivered', 'delivered'])
  expect(await toldStatus(redis, tenant.account, { name: 'one', language: 'en_US' })).toBe('PAUSED')
  const logged = lines.slice(from).filter((line) => line.includes('webhook.items_failed'))
  expect(logged).toHaveLength(1)
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({ level: 50, items: 2 })
})

test('an unreadable sender delays nothing of other senders: names, statuses, updates', async () => {
  const { redis, simulator, config } = service
  const seal = createSeal(secretKeysOf(config))
  const broken = await addSender(redis, {
    ...{ account: tenant.account, number: '491799990001', name: 'broken', provider: 'cloud-api' as const },
    ...{ phoneNumberId: '106999', baseUrl: simulator.url, sealedToken: seal.encrypt('token'), rate: 80 },
    ...{ honoursIdempotency: false, isDefault: false },
  })
  const [good, lost] = [await claimed(), await claimed(broken)]
  await senderRecord(redis, broken).change({ rate: 'many' })
  const answer = await bringWebhook(
    service.url,
    [messagesChange('106999', { statuses: [lost.status] }), statuses(good.status), templateNews('two')],
    { waba: WABA },
  )
  expect(answer.status, answer.text).toBe(200)
  expect(await stateOf(good.id)).toBe('delivered')
  expect(await toldStatus(redis, tenant.account, { name: 'two', language: 'en_US' })).toBe('PAUSED')
})
