// Pins: a message of its own that nobody has claimed before, and that is sent at its first attempt, is written by its plain
// claim and its plain settling as the general steps write it, field by field. Real: Redis and its scripts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MessageId, newUlid } from '../../src/messages/message-id.ts'
import { paceOf } from '../../src/messages/pace.ts'
import { claim, putOff } from '../../src/messages/store/claim.ts'
import { jobKey, markNotSent, recordStatus } from '../../src/messages/store/steps.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import {
  inDoubtKey,
  laneCooldownKey,
  laneSlotsKey,
  messageKey,
  outboxKey,
  pollKey,
  recipientCooldownKey,
  requeueableKey,
} from '../../src/redis/keys.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const HOUR_MS = 3_600_000
const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: HOUR_MS }
const PACE = paceOf(10_000)
const problem = { code: '131026', sentence: 'The chat product refused it.' }
const PAYLOAD = '{"v":1}'

let server: TestRedis
let redis: Redis
let lanes = 0
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
})
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

/** A lane with listeners to its events, and a message on it. */
async function newMessage({ hasJob = true } = {}): Promise<MessageId> {
  lanes += 1
  const id = { lane: lanes, ulid: newUlid(Date.now() - 60_000) }
  await redis.xadd(outboxKey(lanes), '*', 'e', 'the first')
  if (hasJob) await redis.hset(jobKey(id), { name: 'send', data: PAYLOAD })
  return id
}

const messageOf = ({ again = false, validForMs = HOUR_MS } = {}) => ({
  ...({ to: '4917100012345', type: 'text', text: 'Your parcel has been sent.', class: 'transactional' } as const),
  ...{ validUntil: Date.now() + validForMs, campaign: 'spring', run: undefined, again },
})
type Message = ReturnType<typeof messageOf>

const claimed = (id: MessageId, message: Message, pace: typeof PACE | undefined = PACE) =>
  claim(redis, id, 'A1', message, times, pace)

/** The general claim: a neighbour of the same step has a record, so that each is looked at by itself. */
async function claimedInGeneral(id: MessageId, message: Message, pace: typeof PACE | undefined = PACE) {
  const neighbour = { lane: id.lane, ulid: newUlid(Date.now()) }
  await redis.hset(messageKey(neighbour.lane, neighbour.ulid), { s: 's', a: 'N', h: 'c1,N' })
  const [result] = await Promise.all([claimed(id, message, pace), claimed(neighbour, message, pace)])
  await redis.del(messageKey(neighbour.lane, neighbour.ulid))
  return result
}

const sent = (id: MessageId, content?: string) =>
  recordStatus(redis, id, 'A1', 'sent', { providerId: 'wamid.1', firstPollMs: 5_000, content })

/** The general settling: the record tells of a problem, which being sent takes away. */
async function sentInGeneral(id: MessageId, content?: string) {
  await redis.hset(messageKey(id.lane, id.ulid), { e: 'some|problem' })
  return sent(id, content)
}

/** All that the steps have written, ids and times aside. */
async function writtenOf({ lane, ulid }: MessageId) {
  const { h = '', ...fields } = await redis.hgetall(messageKey(lane, ulid))
  const events = await redis.xrange(outboxKey(lane), '-', '+')
  const nameless = (text: string) => text.replaceAll(ulid, '<ulid>').replace(/,-?[0-9a-z]+,/, ',some time,')
  return {
    ...fields,
    u: Number(fields.u) > Date.now(),
    h: h.replaceAll(/(^|\|)([a-z])[0-9a-z]+/g, '$1$2'),
    expires: (await redis.pttl(messageKey(lane, ulid))) > HOUR_MS - 60_000,
    inDoubt: (await redis.zrange(inDoubtKey(lane), '0', '-1')).map(nameless),
    polls: (await redis.zrange(pollKey(lane), '0', '-1')).map(nameless),
    requeueable: (await redis.zrange(requeueableKey(lane), '0', '-1')).map(nameless),
    slots: await redis.llen(laneSlotsKey(lane)),
    events: events.flatMap(([, [, text = '']]) => text.split('\n').map(nameless)),
  }
}

describe.each([{ again: false }, { again: true }])('a message, $again,', (how) => {
  test('is claimed in the plain way as in the general one', async () => {
    const [plain, other] = [await newMessage(), await newMessage()]
    const results = [await claimed(plain, messageOf(how)), await claimedInGeneral(other, messageOf(how))]
    for (const result of results) expect(result).toMatchObject({ verdict: 'done', state: 'sending' })
    for (const result of results) expect(result).toHaveProperty('slot')
    const written = await writtenOf(plain)
    expect(written).toEqual(await writtenOf(other))
    expect(written).toMatchObject({ s: 'c', a: 'A1', inDoubt: ['<ulid>'], slots: 1, expires: true })
  })

  test.each([
    { from: 'its job', hasJob: true, content: undefined },
    { from: 'whoever settles it', hasJob: false, content: PAYLOAD },
    { from: 'nowhere', hasJob: false, content: undefined },
  ])('is settled in the plain way as in the general one, with its content from $from', async ({ hasJob, content }) => {
    const [plain, other] = [await newMessage({ hasJob }), await newMessage({ hasJob })]
    for (const id of [plain, other]) await claimed(id, messageOf(how))
    expect(await sent(plain, content)).toEqual({ verdict: 'done', state: 'sent', waitMs: undefined })
    expect(await sentInGeneral(other, content)).toEqual({ verdict: 'done', state: 'sent', waitMs: undefined })
    const written = await writtenOf(plain)
    expect(written).toEqual(await writtenOf(other))
    expect(written).toMatchObject({ s: 's', w: 'wamid.1', inDoubt: [], polls: ['<ulid>'] })
    expect('p' in written).toBe(hasJob || content !== undefined)
    expect(written.events).toHaveLength(2)
  })
})

test('without a pace it is claimed without a slot', async () => {
  const id = await newMessage()
  expect(await claim(redis, id, 'A1', messageOf(), times)).toEqual({ verdict: 'done', state: 'sending' })
  expect(await redis.exists(laneSlotsKey(id.lane))).toBe(0)
})

test('a claim that is asked again, its answer lost, is the same claim', async () => {
  const id = await newMessage()
  await claimed(id, messageOf())
  const again = await claimed(id, messageOf())
  expect(again).toMatchObject({ verdict: 'done', state: 'sending' })
  expect((await writtenOf(id)).h).toBe('c,A1|c,A1')
})

test('two claims of one message in one step are one claim and one that is held', async () => {
  const id = await newMessage()
  const both = await Promise.all([
    claim(redis, id, 'A1', messageOf(), times, PACE),
    claim(redis, id, 'A2', messageOf(), times, PACE),
  ])
  expect(both.map(({ verdict }) => verdict)).toEqual(['done', 'held'])
})

test('settled once more it stays as it is', async () => {
  const id = await newMessage()
  await claimed(id, messageOf())
  await Promise.all([sent(id), sent(id)])
  const written = await writtenOf(id)
  expect(await sent(id)).toMatchObject({ verdict: 'ignored', state: 'sent' })
  expect(await writtenOf(id)).toEqual(written)
  expect(written.events).toHaveLength(2)
})

test('an expired message is not claimed, and neither is one whose lane, recipient or own wait forbids it', async () => {
  const expired = await newMessage()
  expect(await claimed(expired, messageOf({ validForMs: -1 }))).toMatchObject({ state: 'expired' })
  const [cool, recipient, waits] = [await newMessage(), await newMessage(), await newMessage()]
  await redis.set(laneCooldownKey(cool.lane), String(Date.now() + 5_000))
  expect(await claimed(cool, messageOf())).toMatchObject({ verdict: 'lane_cooldown' })
  const until = Date.now() + 60_000
  await redis.set(recipientCooldownKey(recipient.lane, messageOf().to), `${until} ${until} 1 0`)
  expect(await claimed(recipient, messageOf())).toMatchObject({ verdict: 'recipient_cooldown' })
  await putOff(redis, waits, 5_000)
  expect(await claimed(waits, messageOf())).toMatchObject({ verdict: 'message_waits' })
  for (const { lane, ulid } of [cool, recipient, waits]) expect(await redis.exists(messageKey(lane, ulid))).toBe(0)
})

test('a message whose slot would be too far ahead is not claimed, and leaves nothing behind', async () => {
  const pace = paceOf(1)
  const [first, second] = [await newMessage(), { lane: lanes, ulid: newUlid(Date.now()) }]
  expect(await claimed(first, messageOf(), pace)).toMatchObject({ verdict: 'done' })
  expect(await claimed(second, messageOf(), pace)).toMatchObject({ verdict: 'too_early', state: 'queued' })
  expect(await redis.exists(messageKey(second.lane, second.ulid))).toBe(0)
})

test('one that was tried before, or whose person was erased, is settled in general', async () => {
  const [tried, erased] = [await newMessage(), await newMessage()]
  await claimed(tried, messageOf())
  await markNotSent(redis, tried, 'A1', { counts: true, maxTries: 5, problem })
  await claim(redis, tried, 'A2', messageOf(), times, PACE)
  await recordStatus(redis, tried, 'A2', 'sent', { providerId: 'wamid.2' })
  expect(await writtenOf(tried)).toMatchObject({ s: 's', a: 'A2', n: '1', w: 'wamid.2' })
  await claimed(erased, messageOf())
  await redis.hset(messageKey(erased.lane, erased.ulid), { t: '' })
  await sent(erased)
  const written = await writtenOf(erased)
  expect(written).toMatchObject({ s: 's' })
  expect(written).not.toHaveProperty('w')
  expect(written).not.toHaveProperty('p')
})
