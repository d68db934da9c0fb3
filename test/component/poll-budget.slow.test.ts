// Pins: the status polls of a lane keep to their budget, however many workers there are and however slow the upstream
// is, and a lane that has more to ask than that keeps no other one waiting. Real: Redis, HTTP, the poll jobs of two
// workers. Stood in for: the partner upstream.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { POLL_JOB, POLL_QUEUE, pollJobId } from '../../src/jobs/background.ts'
import { newUlid } from '../../src/kernel/message-id.ts'
import { takePolls } from '../../src/lanes/messages/poll-list.ts'
import { POLL_FOR_MS, POLLS_AT_ONCE } from '../../src/model/messages/poll-schedule.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { type Partner, startPartner, statusAnswer } from '../support/partner.ts'
import { sentOn, startPoller } from '../support/polls.ts'
import { startRedis } from '../support/redis.ts'
import { nextPollOn, pollsOn } from '../support/state/messages.ts'
import { loseListOfPolls, sharedQueue, unfinishedIn } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const LOOKED_AT_MS = 2_500
const LANE = 1
/** Longer than a slow machine takes to take all places. */
const LEASE_MS = 10_000

/** A Redis with the poll queue on it, an upstream, and workers that poll it. */
async function newRig() {
  const server = await startRedis()
  const redis = connectWithRetry(server.url)
  const queue = sharedQueue(redis, POLL_QUEUE)
  const rates = new Map<number, number>()
  const workers: ReturnType<typeof startPoller>[] = []
  let partner: Partner | undefined
  return {
    redis,
    queue,
    /** Messages a second of a lane, by lane; 1,000 unless set. */
    rates,
    workers,
    /** An upstream that says `sent` unless told otherwise, and so many workers that poll it. */
    async start(howMany: number, options: Parameters<typeof startPartner>[0] = {}): Promise<Partner> {
      partner = await startPartner({ poll: () => statusAnswer('sent'), ...options })
      const upstream = { url: partner.url, rateOf: (of: number) => rates.get(of) ?? 1_000 }
      for (let n = 0; n < howMany; n += 1) workers.push(startPoller(redis, upstream))
      return partner
    },
    /**
     * What sends and sweeps of all workers ask for, all the time; returns how long that took (s), longer on a busy machine,
     * and the longest that this process was late meanwhile.
     */
    async askAllTheTime(forMs = LOOKED_AT_MS): Promise<{ seconds: number; lateMs: number }> {
      const beganAt = performance.now()
      let lateMs = 0
      while (performance.now() < beganAt + forMs) {
        const roundAt = performance.now()
        for (const worker of workers) {
          worker.follow(LANE)
          worker.pickUp(LANE)
        }
        // How often is the load of the test, not a wait for something.
        await pause(50)
        lateMs = Math.max(lateMs, performance.now() - roundAt - 50)
      }
      return { seconds: (performance.now() - beganAt) / 1_000, lateMs }
    },
    async close() {
      // Polls that are under way end with it.
      await partner?.close()
      await Promise.all(workers.map((worker) => worker.stop()))
      await queue.close()
      redis.disconnect()
      await server.stop()
    },
  }
}

type Rig = Awaited<ReturnType<typeof newRig>>

async function onRig(act: (rig: Rig) => Promise<void>): Promise<void> {
  const rig = await newRig()
  try {
    await act(rig)
  } finally {
    await rig.close()
  }
}

/** Most cases look at a lane for seconds, so they run side by side, each on a Redis of its own. */
const testOnRig = (title: string, act: (rig: Rig) => Promise<void>) => test.concurrent(title, () => onRig(act))
/** This one keeps the process busy, and others measure times. */
const testAlone = (title: string, act: (rig: Rig) => Promise<void>) => test(title, () => onRig(act))

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

for (const rate of [50, 80, 1_000]) {
  testOnRig(`a lane of ${rate}/s whose upstream answers after a second keeps to its budget`, async (rig) => {
    rig.rates.set(LANE, rate)
    const upstream = await rig.start(2, { pollMs: 1_000 })
    await sentOn(rig.redis, LANE, 150)
    const { seconds } = await rig.askAllTheTime()
    const most = Math.min(rate / 4, POLLS_AT_ONCE)
    expect(mostAtOnce(upstream)).toBeLessThanOrEqual(POLLS_AT_ONCE)
    // One more for a machine that is late with some and then quick with the next.
    expect(mostInASecond(upstream)).toBeLessThanOrEqual(Math.ceil(rate / 4) + 1)
    expect(upstream.polls.length).toBeLessThanOrEqual(Math.ceil(most * (seconds + 1)))
    // And it uses it, as soon as the machine lets it.
    await eventually(async () => mostInASecond(upstream) > most * 0.3, 'it uses its budget')
    expect(new Set(upstream.polls).size).toBe(upstream.polls.length)
  })
}

testOnRig('a lane has one job, however often polls are added and however late they are', async (rig) => {
  rig.rates.set(LANE, 20)
  await rig.start(2, { pollMs: 300 })
  await sentOn(rig.redis, LANE, 100)
  const counts: number[] = []
  const counting = rig.askAllTheTime()
  for (let n = 0; n < 20; n += 1) {
    counts.push(await unfinishedIn(rig.queue))
    // Looks at spread moments.
    await pause(100)
  }
  await counting
  expect(Math.max(...counts)).toBe(1)
})

testOnRig('the message due longest is polled first, and each gets its turn', async (rig) => {
  rig.rates.set(LANE, 200)
  const upstream = await rig.start(1)
  const messages = await sentOn(rig.redis, LANE, 60)
  rig.workers[0]?.follow(LANE)
  await eventually(async () => new Set(upstream.polls).size === messages.length, 'all were asked about')
  const firstPolls = [...new Set(upstream.polls)]
  expect(firstPolls).toEqual(messages.map(({ to }) => to))
})

testAlone('a lane with more to poll than its budget allows delays no other lane', async (rig) => {
  const upstream = await rig.start(1, { pollMs: 1_000 })
  const busy = Array.from({ length: 60 }, (_, i) => 1_000 + i)
  for (const each of busy) {
    rig.rates.set(each, 20)
    await sentOn(rig.redis, each, 12)
    rig.workers[0]?.follow(each)
  }
  const quiet = 1_999
  const [only] = await sentOn(rig.redis, quiet, 1)
  rig.workers[0]?.follow(quiet)
  await eventually(async () => upstream.polls.includes(only?.to ?? ''), 'the quiet lane is polled', 15_000)
})

testOnRig(
  'a throttled poll makes the polls of its lane wait as long as the answer asks, for every worker',
  async (rig) => {
    const throttledAt: number[] = []
    const upstream = await rig.start(2, {
      throttlePoll: (poll) => {
        if (poll !== 10) return undefined
        throttledAt.push(performance.now())
        return { 'retry-after': '3' }
      },
    })
    rig.rates.set(LANE, 200)
    const messages = await sentOn(rig.redis, LANE, 100)
    const { lateMs } = await rig.askAllTheTime()
    await eventually(async () => new Set(upstream.polls).size === messages.length, 'all were asked about', 30_000)
    const [since = 0] = throttledAt
    // The answer has to get back, and what left before cannot be called back, however late it is read.
    const heardAt = since + 250 + lateMs
    const inside = upstream.pollTimes.filter(({ atMs }) => atMs > heardAt && atMs < since + 3_000)
    expect(inside).toHaveLength(0)
    expect(upstream.polls.length).toBeGreaterThan(11)
  },
)

testOnRig('an upstream that throttles polls without a time is polled less and less', async (rig) => {
  const upstream = await rig.start(1, { throttlePoll: () => ({}) })
  rig.rates.set(LANE, 8)
  await sentOn(rig.redis, LANE, 100)
  await rig.askAllTheTime(5_000)
  // After 1, 2 and 4 s.
  expect(upstream.polls.length).toBeLessThanOrEqual(4)
  await eventually(async () => upstream.polls.length >= 2, 'it is asked again')
})

testOnRig(
  'polls whose worker died count as under way until their lease is over, and are due again then',
  async (rig) => {
    const messages = await sentOn(rig.redis, LANE, 60)
    const first = new Set<string>()
    await eventually(async () => {
      for (const ulid of (await takePolls(rig.redis, LANE, 4_000, LEASE_MS)).ulids) first.add(ulid)
      return first.size === POLLS_AT_ONCE
    }, 'all places are taken')
    const { ulids, isFull, waitMs = 0 } = await takePolls(rig.redis, LANE, 4_000, LEASE_MS)
    expect({ ulids, isFull }).toEqual({ ulids: [], isFull: true })
    expect(waitMs).toBeGreaterThan(0)
    const all = new Set<string>(first)
    await eventually(async () => {
      for (const ulid of (await takePolls(rig.redis, LANE, 4_000, 200)).ulids) all.add(ulid)
      return all.size === messages.length
    }, 'the others get the places')
    const again = await eventually(
      async () => (await takePolls(rig.redis, LANE, 4_000, 200)).ulids.some((ulid) => first.has(ulid)),
      'what the dead worker had is taken again',
    )
    expect(again).toBe(true)
  },
)

testOnRig('a message that was not polled within its day is given up without a poll', async (rig) => {
  const overdue = Array.from({ length: 500 }, () => newUlid(Date.now()))
  await pollsOn(rig.redis, LANE).put(Date.now() - POLL_FOR_MS - 1_000, ...overdue)
  const taken = await takePolls(rig.redis, LANE, 80, 10_000)
  expect(taken).toEqual({ ulids: [], waitMs: undefined, isFull: false })
  for (const of of [pollsOn, nextPollOn]) expect(await of(rig.redis, LANE).isThere()).toBe(false)
})

testOnRig('a lane whose job is in no list of the queue is polled again', async (rig) => {
  const upstream = await rig.start(1)
  const [message] = await sentOn(rig.redis, LANE, 1)
  await rig.queue.add(POLL_JOB, { v: 1, lane: LANE }, { jobId: pollJobId(LANE), delay: 3_600_000 })
  await loseListOfPolls(rig.redis)
  rig.workers[0]?.pickUp(LANE)
  await eventually(async () => upstream.polls.includes(message?.to ?? ''), 'it is polled')
})

testOnRig('a message that is sent while the next poll is far away is polled in time', async (rig) => {
  const upstream = await rig.start(1)
  const [old] = await sentOn(rig.redis, LANE, 1)
  await pollsOn(rig.redis, LANE).put(Date.now() + 1_800_000, old?.ulid ?? '')
  rig.workers[0]?.follow(LANE)
  await eventually(async () => (await rig.queue.getJobCounts('delayed')).delayed === 1, 'the lane sleeps')
  await eventually(async () => {
    const [job] = await rig.queue.getDelayed()
    return (job?.delay ?? 0) > 1_000_000
  }, 'for long')
  const [fresh] = await sentOn(rig.redis, LANE, 1)
  rig.workers[0]?.follow(LANE)
  await eventually(async () => upstream.polls.includes(fresh?.to ?? ''), 'it is polled', 5_000)
  expect(await pollsOn(rig.redis, LANE).timeOf(old?.ulid ?? '')).not.toBeNull()
})
