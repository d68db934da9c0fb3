// Pins: what each outcome of an attempt writes down, and what becomes of the message's job, its recipient and its lane.
// Real: Redis and its scripts, the backoff of lanes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { createCampaignRefusals } from '../../src/campaigns/fan-out/circuit-breaker.ts'
import { messageId, newAttemptId } from '../../src/kernel/message-id.ts'
import { coolForProbe } from '../../src/lanes/cooldown.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import type { Outcome } from '../../src/model/messages/outcome.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { FIRST_POLL_MS } from '../../src/model/messages/poll-schedule.ts'
import { createNameMemory } from '../../src/people/name-memory.ts'
import { keepNames, namesOf } from '../../src/people/names/names.ts'
import { findOptOut } from '../../src/people/opt-outs/opt-outs.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { createCampaign, findCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { applyReport } from '../../src/reports/apply-report.ts'
import { createLaneBackoff } from '../../src/worker/sending/lane-backoff.ts'
import type { DirectoryEntry } from '../../src/worker/sending/sender-directory.ts'
import { type Attempted, type SettleDeps, settle } from '../../src/worker/sending/settle.ts'
import { keptLog, silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { interceptCommands } from '../support/redis.ts'
import { answering, anySender, laneOf, sendingTo } from '../support/sending.ts'
import { cooldownOf, inDoubtOn, pollsOn, probingOf, recipientCooldownOf, waitOf } from '../support/state/messages.ts'

const HOUR_MS = 3_600_000
const problem = { code: '131026', sentence: 'WhatsApp refused it.' }
const config = {
  ...{ maxTries: 3, unconfirmedWaitMs: HOUR_MS, capMs: HOUR_MS, retentionMs: HOUR_MS },
  validityMs: { transactional: HOUR_MS, campaign: HOUR_MS },
}
const DONE = { kind: 'done' }

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

let lane: number
let deps: SettleDeps
let entry: DirectoryEntry
/** Lanes whose deliveries are followed by polling. */
let followed: number[]
beforeEach(async () => {
  const { redis, queues } = world
  lane = await world.addSender()
  followed = []
  deps = {
    ...{ redis, config, log: silentLog, lanes: queues, backoff: createLaneBackoff(silentLog) },
    refusals: createCampaignRefusals({ redis, log: silentLog, config: { retentionMs: HOUR_MS } }),
    ...{ tombstones: createTombstones(redis, ['a secret']), nameMemory: createNameMemory() },
    followByPolling: (of) => followed.push(of),
  }
  const sender = await findSender(redis, lane)
  if (!sender) throw new Error('no sender')
  entry = {
    sender,
    provider: { send: () => Promise.reject(new Error('nothing is sent here')) },
    providerSender: { number: '1', baseUrl: '', token: '', phoneNumberId: '' },
    repeat: { transactional: 'never', campaign: 'never' },
    stopsTransactional: false,
    bringsEvidence: true,
    rules: { lane: 1 },
  }
})

const claimed = async (id = newId(lane), to: string = audioMessage.to): Promise<Attempted> => {
  const attempt = newAttemptId()
  const message = { ...audioMessage, to, validUntil: Date.now() + HOUR_MS }
  const result = await claim(world.redis, id, attempt, message, LONG_TIMES, paceOf(100_000))
  expect(result).toMatchObject({ verdict: 'done', state: 'sending' })
  return { id, attempt, to: message.to, run: undefined }
}
const ends = async (outcome: Outcome, message?: Attempted) => settle(deps, entry, message ?? (await claimed()), outcome)
const record = ({ id }: Attempted) => readMessage(world.redis, id)
const isPaused = () => world.queues.isPaused(lane)

describe('a sent message', () => {
  test('to a person whom WhatsApp returns under another number joins both numbers', async () => {
    const message = await claimed()
    const knownAs = ['5511987654321', 'BR.77']
    await ends({ kind: 'sent', providerId: 'wamid.1', knownAs }, message)
    const { account } = entry.sender
    const names = await namesOf(world.redis, account, message.to)
    expect(names).toEqual(['5511987654321', 'BR.77', message.to, '551187654321'])
    expect(await namesOf(world.redis, account, 'BR.77')).toEqual(names)
  })

  test('with a user id returned for many people joins it to the first only, also in another process', async () => {
    const { account } = entry.sender
    const people = ['491700000011', '491700000012', '491700000013']
    for (const to of people) {
      await ends({ kind: 'sent', providerId: 'p', knownAs: ['DE.shared'] }, { ...(await claimed()), to })
      deps = { ...deps, nameMemory: createNameMemory() }
    }
    const names = await Promise.all(people.map((to) => namesOf(world.redis, account, to)))
    expect(names).toEqual([['491700000011', 'DE.shared'], ['491700000012'], ['491700000013']])
  })

  test('with one number returned for many user ids joins it to the first only', async () => {
    const { account } = entry.sender
    const people = ['DE.many1', 'DE.many2', 'DE.many3']
    for (const to of people) {
      await ends({ kind: 'sent', providerId: 'p', knownAs: ['491700000021'] }, { ...(await claimed()), to })
      deps = { ...deps, nameMemory: createNameMemory() }
    }
    const names = await Promise.all(people.map((to) => namesOf(world.redis, account, to)))
    expect(names).toEqual([['491700000021', 'DE.many1'], ['DE.many2'], ['DE.many3']])
  })

  test('with a user id returned for many numbers joins it to the first, in either national form of the number', async () => {
    const { account } = entry.sender
    const [first, firstToday, other] = ['551187650001', '5511987650001', '5511987650002']
    for (const to of [first, other, firstToday]) {
      await ends({ kind: 'sent', providerId: 'p', knownAs: ['BR.shared'] }, { ...(await claimed()), to })
      deps = { ...deps, nameMemory: createNameMemory() }
    }
    const names = await Promise.all([first, firstToday, other].map((to) => namesOf(world.redis, account, to)))
    const theirs = [firstToday, 'BR.shared', first]
    expect(names).toEqual([theirs, theirs, [other, '551187650002']])
  })

  test('does not ask Redis again about names that are known, nor about ones that cannot be joined', async () => {
    const commandsOf = async (to: string, knownAs?: readonly string[]): Promise<number> => {
      const message = { ...(await claimed()), to }
      const counted = connectWithRetry(world.server.url)
      await counted.ping()
      let commands = 0
      interceptCommands(counted, (send) => {
        commands += 1
        return send()
      })
      await settle({ ...deps, redis: counted, tombstones: createTombstones(counted, ['secret']) }, entry, message, {
        ...({ kind: 'sent', providerId: 'p' } as const),
        ...(knownAs && { knownAs }),
      })
      counted.disconnect()
      return commands
    }
    await commandsOf('491700000030')
    const least = await commandsOf('491700000030')
    expect(await commandsOf('491700000031', ['DE.once'])).toBeGreaterThan(least)
    expect(await commandsOf('491700000031', ['DE.once'])).toBe(least)
    expect(await commandsOf('491700000032', ['DE.once'])).toBe(least)
  })

  const outcome = { kind: 'sent', providerId: 'wamid.1' } as const

  test('is recorded with WhatsApp’s id', async () => {
    const message = await claimed()
    expect(await ends(outcome, message)).toEqual(DONE)
    expect(await record(message)).toMatchObject({ state: 'sent', providerId: 'wamid.1' })
    expect([followed, await pollsOn(world.redis, lane).count()]).toEqual([[], 0])
    expect((await findSender(world.redis, lane))?.sent_after_block).toBe(0)
  })

  test('ends a series of refusals and a block at once, not only when it is recorded with others', async () => {
    const over: number[] = []
    deps = { ...deps, refusals: { ...deps.refusals, over: ({ number }) => over.push(number) } }
    const message = await claimed()
    const settled = ends(outcome, { ...message, run: 7 })
    expect(over).toEqual([7])
    expect((await record(message))?.state).toBe('sending')
    await settled
  })

  test('with an unknown state keeps that state with the message', async () => {
    const message = await claimed()
    await ends({ ...outcome, word: 'paused' }, message)
    expect(await record(message)).toMatchObject({ state: 'sent', messageStatus: 'paused' })
  })

  test('on a wire with polls is polled after a second', async () => {
    entry = { ...entry, provider: { ...entry.provider, poll: () => Promise.reject(new Error('not yet')) } }
    const message = await claimed()
    const before = Date.now()
    expect(await ends(outcome, message)).toEqual(DONE)
    expect(followed).toEqual([lane])
    const polls = pollsOn(world.redis, lane)
    const dueMs = await polls.timeOf((await polls.all())[0] ?? '')
    expect(Number(dueMs) - before).toBeGreaterThan(FIRST_POLL_MS / 2)
  })

  test.each([
    ['before that is known of it', { blocked_at: 5, sent_after_block: 4 }, 5],
    ['after another one', { blocked_at: 5, sent_after_block: 5 }, 0],
  ])('of a sender that was blocked, %s', async (_when, of, stored) => {
    entry = { ...entry, sender: { ...entry.sender, ...of } }
    await ends(outcome)
    expect((await findSender(world.redis, lane))?.sent_after_block).toBe(stored)
  })
})

test('a failed message is recorded with its code, and a refusal because of an opt-out opts the person out', async () => {
  const message = await claimed()
  expect(await ends({ kind: 'failed', concerns: 'recipient', problem }, message)).toEqual(DONE)
  expect(await record(message)).toMatchObject({ state: 'failed', problem: { code: '131026' } })
  const { account } = entry.sender
  expect(await findOptOut(world.redis, account, message.to)).toBeUndefined()
  await ends({ kind: 'failed', concerns: 'recipient', problem: { ...problem, code: '131050' } })
  expect(await findOptOut(world.redis, account, message.to)).toMatchObject({ source: 'provider' })
})

test('when the lane waits the message is queued again, without a try, and the lane is in a cooldown', async () => {
  const message = await claimed()
  const end = await ends({ kind: 'lane_waits', laneMs: 60_000, backoff: false, problem }, message)
  expect(end).toEqual({ kind: 'lane_waits', ms: 60_000 })
  expect(await record(message)).toMatchObject({ state: 'queued', tries: 0 })
  expect(await cooldownOf(world.redis, lane).livesMs()).toBeGreaterThan(30_000)
})

test('a message refused by Laneway itself proves nothing about the provider: the outage goes on, and the next message probes', async () => {
  for (let n = 0; n < 4; n += 1) deps.backoff.isOutage(lane)
  await coolForProbe(world.redis, lane, { firstMs: 4_000, mostMs: 30_000, isProbe: false }, problem)
  const before = await probingOf(world.redis, lane).value()
  await cooldownOf(world.redis, lane).remove()
  const message = { ...(await claimed()), isProbe: true, isUnasked: true }
  const refusal = { code: 'gallery_file_gone', sentence: 'The file of the gallery is not kept any more.' }
  expect(await ends({ kind: 'failed', concerns: 'file', problem: refusal }, message)).toEqual(DONE)
  expect(await record(message)).toMatchObject({ state: 'failed' })
  // Five without an answer in a row are an outage.
  expect(deps.backoff.isOutage(lane)).toBe(true)
  expect([await probingOf(world.redis, lane).value(), await cooldownOf(world.redis, lane).isThere()]).toEqual([
    before,
    false,
  ])
  await claimed()
})

test.each([
  ['gallery_file_gone', 'A file in its messages cannot be sent (gallery_file_gone).'],
  ['100', 'A file in its messages cannot be sent: WhatsApp refused it, a parameter is not valid (code 100).'],
  // Of a template it would mean that WhatsApp has paused it.
  [
    '132015',
    'A file in its messages cannot be sent: WhatsApp refused it, the template is paused for low quality (code 132015).',
  ],
])(
  'a file that cannot be sent (%s) pauses its campaign with a reason that does not blame the template',
  async (code, reason) => {
    const account = entry.sender.account
    const definition = {
      sender: '1',
      template: { name: 't', language: { code: 'en' }, components: [] },
      recipients: { tags: [1], except: [] },
    }
    const id = await createCampaign(world.redis, { account, lane, definition }, Date.now())
    for (const move of ['check', 'pass', 'start'] as const) await moveCampaign(world.redis, id, move, HOUR_MS)
    const refusal = { code, sentence: 'The file cannot be sent.' }
    const message = { ...(await claimed()), run: id.number, isUnasked: true }
    await ends({ kind: 'failed', concerns: 'file', problem: refusal }, message)
    expect(await findCampaign(world.redis, id)).toMatchObject({
      state: 'paused',
      reason,
    })
  },
)

test('a probe that never reached the provider lets the next message probe, and lengthens no wait', async () => {
  await coolForProbe(world.redis, lane, { firstMs: 4_000, mostMs: 30_000, isProbe: false }, problem)
  const before = await probingOf(world.redis, lane).value()
  await cooldownOf(world.redis, lane).remove()
  const message = { ...(await claimed()), isProbe: true }
  const why = { code: 'opted_out', sentence: 'Its recipient wants no such messages of the account.' }
  expect(await ends({ kind: 'not_asked', problem: why }, message)).toEqual({ kind: 'lane_waits', ms: 1 })
  expect(await record(message)).toMatchObject({ state: 'queued', tries: 0 })
  expect([await probingOf(world.redis, lane).value(), await cooldownOf(world.redis, lane).isThere()]).toEqual([
    before,
    false,
  ])
  // It asks in its place.
  await claimed()
})

test('a message that waits alone is delayed longer after each try, and fails after the last one', async () => {
  const outcome: Outcome = { kind: 'message_waits', retryAfterMs: undefined, problem }
  const message = await claimed()
  const waits: number[] = []
  for (let tries = 1; tries < config.maxTries; tries += 1) {
    const again = tries === 1 ? message : await claimed(message.id)
    const since = performance.now()
    const end = await ends(outcome, again)
    waits.push('ms' in end ? end.ms : 0)
    const wait = waitOf(world.redis, message.id)
    // Some of it is over by now, on a slow machine all of it.
    const leftMs = await wait.livesMs()
    expect(leftMs + performance.now() - since).toBeGreaterThan(1_000 * tries)
    await wait.remove()
    expect(await record(message)).toMatchObject({ state: 'queued', tries })
  }
  expect(waits[0]).toBeLessThan(waits[1] ?? 0)
  expect(await ends(outcome, await claimed(message.id))).toEqual(DONE)
  expect(await record(message)).toMatchObject({ state: 'failed', problem: { code: '131026' } })
})

test('a message to be tried after a time from WhatsApp waits that long', async () => {
  expect(await ends({ kind: 'message_waits', retryAfterMs: 77_000, problem })).toEqual({ kind: 'waits', ms: 77_000 })
})

test('when the recipient waits the message does too, without a try, and so do others to them', async () => {
  const message = await claimed()
  const end = await ends({ kind: 'recipient_waits', leastMs: 60_000, problem }, message)
  expect(end.kind === 'waits' && end.ms).toBeGreaterThanOrEqual(60_000)
  expect(await record(message)).toMatchObject({ state: 'queued', tries: 0 })
  expect(await waitOf(world.redis, { lane, ulid: message.id.ulid }).livesMs()).toBeGreaterThan(30_000)
  expect(await recipientCooldownOf(world.redis, lane, message.to).isThere()).toBe(true)
})

test.each([
  ['an old form of their number', '551187650001', '5511987650001', []],
  ['a user id', 'DE.pair', '491700000031', ['491700000031', 'DE.pair']],
])('a report that the recipient got too many messages makes others to them wait, also to %s', async (...given) => {
  const [, to, first, known] = given
  const { account } = entry.sender
  if (known.length > 0) await keepNames(world.redis, account, [{ names: known }])
  const message = await claimed(newId(lane), to)
  await settle(deps, entry, message, { kind: 'sent', providerId: 'wamid.pair' })
  const pairLimit = { code: '131056', sentence: 'Too many to this person.' }
  await applyReport(deps, entry.sender, { ...message, status: 'failed', problem: pairLimit, atMs: Date.now() })
  const next = { ...audioMessage, to, validUntil: Date.now() + HOUR_MS }
  // As take.ts claims it: under the first of all their names.
  const asked = { id: newId(lane), attempt: newAttemptId(), message: next, person: first }
  expect(await claimMessages(world.redis, [asked], LONG_TIMES)).toMatchObject([{ verdict: 'recipient_cooldown' }])
})

test('a refusal of the sender pauses it; repeated for the same message after another was sent, it fails that message', async () => {
  const outcome: Outcome = { kind: 'sender_blocked', problem: { code: '190', sentence: 'The token has expired.' } }
  const message = await claimed()
  const other = await claimed()
  expect(await ends(outcome, message)).toEqual({ kind: 'waits', ms: 1_000 })
  expect(await record(message)).toMatchObject({ state: 'queued', tries: 0 })
  expect(await isPaused()).toBe(true)
  await world.queues.resume(lane)
  const sender = await findSender(world.redis, lane)
  if (!sender) throw new Error('no sender')
  entry = { ...entry, sender }
  await ends({ kind: 'sent', providerId: 'wamid.1' }, other)
  expect(await ends(outcome, await claimed(message.id))).toEqual(DONE)
  expect(await record(message)).toMatchObject({ state: 'failed', problem: { code: '190' } })
  expect(await isPaused()).toBe(false)
})

describe('on a full Redis an outcome is recorded, whatever else is refused:', () => {
  const whileFull = async (outcome: Outcome, message: Attempted) => {
    await world.redis.config('SET', 'maxmemory', '1')
    try {
      return await ends(outcome, message)
    } finally {
      await world.redis.config('SET', 'maxmemory', '0')
    }
  }
  const refused = { ...problem, code: '131050' }

  test('sent, by a sender that was blocked', async () => {
    entry = { ...entry, sender: { ...entry.sender, blocked_at: 5 } }
    const message = await claimed()
    expect(await whileFull({ kind: 'sent', providerId: 'wamid.1' }, message)).toEqual(DONE)
    expect(await record(message)).toMatchObject({ state: 'sent', providerId: 'wamid.1' })
    // The next one says that the block is over.
    await ends({ kind: 'sent', providerId: 'wamid.2' })
    expect((await findSender(world.redis, lane))?.sent_after_block).toBe(5)
  })

  test('failed, for a person who has opted out, and the next refusal lists them', async () => {
    const message = { ...(await claimed()), to: '491700000077' }
    const outcome = { kind: 'failed', concerns: 'recipient', problem: refused } as const
    expect(await whileFull(outcome, message)).toEqual(DONE)
    expect(await record(message)).toMatchObject({ state: 'failed', problem: { code: '131050' } })
    await ends(outcome, { ...(await claimed()), to: message.to })
    expect(await findOptOut(world.redis, entry.sender.account, message.to)).toMatchObject({ source: 'provider' })
  })

  test('queued again, when a campaign cannot be paused', async () => {
    const pausesCampaign = async () => (await world.redis.sadd('a-list', 1)) > 0
    deps = { ...deps, refusals: { ...deps.refusals, pausesCampaign } }
    const message = await claimed()
    await whileFull({ kind: 'failed', concerns: 'template', problem }, { ...message, run: 7 })
    expect(await record(message)).toMatchObject({ state: 'queued', tries: 1 })
  })

  test.each<[string, Outcome, object]>([
    ['the message waits', { kind: 'message_waits', retryAfterMs: 7_000, problem }, { kind: 'waits', ms: 7_000 }],
    ['the recipient waits', { kind: 'recipient_waits', leastMs: 7_000, problem }, { kind: 'waits' }],
    ['the sender is blocked', { kind: 'sender_blocked', problem: { ...problem, code: '190' } }, { kind: 'waits' }],
  ])('%s', async (_what, outcome, end) => {
    const message = await claimed()
    expect(await whileFull(outcome, message)).toMatchObject(end)
    expect(await record(message)).toMatchObject({ state: 'queued' })
  })

  test('the lane waits, although its campaigns cannot be notified', async () => {
    const { redis, queues } = world
    const { log, lines } = keptLog()
    const provider = answering(async () => {
      await redis.config('SET', 'maxmemory', '1')
      const throttled = { status: 400, readable: true, code: 130429, subcode: undefined, text: 'too fast' }
      return { kind: 'answered', ...throttled, retryAfterMs: undefined }
    })
    const id = newId(lane)
    await queues.add(messageId(lane, id.ulid), audioJob())
    const served = laneOf({ ...sendingTo({ redis, lanes: queues }, anySender(80), provider), log }, lane, 1)
    try {
      served.signals.wake()
      await expect.poll(() => lines.some((line) => line.includes('attempt.finished'))).toBe(true)
    } finally {
      served.signals.stop()
      await redis.config('SET', 'maxmemory', '0')
    }
    expect((await readMessage(redis, id))?.state).toBe('queued')
    expect(lines.filter((line) => line.includes('attempt.follow_up_lost'))).toHaveLength(1)
  })

  test('unconfirmed, by a sender that cannot send', async () => {
    const message = await claimed()
    await whileFull({ kind: 'unconfirmed', blocksSender: true, coolsLane: false, problem }, message)
    expect(await record(message)).toMatchObject({ state: 'unconfirmed' })
  })
})

describe('an unconfirmed message', () => {
  const outcome = (blocksSender = false): Outcome => ({ kind: 'unconfirmed', blocksSender, coolsLane: false, problem })
  const decidedInMs = async ({ id }: Attempted) =>
    Number(await inDoubtOn(world.redis, lane).timeOf(id.ulid)) - Date.now()

  test('waits for evidence if its wire has any', async () => {
    for (const bringsEvidence of [true, false]) {
      entry = { ...entry, bringsEvidence }
      const message = await claimed()
      expect(await ends(outcome(), message)).toEqual(DONE)
      expect(await record(message)).toMatchObject({ state: 'unconfirmed' })
      expect((await decidedInMs(message)) > HOUR_MS / 2).toBe(bringsEvidence)
    }
    expect(await isPaused()).toBe(false)
  })

  test('pauses the sender if the answer shows that it cannot send', async () => {
    await ends(outcome(true))
    expect(await isPaused()).toBe(true)
  })

  test('makes no outage while every other attempt is answered, although their steps arrive together', async () => {
    const messages = await Promise.all(Array.from({ length: 12 }, () => claimed()))
    const sent = { kind: 'sent', providerId: 'wamid.1' } as const
    const settled = await Promise.all(messages.map((message, i) => ends(i % 2 === 0 ? outcome() : sent, message)))
    expect(settled).toEqual(Array(12).fill(DONE))
    expect(await cooldownOf(world.redis, lane).isThere()).toBe(false)
  })

  test('makes an outage when it is the fifth in a row: the lane waits', async () => {
    for (let i = 0; i < 4; i += 1) expect(await ends(outcome())).toEqual(DONE)
    // The provider did not answer in order.
    const others = await Promise.all([claimed(), claimed()])
    await ends({ kind: 'lane_waits', laneMs: 1, backoff: false, problem }, others[0])
    const since = performance.now()
    expect(await ends(outcome(), others[1])).toMatchObject({ kind: 'done_lane_waits', ms: expect.any(Number) })
    // Some of it is over by now, on a slow machine all of it.
    const leftMs = await cooldownOf(world.redis, lane).livesMs()
    expect(leftMs + performance.now() - since).toBeGreaterThan(500)
  })

  test('makes no outage when the provider has answered in between', async () => {
    for (let i = 0; i < 9; i += 1) {
      expect(await ends(i === 4 ? { kind: 'failed', concerns: 'recipient', problem } : outcome())).toEqual(DONE)
    }
  })
})
