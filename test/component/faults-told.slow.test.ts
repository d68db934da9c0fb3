// Pins: what a code of WhatsApp asks for beside its message is done alike however it is told: in the answer to a send, in a
// status that a webhook brings, in one that a poll finds, in an error of a webhook about a number. Real: Redis, HTTP, the
// producer's webhook, settling and polling. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { createCampaignRefusals } from '../../src/campaigns/fan-out/circuit-breaker.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { type MessageId, messageId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { resumeLane } from '../../src/lanes/control.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { outcomeOf } from '../../src/model/messages/outcome.ts'
import { PROVIDER_CODES } from '../../src/model/messages/provider-codes.ts'
import type { PollEnd } from '../../src/model/provider.ts'
import { createNameMemory } from '../../src/people/name-memory.ts'
import { findOptOut } from '../../src/people/opt-outs/opt-outs.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { campaignsRest } from '../../src/portfolios/campaigns-rest.ts'
import { cappedUntil } from '../../src/portfolios/caps.ts'
import { webhookRoutes } from '../../src/producer/api/webhooks/handlers.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { createCampaign, findCampaign, moveCampaign, NOW } from '../../src/recipients/campaigns.ts'
import { createLanePoller } from '../../src/worker/recovery/poll-lane.ts'
import { createLaneBackoff } from '../../src/worker/sending/lane-backoff.ts'
import type { DirectoryEntry } from '../../src/worker/sending/sender-directory.ts'
import { settle } from '../../src/worker/sending/settle.ts'
import { silentLog, startApp } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { type LaneRedis, LONG_TIMES, startLaneRedis } from '../support/lane-redis.ts'
import { pollsOn, probingOf, recipientCooldownOf, throttledOn } from '../support/state/messages.ts'
import { bringWebhook, messagesChange } from '../support/webhooks.ts'

const HOUR_MS = 3_600_000
/** Taken for the moment at which it comes, however slow this machine is. */
const NOT_YET = (): number => Date.now() + 60_000
const config = loadConfig({
  LANEWAY_CLOUD_API_APP_SECRET: 'app-secret',
  LANEWAY_CLOUD_API_VERIFY_TOKEN: 'verify-token',
})
const opaqueIds = createOpaqueIds(['a secret'])

let world: LaneRedis
let app: Awaited<ReturnType<typeof startApp>>
let account: number
beforeAll(async () => {
  world = await startLaneRedis()
  const { redis, queues } = world
  account = await createAccount(redis, 'one')
  app = await startApp(
    redis,
    webhookRoutes({
      ...{ redis, config, log: silentLog, opaqueIds, queues, seal: createSeal(['a secret']) },
      tombstones: createTombstones(redis, ['a secret']),
    }),
  )
})
afterAll(async () => {
  await app?.close()
  await world?.close()
})

/** A number with a campaign that runs, and messages of it that a worker has sent or is sending. */
async function newNumber() {
  const { redis, queues } = world
  const phoneNumberId = String(106_000_000 + Math.floor(Math.random() * 1e9))
  const lane = await addSender(redis, {
    ...{ account, number: `49${phoneNumberId}`, name: '', provider: 'cloud-api' as const, phoneNumberId },
    ...{ baseUrl: 'http://127.0.0.1:9', sealedToken: () => 'x', rate: 80, honoursIdempotency: false, isDefault: false },
  })
  const definition = {
    ...{ sender: '1', template: { name: 't', language: { code: 'en' }, components: [] } },
    recipients: { tags: [1], except: [] },
  }
  const campaign = await createCampaign(redis, { account, lane, definition }, Date.now())
  for (const move of ['check', 'pass'] as const) await moveCampaign(redis, campaign, move, HOUR_MS)
  const fields = { started_at: NOW, resumed_at: NOW } as const
  await moveCampaign(redis, campaign, 'start', HOUR_MS, { begins: true, fields })
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  let polled: PollEnd = { kind: 'pending' }
  const entry: DirectoryEntry = {
    ...{ sender, rules: { lane }, bringsEvidence: true, stopsTransactional: false },
    provider: { send: () => Promise.reject(new Error('nothing is sent here')), poll: async () => polled },
    providerSender: { number: '1', baseUrl: '', token: '', phoneNumberId },
    repeat: { transactional: 'never', campaign: 'never' },
  }
  const refusals = createCampaignRefusals({ redis, log: silentLog, config })
  const settling = {
    ...{ redis, config, log: silentLog, lanes: queues, backoff: createLaneBackoff(silentLog), refusals },
    ...{ tombstones: createTombstones(redis, ['a secret']), followByPolling: () => {} },
    nameMemory: createNameMemory(),
  }
  const poller = createLanePoller({ redis, config, log: silentLog, directory: { of: async () => entry }, queues })
  let people = 0

  async function newMessage() {
    people += 1
    const id: MessageId = { lane, ulid: newUlid(Date.now()) }
    const to = `49151${String(lane).padStart(5, '0')}${people}`
    const about = { to, type: 'template', text: '', class: 'campaign', campaign: undefined, filled: [] } as const
    const message = { ...about, validUntil: Date.now() + HOUR_MS, run: campaign.number }
    await claim(redis, id, 'AAAAAA', message, LONG_TIMES)
    return { id, to }
  }
  async function sentMessage() {
    const { id, to } = await newMessage()
    await recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: `wamid.${id.ulid}`, firstPollMs: 1 })
    return { id, to }
  }
  const statusOf = (id: MessageId, word: string, atMs: number, code?: number) => ({
    ...{ id: `wamid.${id.ulid}`, status: word, timestamp: String(Math.floor(atMs / 1_000)) },
    biz_opaque_callback_data: opaqueIds.sign(messageId(id.lane, id.ulid), 'AAAAAA'),
    ...(code !== undefined && { errors: [{ code, title: 'No', error_data: { details: 'No.' } }] }),
  })
  async function bring(value: object, atMs = NOT_YET()): Promise<void> {
    const answer = await bringWebhook(app.url, [messagesChange(phoneNumberId, value)], { atMs })
    expect(answer.status, answer.text).toBe(200)
  }

  return {
    ...{ lane, campaign, sentMessage, bring, statusOf },
    /** Each way in which a code is told of a new message; resolves to that message. */
    tell: {
      async answer(code: number) {
        const { id, to } = await newMessage()
        const end = { kind: 'answered', status: 400, readable: true, code, subcode: undefined } as const
        const outcome = outcomeOf({ ...end, text: 'No.', retryAfterMs: undefined })
        await settle(settling, entry, { id, attempt: 'AAAAAA', to, run: campaign.number }, outcome)
        return { id, to }
      },
      async webhook(code: number, atMs = NOT_YET()) {
        const { id, to } = await sentMessage()
        await bring({ statuses: [statusOf(id, 'failed', atMs, code)] })
        return { id, to }
      },
      async poll(code: number) {
        const { id, to } = await sentMessage()
        polled = { kind: 'status', status: 'failed', problem: { code: String(code), sentence: `No (#${code})` } }
        await pollsOn(redis, lane).put(Date.now() - 1_000, id.ulid)
        await poller.poll(lane)
        return { id, to }
      },
    },
  }
}

type OwnNumber = Awaited<ReturnType<typeof newNumber>>

/** All that a code may have come to, beside its message. */
async function effects({ lane, campaign }: Pick<OwnNumber, 'lane' | 'campaign'>, to = '') {
  const { redis, queues } = world
  const sender = await findSender(redis, lane)
  const rest = await campaignsRest(redis, lane)
  const found = await findCampaign(redis, campaign)
  const [cap] = to === '' ? [] : await cappedUntil(redis, { lane }, [[to]])
  return {
    blockedFor: (await queues.isPaused(lane)) ? (sender?.paused_for ?? '') : undefined,
    // The cooldown itself may be over by now.
    cools: (await throttledOn(redis, lane).isThere()) || (await probingOf(redis, lane).isThere()),
    rests: rest?.code,
    personCools: to !== '' && (await recipientCooldownOf(redis, lane, to).isThere()),
    isCapped: cap !== undefined,
    isOptedOut: to !== '' && (await findOptOut(redis, account, to)) !== undefined,
    campaign: found?.state,
    reason: found?.state === 'paused' ? found.reason : undefined,
  }
}

const NOTHING = {
  ...{ blockedFor: undefined, cools: false, rests: undefined, personCools: false },
  ...{ isCapped: false, isOptedOut: false, campaign: 'running', reason: undefined },
}
const withCode = (code: number) => expect.stringContaining(`(code ${code})`)

/** What is expected of a code, from its row of the table. */
function expectedOf(code: number) {
  const entry = PROVIDER_CODES.get(code)
  if (entry === undefined) throw new Error(`no code ${code}`)
  const { rule, concerns } = entry
  if (code === 131049) return { ...NOTHING, isCapped: true }
  if (code === 131050) return { ...NOTHING, isOptedOut: true }
  switch (rule.act) {
    case 'block_sender':
      return { ...NOTHING, blockedFor: withCode(code) }
    case 'pause_lane':
      return { ...NOTHING, cools: true }
    case 'rest_campaigns':
      return { ...NOTHING, cools: true, rests: String(code) }
    case 'delay_recipient':
      return { ...NOTHING, personCools: true }
    case 'fail':
      return concerns === 'template' ? { ...NOTHING, campaign: 'paused', reason: withCode(code) } : NOTHING
    default:
      return NOTHING
  }
}

const codes = [...PROVIDER_CODES.keys()]
/** One code of each kind: of what asks for the same beside its message, and says it of the same. */
const kinds = [...new Map(codes.map((code) => [JSON.stringify(kindOf(code)), code])).values()]
function kindOf(code: number): unknown[] {
  const { rule, concerns } = PROVIDER_CODES.get(code) ?? {}
  const isOwn = [131049, 131050].includes(code)
  return [rule?.act, concerns, isOwn && code]
}

describe.each(['answer', 'webhook', 'poll'] as const)('reported by %s', (way) => {
  // A code that is told in an answer is looked up in the table as all others are.
  test.each(way === 'answer' ? codes : kinds)('%i has the effect that the table of codes gives', async (code) => {
    const number = await newNumber()
    const { id, to } = await number.tell[way](code)
    expect(await effects(number, to)).toEqual(expectedOf(code))
    // After a report the message has failed with the code; an answer may leave it to be tried again.
    const record = await readMessage(world.redis, id)
    if (way !== 'answer') expect(record).toMatchObject({ state: 'failed', problem: { code: String(code) } })
  })

  // One of what a message holds, and one of its sender that no pause of the sender mends.
  const inARow = [131009, 131030]
  test.each(inARow)('%i pauses the campaign the fifth time in a row', async (code) => {
    const number = await newNumber()
    for (let time = 1; time <= 5; time += 1) {
      expect((await effects(number)).campaign).toBe('running')
      await number.tell[way](code)
    }
    expect(await effects(number)).toEqual({ ...NOTHING, campaign: 'paused', reason: withCode(code) })
  })
})

test.each(kinds)('reported as an error of the number, %i has its effect on all of its messages', async (code) => {
  const number = await newNumber()
  await number.bring({ errors: [{ code, title: 'No', error_data: { details: 'No.' } }] })
  const { blockedFor, cools, rests } = expectedOf(code)
  expect(await effects(number)).toEqual({ ...NOTHING, blockedFor, cools, rests })
})

describe('a fault that is reported late', () => {
  const ago = (ms: number) => Date.now() - ms

  test.each([
    [130429, 2_000],
    [80007, 61_000],
    [131048, HOUR_MS + 1_000],
    [131056, HOUR_MS],
  ])('as %i, %i ms after it happened, delays nobody any more', async (code, ageMs) => {
    const number = await newNumber()
    const { to } = await number.tell.webhook(code, ago(ageMs))
    expect(await effects(number, to)).toEqual(NOTHING)
  })

  test('and happened before a person resumed stops neither the sender nor the campaign, however often it comes', async () => {
    const { redis, queues } = world
    const number = await newNumber()
    const { lane, campaign } = number
    const [first, second, ofTemplate] = [
      await number.sentMessage(),
      await number.sentMessage(),
      await number.sentMessage(),
    ]
    const atMs = ago(5_000)
    const bring = (id: MessageId, code: number) =>
      number.bring({ statuses: [number.statusOf(id, 'failed', atMs, code)] })
    await moveCampaign(redis, campaign, 'pause', HOUR_MS, { fields: { reason: 'a person' } })
    await moveCampaign(redis, campaign, 'resume', HOUR_MS, { begins: true, fields: { resumed_at: NOW } })
    await bring(first.id, 131042)
    expect((await effects(number)).blockedFor).toEqual(withCode(131042))
    await resumeLane(redis, queues, lane)
    for (let time = 0; time < 2; time += 1) {
      await bring(first.id, 131042)
      await bring(second.id, 131042)
      await bring(ofTemplate.id, 132015)
    }
    expect(await effects(number)).toEqual(NOTHING)
    // What happens from now on does again.
    await number.tell.webhook(131042, Date.now() + 1_000)
    expect((await effects(number)).blockedFor).toEqual(withCode(131042))
  })

  test('more than once counts once in a row, and a delivery ends the row', async () => {
    const number = await newNumber()
    const bad = await number.sentMessage()
    for (let time = 0; time < 6; time += 1)
      await number.bring({ statuses: [number.statusOf(bad.id, 'failed', Date.now(), 131009)] })
    for (let time = 0; time < 3; time += 1) await number.tell.webhook(131009)
    const good = await number.sentMessage()
    await number.bring({ statuses: [number.statusOf(good.id, 'delivered', Date.now())] })
    for (let time = 0; time < 4; time += 1) await number.tell.webhook(131009)
    expect((await effects(number)).campaign).toBe('running')
    await number.tell.webhook(131009)
    expect((await effects(number)).campaign).toBe('paused')
  })
})
