// Messages that are added together leave on their lane what BullMQ itself would leave, and what it added and what was added
// so are the same to any process that adds them again or takes them.
import { Worker } from 'bullmq'
import { afterAll, expect, test } from 'vitest'
import type { SendPayload } from '../../src/jobs/send.ts'
import { acceptedAtMs, messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { addJobs, CAMPAIGN_PRIORITY } from '../../src/lanes/add-messages.ts'
import { delayedUntil, laneBacklogKeys, laneJobKey, laneQueue } from '../../src/lanes/bullmq/layout.ts'
import { openQueue } from '../../src/lanes/bullmq/open-queue.ts'
import { readNext } from '../../src/lanes/jobs.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { lanePrefix, messageIndexKey } from '../../src/redis/keys.ts'
import { withOwnRedis } from '../support/own-redis.ts'

let redis: Redis
let queues: LaneQueues
let lane = 0
withOwnRedis((own) => {
  redis = own
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
})

const payloadOf = (of: SendPayload['class'] = 'transactional', sendAt?: number): SendPayload => ({
  ...{ v: 1, to: '4917100012345', class: of, content: { type: 'text', text: { body: 'It is „on“ its way 📦' } } },
  ...{ until: Date.now() + 3_600_000, ...(sendAt === undefined ? {} : { sendAt }) },
})
const newId = (): string => messageId(lane, newUlid(Date.now()))
const timeOf = (id: string): number => acceptedAtMs(parseMessageId(id)?.ulid ?? '')

/** Everything that Redis has of the queue of a lane but its events, ids aside, and what BullMQ keeps of a job's settings. */
async function kept(of: number): Promise<Record<string, unknown>> {
  const own = laneJobKey(of, '')
  const all: Record<string, unknown> = {}
  const short = (id: string) => id.replace(/^msg_\d+_/, '')
  for (const key of (await redis.keys(`${own}*`)).sort()) {
    const name = short(key.slice(own.length))
    // No Worker of BullMQ takes jobs of a lane, so nothing marks that there are some.
    if (['events', 'id', 'marker', 'meta'].includes(name)) continue
    const type = await redis.type(key)
    if (type === 'string') all[name] = await redis.get(key)
    else if (type === 'list') all[name] = (await redis.lrange(key, 0, '-1')).map(short)
    else if (type === 'zset') all[name] = (await redis.zrange(key, '0', '-1', 'WITHSCORES')).map(short)
    else all[name] = { ...(await redis.hgetall(key)), opts: undefined }
  }
  return all
}

test('a lane holds what BullMQ would have written, with waiting and with prioritized jobs', async () => {
  lane += 1
  const mine = lane
  const ulids = [1, 2, 3, 4].map(() => newUlid(Date.now()))
  const classes = ['transactional', 'campaign', 'transactional', 'campaign'] as const
  const payloads = classes.map((of) => payloadOf(of))
  const messages = ulids.map((ulid, i) => ({ id: messageId(mine, ulid), payload: payloads[i] ?? payloadOf() }))
  await queues.addMany(messages)
  lane += 1
  const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
  for (const [i, ulid] of ulids.entries()) {
    const opts = { jobId: messageId(lane, ulid), timestamp: acceptedAtMs(ulid) }
    const priority = classes[i] === 'campaign' ? { priority: CAMPAIGN_PRIORITY } : {}
    await queue.add('send', payloads[i], { ...opts, ...priority })
  }
  const left = await kept(mine)
  expect(left).toEqual(await kept(lane))
  expect(left).toHaveProperty('wait')
  expect(left).toHaveProperty('prioritized')
  await queue.close()
})

test('BullMQ takes them in their order, with their payload, and may put them back', async () => {
  lane += 1
  const [first, second, campaign] = [newId(), newId(), newId()]
  await Promise.all([
    queues.add(campaign, payloadOf('campaign')),
    queues.add(first, payloadOf()),
    queues.add(second, payloadOf()),
  ])
  const worker = new Worker(laneQueue(lane), null, { connection: redis, prefix: lanePrefix(lane) })
  const job = await worker.getNextJob('token')
  expect(job).toMatchObject({ id: first, name: 'send', timestamp: timeOf(first) })
  expect(job?.data).toMatchObject({ content: payloadOf().content })
  expect((await worker.getNextJob('token'))?.id).toBe(second)
  const last = await worker.getNextJob('token')
  expect(last?.id).toBe(campaign)
  await last?.moveToWait('token')
  expect(await redis.zrange(laneBacklogKeys(lane).prioritized, '0', '-1')).toEqual([campaign])
  await worker.close(true)
})

test('a message that is added again, in the same turn or later, is on its lane once, as it was first added', async () => {
  lane += 1
  const id = newId()
  await Promise.all([queues.add(id, payloadOf()), queues.add(id, payloadOf('campaign'))])
  await queues.add(id, payloadOf('campaign'))
  await queues.addMany([{ id, payload: payloadOf() }], 'again')
  expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual([id])
  expect(await redis.exists(laneBacklogKeys(lane).prioritized)).toBe(0)
})

test('however many are added in one turn, no single script adds more than a hundred', async () => {
  lane += 1
  const ids = Array.from({ length: 950 }, newId)
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0)
  await queues.add(newId(), payloadOf())
  const before = await calls()
  await Promise.all(ids.map((id) => queues.add(id, payloadOf())))
  expect(await redis.llen(laneBacklogKeys(lane).waiting)).toBe(951)
  expect((await calls()) - before).toBeGreaterThanOrEqual(10)
})

test('a message to be sent later is on its lane as BullMQ would delay it', async () => {
  lane += 1
  const mine = lane
  const acceptedAt = Date.now() - 5_000
  const ulids = [1, 2, 3].map(() => newUlid(acceptedAt))
  const dueAt = [acceptedAt + 90_000, acceptedAt + 60_000, acceptedAt + 60_000]
  const payloads = dueAt.map((at, i) => payloadOf(i === 1 ? 'campaign' : 'transactional', at))
  lane += 1
  const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
  for (const [i, ulid] of ulids.entries()) {
    await queues.addMany([{ id: messageId(mine, ulid), payload: payloads[i] ?? payloadOf() }])
    const delay = Number(await redis.hget(laneJobKey(mine, messageId(mine, ulid)), 'delay'))
    expect(acceptedAt + delay).toBe(dueAt[i])
    const opts = { jobId: messageId(lane, ulid), timestamp: acceptedAt, delay }
    await queue.add('send', payloads[i], { ...opts, ...(i === 1 ? { priority: CAMPAIGN_PRIORITY } : {}) })
  }
  const left = await kept(mine)
  expect(left).toEqual(await kept(lane))
  expect(left).toHaveProperty('delayed')
  await queue.close()
})

test('more jobs can be delayed to one millisecond than it has room for, and all become due then', async () => {
  lane += 1
  const dueAt = Date.now() + 60_000
  const { delayed } = laneBacklogKeys(lane)
  await redis.zadd(delayed, dueAt * 4_096 + 4_095, 'last')
  const id = newId()
  await addJobs(
    redis,
    lane,
    {
      name: 'send',
      jobs: [{ id, data: '{}', timestamp: dueAt - 60_000, waitMs: 0, notBefore: dueAt, priority: 0 }],
      indexed: [],
    },
    1_000,
  )
  expect(Math.floor(delayedUntil((await redis.zscore(delayed, id)) ?? ''))).toBe(dueAt)
})

test('a message is added although the index of its lane is broken', async () => {
  lane += 1
  await redis.set(messageIndexKey(lane), 'broken')
  const id = newId()
  await queues.add(id, payloadOf())
  expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual([id])
})

test('a message to be sent later is delayed, and those added with it wait', async () => {
  lane += 1
  const [now, later] = [newId(), newId()]
  await queues.addMany([
    { id: now, payload: payloadOf() },
    { id: later, payload: payloadOf('campaign', Date.now() + 60_000) },
  ])
  expect(await redis.lrange(laneBacklogKeys(lane).waiting, 0, '-1')).toEqual([now])
  expect(await redis.zrange(laneBacklogKeys(lane).delayed, '0', '-1')).toEqual([later])
  expect(await redis.hget(laneJobKey(lane, later), 'priority')).toBe(String(CAMPAIGN_PRIORITY))
})

test('jobs are added to a paused lane as well', async () => {
  lane += 1
  await queues.add(newId(), payloadOf())
  await queues.pause(lane)
  await queues.add(newId(), payloadOf())
  expect(await redis.llen(laneBacklogKeys(lane).waiting)).toBe(2)
})

test.each([
  ['its job', 'transactional', '-hset'],
  ['its place in line, as a campaign has it', 'campaign', '-zadd'],
  ['its place in line, as a transactional one has it', 'transactional', '-lpush'],
] as const)(
  'a message that Redis let us add without %s is completed when it is added again',
  async (_what, of, right) => {
    lane += 1
    const id = newId()
    const payload = payloadOf(of)
    await redis.acl('SETUSER', 'default', right)
    try {
      await expect(queues.add(id, payload)).rejects.toThrow(/NOPERM|can't run this command|ACL failure/)
    } finally {
      await redis.acl('SETUSER', 'default', '+@all')
    }
    await queues.add(id, payload)
    const { jobs } = await readNext(redis, lane, { most: 10, by: 'a worker' })
    expect(jobs.map((job) => job.id)).toEqual([id])
  },
)
