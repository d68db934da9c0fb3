// Pins: the sweep finds what nobody else would, soon and in whatever order it comes: lanes that nobody was woken for,
// also behind hundreds of lanes with an outage, and attempts in doubt behind thousands of messages that need a job; one
// worker sweeps at a time, and another takes over. Real: Redis, BullMQ.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import { messageId, newAttemptId, newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { readSweepStates, settleDueLanes, takeDueLanes } from '../../src/lanes/due-lanes.ts'
import { readNext } from '../../src/lanes/jobs.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { resolveUnconfirmed, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import { lanesToWake, markLane } from '../../src/lanes/wake.ts'
import { LETTERS } from '../../src/model/messages/lifecycle.ts'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { partnerApi } from '../../src/providers/partner-api.ts'
import { activeCampaigns } from '../../src/recipients/active-campaigns.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { deleteIf, ELECTED_MS, holdLease } from '../../src/redis/lock.ts'
import { createSweep } from '../../src/worker/recovery/sweep.ts'
import { sweepLane } from '../../src/worker/recovery/sweep-lane.ts'
import { createSenderDirectory } from '../../src/worker/sending/sender-directory.ts'
import { silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { audioJob, audioMessage, type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { dueLanes, listenFor } from '../support/state/accounts.ts'
import { addSilently } from '../support/state/lanes.ts'
import { activeCampaignsOn, campaignLanes, inDoubtOn, messageRecord, queuedAgainOn } from '../support/state/messages.ts'
import { eventually, gate } from '../support/wait.ts'

const KEY = 'the secret key of the test, 32 characters'
const HOUR = 3_600_000
const agent = createHttpAgent()

let lanes: LaneRedis
let redis: Redis
let queues: LaneQueues
beforeAll(async () => {
  lanes = await startLaneRedis()
  ;({ redis, queues } = lanes)
})
afterAll(async () => {
  await lanes?.close()
  await agent.destroy()
})
afterEach(async () => {
  await dueLanes(redis).remove()
})

const newLane = (rate?: number): Promise<number> => lanes.addSender(rate, createSeal([KEY]).encrypt('t'))

/** A worker's sweep with nothing around it, and the lanes that it woke. */
async function newSweep() {
  const woken: number[] = []
  const listener = connectWithRetry(lanes.server.url)
  listener.on('message', (_channel, text) => woken.push(...lanesToWake(text)))
  await listenFor(listener, 'lanesToWake')
  const providers = { 'partner-api': partnerApi(agent), 'cloud-api': partnerApi(agent) }
  const directory = createSenderDirectory({ redis, seal: createSeal([KEY]), providers })
  const deps = { redis, config: loadConfig({}), log: silentLog, queues, directory, followByPolling: () => {} }
  return { ...createSweep(deps), woken, stop: () => listener.disconnect() }
}

const { content, ...payload } = audioJob()

/** A job that nobody is told of. */
const addOne = (lane: number): Promise<void> =>
  addSilently(redis, lane, messageId(lane, newUlid(Date.now())), { ...payload, content })

/** A message whose worker died with it. */
async function lostClaim(lane: number) {
  const id = newId(lane)
  const message = { ...audioMessage, validUntil: Date.now() + HOUR }
  const times = { lostAfterMs: 0, evidenceWaitMs: 0, retentionMs: HOUR }
  await claim(redis, id, newAttemptId(), message, times)
  return id
}

test('a marked lane is woken, and swept again as long as it has work', async () => {
  const lane = await newLane()
  await addOne(lane)
  await markLane(redis, lane)
  const sweep = await newSweep()
  const beganMs = await redisNowMs(redis)
  await sweep.sweep()
  const endedMs = await redisNowMs(redis)
  await eventually(async () => sweep.woken.includes(lane), 'it is woken')
  // Two seconds after the sweep took it.
  const score = Number(await dueLanes(redis).timeOf(String(lane)))
  expect(score - beganMs).toBeGreaterThanOrEqual(2_000)
  expect(score - endedMs).toBeLessThanOrEqual(2_000)
  sweep.stop()
})

test('a lane without any work is no longer swept', async () => {
  const lane = await newLane()
  await markLane(redis, lane)
  const sweep = await newSweep()
  await sweep.sweep()
  expect(await dueLanes(redis).timeOf(String(lane))).toBeNull()
  sweep.stop()
})

test('a lane that gets work during its sweep stays marked', async () => {
  const lane = await newLane()
  await markLane(redis, lane)
  const { till, lanes } = await takeDueLanes(redis, 2_000, 10)
  expect(lanes).toEqual([lane])
  const [state] = await readSweepStates(redis, lanes)
  expect(state?.backlog).toBe(0)
  await addOne(lane)
  await markLane(redis, lane)
  await settleDueLanes(redis, till, [{ lane, atMs: undefined }])
  expect(await dueLanes(redis).timeOf(String(lane))).toBe(0)
})

test('a lane whose sweep never ended is due again', async () => {
  const lane = await newLane()
  await markLane(redis, lane)
  await takeDueLanes(redis, HOUR, 10)
  expect((await takeDueLanes(redis, HOUR, 10)).lanes).toEqual([])
  await markLane(redis, lane)
  await takeDueLanes(redis, 100, 10)
  await eventually(async () => (await takeDueLanes(redis, 100, 10)).lanes.includes(lane), 'it is due again')
})

test('work that nobody marked, as after a crash in between, is found by the round over all lanes', async () => {
  const [lane, withCampaign] = [await newLane(), await newLane()]
  await addOne(lane)
  await activeCampaignsOn(redis, withCampaign).change({ '1': 'running' })
  const sweep = await newSweep()
  await sweep.sweep()
  await sweep.sweep()
  await eventually(async () => sweep.woken.includes(lane), 'it is woken')
  expect(await activeCampaigns(redis)).toContainEqual({ id: { lane: withCampaign, number: 1 }, state: 'running' })
  await activeCampaignsOn(redis, withCampaign).remove()
  expect(await activeCampaigns(redis)).toEqual([])
  expect(await campaignLanes(redis).has(withCampaign)).toBe(false)
  sweep.stop()
})

test('a lane with work is woken at once while hundreds of others have thousands of messages to settle', async () => {
  const troubled: number[] = []
  // One after the other: each that adds a sender locks out all others.
  for (let n = 0; n < 220; n += 1) troubled.push(await newLane())
  for (const lane of troubled) {
    const written: Promise<unknown>[] = []
    for (let i = 0; i < 40; i += 1) {
      const id = newId(lane)
      const record = { s: LETTERS.sending, a: 'AAAAAA', t: '1', k: 'a', y: 't', u: Date.now() }
      written.push(messageRecord(redis, id).change(record), inDoubtOn(redis, lane).put(0, id.ulid))
    }
    await Promise.all(written)
    await markLane(redis, lane)
  }
  const sweep = await newSweep()
  await sweep.sweep()
  // Lanes are taken in the order of their marks, so that this one would be the last of all.
  const last = await newLane()
  await addOne(last)
  await markLane(redis, last)
  await sweep.sweep()
  await eventually(async () => sweep.woken.includes(last), 'the last lane is woken')
  const left = async () =>
    (await Promise.all(troubled.map((lane) => inDoubtOn(redis, lane).countUntil(0)))).some(Boolean)
  // That this was a race at all: the decisions were still going on.
  expect(await left()).toBe(true)
  await eventually(async () => !(await left()), 'all are decided', 60_000)
  sweep.stop()
})

test('an attempt whose worker died is found although thousands of messages of its lane only need a job', async () => {
  const lane = await newLane(100_000)
  const stored = JSON.stringify({ ...payload, content })
  for (let page = 0; page < 3; page += 1) {
    const written: Promise<unknown>[] = []
    for (let i = 0; i < 1_000; i += 1) {
      const id = newId(lane)
      const record = { s: LETTERS.queued, a: 'AAAAAA', t: payload.to, k: 'a', y: 't', u: payload.until, p: stored }
      written.push(messageRecord(redis, id).change(record), queuedAgainOn(redis, lane).put(0, id.ulid))
    }
    await Promise.all(written)
  }
  const id = await lostClaim(lane)
  await markLane(redis, lane)
  const sweep = await newSweep()
  await sweep.sweep()
  await eventually(async () => (await readMessage(redis, id))?.state !== 'sending', 'it is found')
  // And they get their jobs, by further sweeps, without a second look at those that have one.
  const due = () => queuedAgainOn(redis, lane).countUntil(Date.now())
  await eventually(
    async () => {
      await sweep.sweep()
      return (await due()) === 0
    },
    'all have a job',
    60_000,
  )
  expect((await queues.counts(lane)).wait).toBeGreaterThanOrEqual(3_000)
  sweep.stop()
})

test('one worker sweeps at a time; another takes over at once when it stops, and within seconds when it dies', async () => {
  // Who does not die holds the lease for longer than the machine may stand still.
  const isSweeper = (holder: string, ms = HOUR) => holdLease(redis, 'sweeper of the test', { holder, ms })
  const resign = (holder: string) => deleteIf(redis, 'sweeper of the test', holder)
  expect(await isSweeper('a')).toBe(true)
  expect(await isSweeper('b')).toBe(false)
  expect(await isSweeper('a')).toBe(true)
  await resign('b')
  expect(await isSweeper('b')).toBe(false)
  await resign('a')
  expect(await isSweeper('b', ELECTED_MS)).toBe(true)
  const diedAt = performance.now()
  let refusedAt = diedAt
  await eventually(async () => {
    const askedAt = performance.now()
    const isElected = await isSweeper('a')
    if (!isElected) refusedAt = askedAt
    return isElected
  }, 'the other one took over')
  // Whoever asks after that time is elected, however late the test itself asks.
  expect(refusedAt - diedAt).toBeLessThan(ELECTED_MS + 100)
})

test('the repeat of a message is also flagged when its record is lost before the claim', async () => {
  const lane = await newLane()
  const id = newId(lane)
  const message = { ...audioMessage, validUntil: Date.now() + HOUR }
  const times = { lostAfterMs: HOUR, evidenceWaitMs: HOUR, retentionMs: HOUR }
  await queues.add(messageId(lane, id.ulid), audioJob())
  await claim(redis, id, 'AAAAAA', message, times)
  const problem = { code: 'timeout', sentence: 'No answer came.' }
  await setUnconfirmed(redis, id, 'AAAAAA', { problem, evidenceMs: 0 })
  await resolveUnconfirmed(redis, id, 'AAAAAA', 'once', 5)
  await markLane(redis, lane)
  const sweep = await newSweep()
  await sweep.sweep()
  const found = async () => (await readNext(redis, lane, { by: 'w', most: 1 })).jobs[0]
  await eventually(async () => (await found()) !== undefined, 'it has a job again')
  expect(JSON.parse((await found())?.data ?? '{}')).toMatchObject({ to: audioMessage.to, again: true })
  sweep.stop()
})

test('a sweeper that was frozen after it read a message in doubt does not decide about the next attempt', async () => {
  const lane = await newLane()
  const id = newId(lane)
  const message = { ...audioMessage, validUntil: Date.now() + HOUR }
  const times = { lostAfterMs: HOUR, evidenceWaitMs: HOUR, retentionMs: HOUR }
  const problem = { code: 'timeout', sentence: 'No answer came.' }
  await claim(redis, id, 'AAAAAA', message, times)
  await setUnconfirmed(redis, id, 'AAAAAA', { problem, evidenceMs: 0 })
  const frozen = connectWithRetry(lanes.server.url)
  const read = frozen.hgetall.bind(frozen)
  let hasRead = false
  const { open: thaw, opened: thawed } = gate()
  Reflect.set(frozen, 'hgetall', async (key: string) => {
    const raw = await read(key)
    if (messageRecord(redis, id).isReadBy([key])) hasRead = true
    if (hasRead) await thawed
    return raw
  })
  try {
    const providers = { 'partner-api': partnerApi(agent), 'cloud-api': partnerApi(agent) }
    const directory = createSenderDirectory({ redis, seal: createSeal([KEY]), providers })
    const [state] = await readSweepStates(redis, [lane])
    if (state === undefined) throw new Error('no lane')
    const swept = sweepLane({ redis: frozen, config: loadConfig({}), log: silentLog, queues, directory }, state)
    await eventually(async () => hasRead, 'that it has read the message')
    // Another sweeper decides, the message is sent again, and that attempt brings no answer either: its wait is long.
    await resolveUnconfirmed(redis, id, 'AAAAAA', 'once', 5)
    await claim(redis, id, 'BBBBBB', message, times)
    await setUnconfirmed(redis, id, 'BBBBBB', { problem, evidenceMs: HOUR })
    thaw()
    await swept
    expect(await readMessage(redis, id)).toMatchObject({ state: 'unconfirmed', attempt: 'BBBBBB', repeats: 1 })
    // It is decided when its own wait is over.
    expect(await resolveUnconfirmed(redis, id, 'BBBBBB', 'once', 5)).toMatchObject({ state: 'unknown' })
  } finally {
    thaw()
    frozen.disconnect()
  }
})
