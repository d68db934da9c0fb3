// Pins: what becomes of each message that a lane has next, when some of them must not be sent or cannot be settled.
// Real: Redis. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deadlineIn } from '../../src/kernel/deadline.ts'
import { messageId, parseMessageId } from '../../src/kernel/message-id.ts'
import { readNext } from '../../src/lanes/jobs.ts'
import { delayMessage } from '../../src/lanes/messages/claim.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { matchingDeadLetters } from '../../src/messages/requeue/dead-letters.ts'
import { addOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { usage } from '../../src/portfolios/usage.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import type { Candidate } from '../../src/worker/sending/candidate.ts'
import { secondCheck } from '../../src/worker/sending/still-wanted.ts'
import { takeNext } from '../../src/worker/sending/take.ts'
import type { SendableFile } from '../../src/worker/sending/uploads.ts'
import { keptLog } from '../support/app.ts'
import { audioJob, type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { interceptCommands } from '../support/redis.ts'
import { answering, anySender, lanesOf, sendAlone, sendingTo, takenLane } from '../support/sending.ts'
import { addSilently, deadLettersOn, jobOf, readLongAgo, waitingOn } from '../support/state/lanes.ts'
import { messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

const provider = answering(() => ({ kind: 'accepted', providerId: 'p' }))
const TAKE = { most: 10, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY }

test('a message past its validity ends as expired, also when its recipient has opted out', async () => {
  const lane = world.newLane()
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  const name = messageId(lane, newId(lane).ulid)
  const job = audioJob(-1)
  await world.queues.add(name, { ...job, class: 'campaign' })
  await addOptOuts(world.redis, 1, [job.to], { source: 'http', atMs: Date.now() })
  const left: string[] = []
  await takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message.name)),
    TAKE,
  )
  expect(left).toEqual([])
  expect(await waitingOn(world.redis, lane, 'campaign')).toEqual([])
  const id = parseMessageId(name)
  expect(id && (await readMessage(world.redis, id))?.state).toBe('expired')
})

test('a message that leaves late stays on its lane when its person was capped meanwhile', async () => {
  const lane = world.newLane()
  const sent: string[] = []
  const heard = answering((to) => {
    sent.push(to)
    return { kind: 'accepted', providerId: 'p' }
  })
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), heard)
  const entry = await deps.directory.of(lane)
  if (entry === undefined) throw new Error('no sender')
  const name = messageId(lane, newId(lane).ulid)
  const job = { ...audioJob(), to: '491709999999', class: 'campaign' as const }
  await world.queues.add(name, job)
  const ends: Promise<unknown>[] = []
  const from = takenLane(lane, entry, (message) => {
    const capped = cap(world.redis, entry.rules, job.to, { forMs: 60_000 })
    message.wantedUntil = deadlineIn(Number.NEGATIVE_INFINITY)
    ends.push(capped.then(() => sendAlone(deps, message)))
  })
  await takeNext(deps, from, TAKE)
  await Promise.all(ends)
  expect([ends.length, sent]).toEqual([1, []])
  const id = parseMessageId(name)
  expect(id && (await readMessage(world.redis, id))?.state).toBe('queued')
  const left: string[] = []
  await takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message.name)),
    TAKE,
  )
  expect(left).toEqual([])
})

test('a message is checked once more by what its account says now, though one beside it was claimed before that', async () => {
  const lane = world.newLane()
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const before = await deps.directory.of(lane)
  if (before === undefined) throw new Error('no sender')
  const claimed: Candidate[] = []
  const person = '491709999998'
  const takeOne = async (of: 'campaign' | 'transactional', entry: typeof before) => {
    await world.queues.add(messageId(lane, newId(lane).ulid), { ...audioJob(), to: person, class: of })
    await takeNext(
      deps,
      takenLane(lane, entry, (message) => claimed.unshift(message)),
      TAKE,
    )
  }
  await takeOne('campaign', before)
  await takeOne('transactional', { ...before, stopsTransactional: true })
  expect(claimed.map(({ message }) => message.class)).toEqual(['transactional', 'campaign'])
  await addOptOuts(world.redis, before.sender.account, [person], { source: 'http', atMs: Date.now() })
  const [transactional] = await secondCheck(deps)(claimed)
  expect(transactional).toMatchObject({ problem: { code: 'opted_out' } })
})

test("a job with the id of another lane's message is a dead letter that says so, and the others are claimed", async () => {
  const [lane, other] = [world.newLane(), world.newLane()]
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  const foreign = messageId(other, newId(other).ulid)
  const names = Array.from({ length: 3 }, () => messageId(lane, newId(lane).ulid))
  await addSilently(world.redis, lane, foreign, audioJob())
  for (const name of names) await world.queues.add(name, audioJob())
  const left: string[] = []
  await takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message.name)),
    TAKE,
  )
  expect(left).toEqual(names)
  expect(await waitingOn(world.redis, lane)).toEqual([])
  expect((await jobOf(world.redis, foreign, lane))?.failedReason).toBe(`the job id belongs to another lane, ${other}`)
  expect(await deadLettersOn(world.redis, lane)).toBe(1)
  // It could not be sent, so it is not queued again.
  expect(await matchingDeadLetters({ redis: world.redis }, lane, [foreign], {})).toEqual([])
})

test('a claimed message is sent even when Redis goes away while another one is being ended', async () => {
  const lane = world.newLane()
  const redis = connectWithRetry(world.server.url)
  redis.on('error', () => {})
  const deps = sendingTo({ redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  const names = Array.from({ length: 3 }, () => messageId(lane, newId(lane).ulid))
  for (const name of names) await world.queues.add(name, audioJob())
  // The first one cannot be claimed at all.
  const [broken] = names.flatMap((name) => parseMessageId(name) ?? [])
  if (broken === undefined) throw new Error('no id')
  await messageRecord(redis, broken).ruin()
  // To look, for names of people, and to claim.
  let commands = 3
  interceptCommands(redis, (send) => {
    commands -= 1
    return commands < 0 ? Promise.reject(new Error('Connection is closed.')) : send()
  })
  const left: string[] = []
  await takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message.name)),
    TAKE,
  ).catch(() => {})
  expect(left).toEqual(names.slice(1))
  redis.disconnect()
})

test('a message that was read and could not be claimed on a full Redis is not blamed for the death of its readers', async () => {
  const lane = world.newLane()
  const name = messageId(lane, newId(lane).ulid)
  await world.queues.add(name, audioJob())
  const takeAs = async (worker: string) => {
    const deps = { ...sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider), worker }
    const entry = await deps.directory.of(lane)
    const left: string[] = []
    await takeNext(
      deps,
      takenLane(lane, entry, (message) => left.push(message.name)),
      TAKE,
    )
    return left
  }
  await world.redis.config('SET', 'maxmemory', '1')
  try {
    for (const worker of ['one', 'two', 'three', 'four']) {
      await expect(takeAs(worker)).rejects.toThrow('OOM')
      await readLongAgo(world.redis, lane)
    }
  } finally {
    await world.redis.config('SET', 'maxmemory', '0')
  }
  expect(await takeAs('five')).toEqual([name])
  expect(await deadLettersOn(world.redis, lane)).toBe(0)
})

test('claims interrupted by a revoked right are all taken back, and none of their messages is sent', async () => {
  const lane = world.newLane()
  const ids = Array.from({ length: 3 }, () => newId(lane))
  for (const { ulid } of ids) await world.queues.add(messageId(lane, ulid), audioJob())
  await world.redis.call('ACL', 'SETUSER', 'limited', 'on', 'nopass', '~*', '&*', '+@all')
  const redis = connectWithRetry(world.server.url.replace('//', '//limited:any@'))
  await redis.ping()
  const deps = sendingTo({ redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  // To look, for names of people, and to claim.
  let commands = 3
  interceptCommands(redis, async (send) => {
    commands -= 1
    // A claim writes its record before it says how long that is kept.
    if (commands === 0) await world.redis.call('ACL', 'SETUSER', 'limited', '-pexpire')
    return send()
  })
  const left: string[] = []
  const taking = takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message.name)),
    TAKE,
  )
  await expect(taking).rejects.toThrow(/can't run this command|no permissions/)
  redis.disconnect()
  const records = await Promise.all(ids.map((id) => readMessage(world.redis, id)))
  expect([left, records.map((record) => record?.state)]).toEqual([[], ['queued', 'queued', 'queued']])
})

test('a person counted for a message that does not leave is refunded, also when another refusal ends the step', async () => {
  const lane = world.newLane()
  const ids = Array.from({ length: 3 }, () => newId(lane))
  const content = { type: 'template' as const, template: { name: 't', language: { code: 'en' } } }
  for (const [i, { ulid }] of ids.entries()) {
    await world.queues.add(messageId(lane, ulid), { ...audioJob(), content, to: `49170000000${i}` })
  }
  for (const id of ids) await messageRecord(world.redis, id).ruin()
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const portfolio = { id: 4711, dailyLimit: 20, reservePercent: 0 }
  const found = await deps.directory.of(lane)
  const entry = found && { ...found, rules: { lane, portfolio } }
  // None can be claimed, and their end as dead letters, which logs each, fails at the first.
  const { log } = keptLog()
  Reflect.set(log, 'error', () => {
    throw new Error('Connection is closed.')
  })
  const left: string[] = []
  const from = takenLane(lane, entry, (message) => left.push(message.name))
  const taking = takeNext({ ...deps, log }, from, TAKE)
  await expect(taking).rejects.toThrow('Connection is closed.')
  expect(left).toEqual([])
  expect((await usage(world.redis, portfolio)).used).toBe(0)
})

test('a worker that stops releases what it could not release while Redis was away', async () => {
  const lane = world.newLane()
  const name = messageId(lane, newId(lane).ulid)
  await world.queues.add(name, audioJob())
  const redis = connectWithRetry(world.server.url)
  redis.on('error', () => {})
  const deps = sendingTo({ redis, lanes: world.queues }, anySender(80), provider)
  await redis.ping()
  // It goes away after the first read.
  let commands = 0
  let isAway = true
  interceptCommands(redis, (send) => {
    commands += 1
    return isAway && commands > 1 ? Promise.reject(new Error('Connection is closed.')) : send()
  })
  const lanes = lanesOf(deps)
  lanes.wake(lane)
  await expect.poll(() => commands > 1 && lanes.inFlight() === 0).toBe(true)
  expect((await readNext(world.redis, lane, { by: 'another', most: 1 })).jobs).toEqual([])
  isAway = false
  await lanes.stop(Promise.resolve(1_000))
  expect((await readNext(world.redis, lane, { by: 'another', most: 1 })).jobs).toMatchObject([{ id: name }])
  redis.disconnect()
})

test('a take returns when a job is due that its claim delayed', async () => {
  const lane = world.newLane()
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  const id = newId(lane)
  await world.queues.add(messageId(lane, id.ulid), audioJob())
  const from = performance.now()
  await delayMessage(world.redis, id, 5_000)
  const taken = await takeNext(
    deps,
    takenLane(lane, entry, () => {}),
    TAKE,
  )
  // Redis counts whole milliseconds.
  expect(taken.dueInMs).toBeGreaterThan(4_998 - (performance.now() - from))
  expect(taken.dueInMs).toBeLessThanOrEqual(5_000)
})

test('a message whose file is not uploaded yet is not claimed, however long the step takes', async () => {
  const lane = world.newLane()
  const problem = { code: 'uploading', sentence: 'The file is being uploaded to WhatsApp.' }
  let isUploaded = false
  // A step that takes longer than the wait: the upload is asked about again while others of the step are written.
  const find = async (): Promise<SendableFile> =>
    isUploaded ? { kind: 'ready', source: { id: '4711' }, hash: 'h', name: 'a.png' } : { kind: 'waits', ms: 1, problem }
  const deps = {
    ...sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider),
    uploads: { find, gone: async () => {} },
  }
  const entry = await deps.directory.of(lane)
  const names = Array.from({ length: 10 }, () => messageId(lane, newId(lane).ulid))
  const content = { type: 'image' as const, image: { gallery: '7' } }
  for (const name of names) await world.queues.add(name, { ...audioJob(), content })
  const left: Candidate[] = []
  await takeNext(
    deps,
    takenLane(lane, entry, (message) => left.push(message)),
    TAKE,
  )
  expect(left).toEqual([])
  isUploaded = true
  const all = async (): Promise<boolean> => {
    await takeNext(
      deps,
      takenLane(lane, entry, (message) => left.push(message)),
      TAKE,
    )
    return left.length === names.length
  }
  await eventually(all, 'all are claimed')
  expect(left.map((message) => message.content)).toEqual(names.map(() => ({ type: 'image', image: { id: '4711' } })))
})
