// Pins: the status polls of a lane keep to their budget, however many workers there are and however slow the upstream
// is, and a lane that has more to ask than that keeps no other one waiting. Real: Redis, HTTP, the poll jobs of two
// workers. Stood in for: the partner upstream.
import { Queue } from 'bullmq'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { POLL_JOB, POLL_QUEUE, pollJobId } from '../../src/jobs/poll-status.ts'
import { POLL_FOR_MS, POLLS_AT_ONCE } from '../../src/messages/backoff.ts'
import { newUlid } from '../../src/messages/message-id.ts'
import { takePolls } from '../../src/messages/store/status-polls.ts'
import { sharedDelayedKey } from '../../src/redis/bullmq-layout.ts'
import { connectPatient, type Redis } from '../../src/redis/connect.ts'
import { nextPollKey, pollKey, sharedQueuePrefix } from '../../src/redis/keys.ts'
import { type Partner, startPartner, statusAnswer } from '../support/partner.ts'
import { sentOn, startPoller } from '../support/polls.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { eventually } from '../support/wait.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const LOOKED_AT_MS = 5_000

let server: TestRedis
let redis: Redis
let queue: Queue
let partner: Partner | undefined
let workers: ReturnType<typeof startPoller>[] = []
let lane = 0
const rates = new Map<number, number>()

beforeAll(async () => {
  server = await startRedis()
  redis = connectPatient(server.url)
  queue = new Queue(POLL_QUEUE, { connection: redis, prefix: sharedQueuePrefix(POLL_QUEUE) })
})
afterAll(async () => {
  await queue?.close()
  redis?.disconnect()
  await server?.stop()
})
beforeEach(() => {
  lane += 1
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  workers = []
  await partner?.close()
  partner = undefined
  await redis.flushall()
})

/** An upstream that says `sent` unless told otherwise, and so many workers that poll it. */
async function start(howMany: number, options: Parameters<typeof startPartner>[0] = {}): Promise<Partner> {
  partner = await startPartner({ poll: () => statusAnswer('sent'), ...options })
  const upstream = { url: partner.url, rateOf: (of: number) => rates.get(of) ?? 1_000 }
  workers = Array.from({ length: howMany }, () => startPoller(redis, upstream))
  return partner
}

/** What sends and sweeps of both workers ask for, all the time. */
async function askAllTheTime(ofLane: number): Promise<void> {
  const end = performance.now() + LOOKED_AT_MS
  while (performance.now() < end) {
    for (const worker of workers) {
      worker.follow(ofLane)
      worker.pickUp(ofLane)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function mostAtOnce({ pollTimes }: Partner): number {
  return Math.max(
    0,
    ...pollTimes.map(({ atMs }) => pollTimes.filter((each) => each.atMs <= atMs && each.endMs > atMs).length),
  )
}

function mostInASecond({ pollTimes }: Partner): number {
  return Math.max(
    0,
    ...pollTimes.map(({ atMs }) => pollTimes.filter((each) => each.atMs >= atMs && each.atMs < atMs + 1_000).length),
  )
}

test.each([50, 80, 1_000])('a lane of %i/s whose upstream answers after a second keeps to its budget', async (rate) => {
  rates.set(lane, rate)
  const upstream = await start(2, { pollMs: 1_000 })
  await sentOn(redis, lane, 400)
  await askAllTheTime(lane)
  const seconds = LOOKED_AT_MS / 1_000
  const most = Math.min(rate / 4, POLLS_AT_ONCE)
  expect(mostAtOnce(upstream)).toBeLessThanOrEqual(POLLS_AT_ONCE)
  // One more for a machine that is late with some and then quick with the next.
  expect(mostInASecond(upstream)).toBeLessThanOrEqual(Math.ceil(rate / 4) + 1)
  expect(upstream.polls.length).toBeLessThanOrEqual(Math.ceil(most * (seconds + 1)))
  // And it uses it.
  expect(upstream.polls.length).toBeGreaterThan(most * seconds * 0.3)
  expect(new Set(upstream.polls).size).toBe(upstream.polls.length)
})

test('a lane has one job, however often it is asked for and however late its polls are', async () => {
  rates.set(lane, 20)
  await start(2, { pollMs: 300 })
  await sentOn(redis, lane, 300)
  const counts: number[] = []
  const counting = askAllTheTime(lane)
  for (let n = 0; n < 20; n += 1) {
    const { wait = 0, delayed = 0, active = 0 } = await queue.getJobCounts('wait', 'delayed', 'active')
    counts.push(wait + delayed + active)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await counting
  expect(Math.max(...counts)).toBe(1)
})

test('the message that is due the longest is asked about first, and each gets its turn', async () => {
  rates.set(lane, 200)
  const upstream = await start(1)
  const messages = await sentOn(redis, lane, 60)
  workers[0]?.follow(lane)
  await eventually(async () => new Set(upstream.polls).size === messages.length, 'all were asked about')
  const firstPolls = [...new Set(upstream.polls)]
  expect(firstPolls).toEqual(messages.map(({ to }) => to))
})

test('a lane with more to ask than its budget allows keeps no other lane waiting', async () => {
  const upstream = await start(1, { pollMs: 1_000 })
  const busy = Array.from({ length: 60 }, (_, i) => lane * 1_000 + i)
  for (const each of busy) {
    rates.set(each, 20)
    await sentOn(redis, each, 30)
    workers[0]?.follow(each)
  }
  const quiet = lane * 1_000 + 999
  const [only] = await sentOn(redis, quiet, 1)
  workers[0]?.follow(quiet)
  await eventually(async () => upstream.polls.includes(only?.to ?? ''), 'the quiet lane is polled')
})

test('a poll that is thrown back makes the polls of its lane wait as long as it is told, for every worker', async () => {
  const throttledAt: number[] = []
  const upstream = await start(2, {
    throttlePoll: (poll) => {
      if (poll !== 10) return undefined
      throttledAt.push(performance.now())
      return { 'retry-after': '3' }
    },
  })
  rates.set(lane, 200)
  const messages = await sentOn(redis, lane, 200)
  await askAllTheTime(lane)
  await eventually(async () => new Set(upstream.polls).size === messages.length, 'all were asked about', 30_000)
  const [since = 0] = throttledAt
  // The answer has to get back, and what left before cannot be called back.
  const inside = upstream.pollTimes.filter(({ atMs }) => atMs > since + 250 && atMs < since + 3_000)
  expect(inside).toHaveLength(0)
  expect(upstream.polls.length).toBeGreaterThan(11)
})

test('an upstream that throws polls back without saying for how long is asked less and less', async () => {
  const upstream = await start(1, { throttlePoll: () => ({}) })
  rates.set(lane, 8)
  await sentOn(redis, lane, 100)
  await askAllTheTime(lane)
  // After 1, 2 and 4 s.
  expect(upstream.polls.length).toBeLessThanOrEqual(4)
  expect(upstream.polls.length).toBeGreaterThanOrEqual(2)
})

test('polls whose worker died count as under way until their lease is over, then they are due again', async () => {
  const messages = await sentOn(redis, lane, 60)
  const first = new Set<string>()
  await eventually(async () => {
    for (const ulid of (await takePolls(redis, lane, 4_000, 1_500)).ulids) first.add(ulid)
    return first.size === POLLS_AT_ONCE
  }, 'all places are taken')
  const { ulids, isFull, waitMs = 0 } = await takePolls(redis, lane, 4_000, 1_500)
  expect({ ulids, isFull }).toEqual({ ulids: [], isFull: true })
  expect(waitMs).toBeGreaterThan(0)
  const all = new Set<string>(first)
  await eventually(async () => {
    for (const ulid of (await takePolls(redis, lane, 4_000, 200)).ulids) all.add(ulid)
    return all.size === messages.length
  }, 'the others get the places')
  const again = await eventually(
    async () => (await takePolls(redis, lane, 4_000, 200)).ulids.some((ulid) => first.has(ulid)),
    'what the dead worker had is taken again',
  )
  expect(again).toBe(true)
})

test('a message that was not asked about within its day is given up without a poll', async () => {
  const overdue = Array.from({ length: 500 }, () => newUlid(Date.now()))
  await redis.zadd(pollKey(lane), ...overdue.flatMap((ulid) => [Date.now() - POLL_FOR_MS - 1_000, ulid]))
  const taken = await takePolls(redis, lane, 80, 10_000)
  expect(taken).toEqual({ ulids: [], waitMs: undefined, isFull: false })
  expect(await redis.exists(pollKey(lane), nextPollKey(lane))).toBe(0)
})

test('a lane whose job is on no list of the queue any more is polled again', async () => {
  const upstream = await start(1)
  const [message] = await sentOn(redis, lane, 1)
  await queue.add(POLL_JOB, { v: 1, lane }, { jobId: pollJobId(lane), delay: 3_600_000 })
  await redis.del(sharedDelayedKey(POLL_QUEUE))
  workers[0]?.pickUp(lane)
  await eventually(async () => upstream.polls.includes(message?.to ?? ''), 'it is polled')
})

test('a message that is sent while the next poll is far away is polled in time', async () => {
  const upstream = await start(1)
  const [old] = await sentOn(redis, lane, 1)
  await redis.zadd(pollKey(lane), Date.now() + 1_800_000, old?.ulid ?? '')
  workers[0]?.follow(lane)
  await eventually(async () => (await queue.getJobCounts('delayed')).delayed === 1, 'the lane sleeps')
  await eventually(async () => {
    const [job] = await queue.getDelayed()
    return (job?.delay ?? 0) > 1_000_000
  }, 'for long')
  const [fresh] = await sentOn(redis, lane, 1)
  workers[0]?.follow(lane)
  await eventually(async () => upstream.polls.includes(fresh?.to ?? ''), 'it is polled', 5_000)
  expect(await redis.zscore(pollKey(lane), old?.ulid ?? '')).not.toBeNull()
})
