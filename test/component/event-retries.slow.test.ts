// Pins: a delivery that waits for a retry is looked at when it is due, whatever happens at the same time and wherever a
// process dies. Real: Redis, the queues, HTTP.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createRetries } from '../../src/events/endpoint-retries.ts'
import { startRelay } from '../../src/events/relay.processor.ts'
import { addEventJob, openEndpointQueue } from '../../src/events/store/endpoint-queue.ts'
import { createEndpoint, newEndpointId, removeEndpoint } from '../../src/events/store/endpoints.ts'
import { newUlid } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { createTargetAgent } from '../../src/outbound/target-agent.ts'
import { createTargetRule } from '../../src/outbound/target-rule.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { startReceiver } from '../support/event-receiver.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { interceptCommands } from '../support/redis.ts'
import { endpointLooks, eventAccounts } from '../support/state/accounts.ts'
import { namesWith } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

const seal = createSeal(['a key of at least thirty-two characters'])
/** Later than a worker says that it works on a queue. */
const DUE_MS = 120_000
/**
 * Rounds without a command, together longer than a worker lets pass between two looks at the queue that it works on. Rounds and not
 * time: each waits for this process and for Redis, which may stand still while a command is on its way.
 */
const QUIET_ROUNDS = 13
const ROUND_MS = 100

let lanes: LaneRedis
type OnEnd = (end: () => Promise<void>) => unknown
const ends: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  lanes = await startLaneRedis()
})
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})
afterAll(() => lanes?.close())

/** An endpoint that takes everything, and its queue as another process sees it. */
async function addEndpoint(onEnd: OnEnd = (end) => ends.push(end)) {
  const account = await createAccount(lanes.redis, 'one')
  const receiver = await startReceiver()
  const how = { seal, nowMs: Date.now(), id: newEndpointId() }
  const { endpoint } = await createEndpoint(lanes.redis, account, newEndpointFields.parse({ url: receiver.url }), how)
  const queue = openEndpointQueue(lanes.redis, endpoint)
  onEnd(async () => {
    await queue.close()
    await receiver.close()
  })
  /** Adds a job as another process does; returns when it is due (epoch ms). */
  const add = async (waitMs: number): Promise<number> => {
    const nowMs = Date.now()
    const of = { waitMs, jobId: `tst_${newUlid(nowMs)}`, nowMs }
    await addEventJob(lanes.redis, queue, endpoint, { v: 1, kind: 'test', at: nowMs }, of)
    return nowMs + waitMs
  }
  return { endpoint, receiver, queue, add, member: `${account} ${endpoint.id}` }
}

/** Its retries, over a connection of their own. */
async function startRetries(onEnd: OnEnd) {
  const { endpoint, receiver, add, member } = await addEndpoint(onEnd)
  const redis: Redis = connectWithRetry(lanes.server.url)
  await readyOrLate(redis, 300_000)
  const agent = createTargetAgent(createTargetRule(['127.0.0.0/8']), 8)
  const target = { endpoint, agent, senders: new Map(), failures: 0, pausedUntil: 0, successNotedAt: 0 }
  const stopping = new AbortController()
  const config = { events: { retryMs: [DUE_MS], retentionMs: 3_600_000, allowPrivate: [] } }
  const retries = createRetries(
    { redis, log: silentLog, seal, config, nowMs: async () => Date.now() },
    target,
    stopping.signal,
  )
  onEnd(async () => {
    stopping.abort()
    await retries.stop(1_000)
    await agent.destroy()
    redis.disconnect()
  })
  /** When the queue is looked at next (epoch ms). */
  const lookMs = async () => Number((await endpointLooks(lanes.redis).timeOf(member)) ?? Number.NaN)
  return { redis, retries, receiver, add, lookMs }
}

/** The relay of this Redis, until the test ends. */
function start(): void {
  const events = { retryMs: [DUE_MS], retentionMs: 3_600_000, allowPrivate: ['127.0.0.0/8'] }
  const relay = startRelay({
    redis: lanes.redis,
    config: { events },
    log: silentLog,
    seal,
    worker: newUlid(Date.now()),
  })
  ends.unshift(() => relay.stop(1_000))
}

test.concurrent.for<[string, number | undefined]>([
  ['that holds nothing else', undefined],
  ['that holds another of later', 2 * DUE_MS],
])(
  'a delivery postponed at any moment while its queue is closed, %s, is retried when it is due',
  async ([, laterMs], { onTestFinished }) => {
    const cases = await Promise.all(
      Array.from({ length: 16 }, async (_each, place) => {
        const { redis, retries, receiver, add, lookMs } = await startRetries(onTestFinished)
        if (laterMs !== undefined) await add(laterMs)
        await add(0)
        let sent = 0
        let quietRounds = 0
        let due: Promise<number> | undefined
        interceptCommands(redis, (send) => {
          quietRounds = 0
          // From when the only job that is due was taken on: nothing is left to do but to close.
          if (receiver.taken.length === 0 || sent++ !== place) return send()
          due = add(DUE_MS)
          return due.then(send)
        })
        await retries.check()
        await eventually(async () => receiver.taken.length > 0, 'the job that is due is taken on')
        // Then the queue is closed.
        for (; quietRounds < QUIET_ROUNDS; quietRounds += 1) {
          await sleep(ROUND_MS)
          await lanes.redis.ping()
        }
        return { place, isReached: due !== undefined, lateMs: (await lookMs()) - ((await due) ?? 0) }
      }),
    )
    const reached = cases.filter(({ isReached }) => isReached)
    expect(reached.length).toBeGreaterThan(6)
    expect(reached.filter(({ lateMs }) => !(lateMs <= 0))).toEqual([])
  },
)

test('a job whose producer died before announcing it is done by the next relay', async () => {
  const { queue, receiver } = await addEndpoint()
  await queue.add('test', { v: 1, kind: 'test', at: Date.now() })
  start()
  await eventually(async () => receiver.taken.length > 0, 'the test')
})

test('a queue is checked within a minute, whatever it is reported to hold', async () => {
  const { add, member, receiver } = await addEndpoint()
  await add(30 * DUE_MS)
  start()
  await add(0)
  await eventually(async () => receiver.taken.length > 0, 'the job that is due')
  const look = async () => Number((await endpointLooks(lanes.redis).timeOf(member)) ?? Number.NaN)
  await eventually(async () => (await look()) > Date.now() + 40_000, 'its queue is closed')
  expect(await look()).toBeLessThanOrEqual(Date.now() + 60_000)
})

test('nothing is left of the queue of an endpoint that was removed while no relay served it', async () => {
  const { endpoint, add } = await addEndpoint()
  await add(DUE_MS)
  await removeEndpoint(lanes.redis, endpoint)
  start()
  await eventually(async () => (await namesWith(lanes.redis, endpoint.id)).length === 0, 'nothing is left')
  await eventually(
    async () => (await endpointLooks(lanes.redis).all()).every((each) => !each.endsWith(endpoint.id)),
    'nor noted',
  )
})

test('the jobs of an endpoint that is missing from the list of those to serve are kept', async () => {
  const { endpoint, queue, add, member, receiver } = await addEndpoint()
  await add(DUE_MS)
  start()
  await add(0)
  await eventually(async () => receiver.taken.length > 0, 'it is told')
  await eventAccounts(lanes.redis).drop(endpoint.account)
  const looks = new Set<number | null>()
  await eventually(async () => {
    looks.add(await endpointLooks(lanes.redis).timeOf(member))
    return looks.size > 3
  }, 'the relay has looked at a queue of nobody that it tells')
  expect(await queue.getJobCounts('delayed')).toEqual({ delayed: 1 })
})
