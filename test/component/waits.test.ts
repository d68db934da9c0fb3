// Pins: why a queued message does not leave is told with its end, the strongest reason first, and nothing is told of one
// that only waits for its worker. Real: Redis, BullMQ.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { messageId, newAttemptId } from '../../src/kernel/message-id.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { coolLane, laneCooldown } from '../../src/lanes/cooldown.ts'
import { setNotSent } from '../../src/lanes/messages/steps.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import { waitsOf } from '../../src/messages/lookup/waits.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { createCampaign, idOf } from '../../src/recipients/campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { cooldownOf } from '../support/state/messages.ts'

const TO = audioMessage.to
const HOUR = 3_600_000

let lanes: LaneRedis
let redis: Redis
let queues: LaneQueues
beforeAll(async () => {
  lanes = await startLaneRedis()
  ;({ redis, queues } = lanes)
})
afterAll(() => lanes?.close())

async function newLane(): Promise<number> {
  const lane = await lanes.addSender(80)
  return lane
}

/** A message that was claimed and proven unsent, with a cooldown that this began. */
async function refused(
  lane: number,
  cooldown: Parameters<typeof setNotSent>[3]['cooldown'],
  code: string,
): Promise<void> {
  const [id, attempt] = [newId(lane), newAttemptId()]
  const message = { ...audioMessage, validUntil: Date.now() + HOUR }
  await claim(redis, id, attempt, message, LONG_TIMES)
  const problem = { code, sentence: 'Too much for +49 170 0000001, token EAAGm0PX4ZCpsBAKZCabcdef1234567890.' }
  await setNotSent(redis, id, attempt, { counts: false, maxTries: 1, problem, ...(cooldown && { cooldown }) })
}

async function queued(lane: number) {
  const id = newId(lane)
  await queues.add(messageId(lane, id.ulid), audioJob())
  return { id, to: TO, class: 'transactional' as const }
}

test('a message that only waits for a worker shows no wait', async () => {
  const lane = await newLane()
  expect(await waitsOf(redis, { id: newId(lane), to: TO, class: 'transactional' })).toBeNull()
})

test('a message behind others waits for the pace of its lane', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await queued(lane)
  expect(await waitsOf(redis, message)).toEqual({
    why: 'pace',
    until: null,
    sentence: '2 messages wait for this sender, which sends 80 a second.',
  })
})

test('a cooldown of the lane is shown with its end and its reason, without numbers and tokens', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await refused(lane, { of: 'lane', ms: 60_000 }, '130429')
  const until = Number(await cooldownOf(redis, lane).value())
  const sentence = `Its sender waits until ${new Date(until).toISOString()}: Too much for +…, token ….`
  expect(await waitsOf(redis, message)).toEqual({ why: 'lane_cooldown', until, sentence })
})

test('a shorter cooldown does not cut a longer one', async () => {
  const lane = await newLane()
  await coolLane(redis, lane, 60_000, { code: 'timeout', sentence: 'No answer.' })
  await coolLane(redis, lane, 1_000, { code: 'reset', sentence: 'No connection.' })
  expect(await laneCooldown(redis, lane, Date.now())).toMatchObject({ code: 'timeout', sentence: 'No answer.' })
})

test('a pause is shown before a cooldown, with its reason', async () => {
  const lane = await newLane()
  const message = await queued(lane)
  await coolLane(redis, lane, 60_000, { code: '130429', sentence: 'Too much.' })
  await pauseLane(redis, queues, lane, { reason: 'number under review', by: 'Ada' })
  const sentence = 'Its sender is paused: number under review.'
  expect(await waitsOf(redis, message)).toEqual({ why: 'lane_paused', until: null, sentence })
  // Also to a reader who has just looked at the sender.
  await pauseLane(redis, queues, lane, { reason: 'number lost', by: 'Ada' })
  expect(await waitsOf(redis, message)).toMatchObject({ sentence: 'Its sender is paused: number lost.' })
  await resumeLane(redis, queues, lane)
  expect(await waitsOf(redis, message)).toMatchObject({ why: 'pace' })
})

test('a cooldown of the recipient is shown with the turn of the message itself', async () => {
  const lane = await newLane()
  const before = Date.now()
  await refused(lane, { of: 'recipient', person: TO, leastMs: 60_000 }, '131056')
  const waits = await waitsOf(redis, await queued(lane))
  expect(waits?.why).toBe('recipient_cooldown')
  expect(waits?.until).toBeGreaterThanOrEqual(before + 60_000)
  expect(waits?.sentence).not.toContain(TO)
})

test.each([
  ['UTILITY', 'campaign', false],
  ['MARKETING', 'campaign', true],
  ['UTILITY', 'transactional', false],
  ['MARKETING', 'transactional', true],
] as const)(
  'for a template %s in the class %s it is %s that it waits for its capped person',
  async (category, of, waits) => {
    const lane = await newLane()
    const account = (await findSender(redis, lane))?.account ?? 0
    const name = `${category}_${of}`.toLowerCase()
    const components = [{ type: 'BODY', text: 'Hello' }]
    await importTemplate(redis, account, templateSchema.parse({ name, language: 'en', category, components }))
    await cap(redis, { lane }, TO, { forMs: HOUR })
    const content = { type: 'template' as const, template: { name, language: { code: 'en' }, components: [] } }
    const single = { id: newId(lane), to: TO, class: of, type: 'template' }
    await queues.add(messageId(lane, single.id.ulid), { ...audioJob(), class: of, content })
    expect((await waitsOf(redis, single))?.why).toBe(waits ? 'person_capped' : 'pace')
    if (of !== 'campaign') return
    const definition = { sender: '1', template: content.template, recipients: { tags: [1], except: [] } }
    const campaign = idOf(await createCampaign(redis, { account, lane, definition }, Date.now()))
    expect((await waitsOf(redis, { ...single, id: newId(lane), campaign }))?.why).toBe(waits ? 'person_capped' : 'pace')
  },
)
