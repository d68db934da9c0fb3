// Pins: what the console is told is so, and concerns nobody else: a snapshot is what the lanes are, a history what was
// counted. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { listSenders } from '../../src/accounts/senders.ts'
import { ownNodeProblem } from '../../src/kernel/node-line.ts'
import { laneStatuses } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { namesOfLiveWorkers, removeHeartbeat, sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { createSeriesReader } from '../../src/telemetry/live/series.ts'
import { seriesSchema, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { answerOf, follow, HOSTILE_TEXT, keyOf, laneIn, send, snapshotOf } from '../support/console-reader.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { workersHeardOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let mine: Tenant
let theirs: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  mine = await service.addTenant()
  theirs = await service.addTenant()
})
afterAll(() => service?.close())

describe('a snapshot', () => {
  test('shows of each lane what its queue shows, and why it does not send', async () => {
    await send(service, mine, 5)
    const snapshot = await eventually(async () => {
      const taken = await snapshotOf(service, mine)
      return laneIn(taken, mine.partnerLane)?.waiting.transactional === 5 ? taken : undefined
    }, 'five wait')
    const queues = openLaneQueues(service.redis)
    const listed = await laneStatuses(service.redis, await listSenders(service.redis, mine.account))
    await queues.close()
    expect(snapshot.lanes_total).toBe(listed.length)
    for (const { lane, waiting, rate, set_aside } of listed) {
      const shown = laneIn(snapshot, lane)
      expect((shown?.waiting.transactional ?? 0) + (shown?.waiting.campaign ?? 0)).toBe(waiting)
      expect([shown?.rate_per_s, shown?.dead_letters]).toEqual([rate, set_aside])
    }
    expect(laneIn(snapshot, mine.partnerLane)).toMatchObject({
      ...{ state: 'no_worker', reason: 'No worker has said lately that it is alive.', drain_s: 1, name: 'partner' },
    })
    expect(laneIn(snapshot, mine.cloudLane)).toMatchObject({ state: 'idle', drain_s: null, oldest_s: null })
    expect(snapshot.totals).toMatchObject({ waiting: 5, unconfirmed: 0 })
    expect(snapshot.totals.oldest_waiting_s).toBeGreaterThanOrEqual(0)
  })

  test('contains nothing of another account', async () => {
    await send(service, theirs, 2)
    const snapshot = await snapshotOf(service, theirs)
    expect(snapshot.lanes.map(({ account }) => account)).toEqual([theirs.account, theirs.account])
    expect(snapshot.lanes.map(({ sender }) => sender).sort()).toEqual([theirs.partnerLane, theirs.cloudLane].sort())
    expect(snapshot.totals.waiting).toBe(2)
  })

  test('of another account gets the same answer as one of an account that does not exist', async () => {
    const { secret } = await keyOf(service, theirs, 'admin')
    for (const path of ['snapshot', 'stream', 'history']) {
      const answers = await Promise.all(
        [mine.account, 999_999].map((account) => service.api.as(secret).get(`/console/${path}?account=${account}`)),
      )
      expect(
        answers.map(({ status }) => status),
        path,
      ).toEqual([404, 404])
      const [one, other] = answers.map(({ text }) => text.replaceAll(/"request_id":"[^"]+"/g, ''))
      expect(one).toBe(other)
    }
    const lane = await service.api.as(secret).get(`/console/history?sender=${mine.partnerLane}`)
    expect(lane.status).toBe(404)
  })

  test('of a key for some senders contains only their lanes and history', async () => {
    const { secret } = await createCredential(service.redis, mine.account, ['admin'], Date.now(), 0, 'bound', {
      senders: [mine.cloudLane],
    })
    const get = (path: string) => service.api.as(secret).get(`/console/${path}`)
    const snapshot = answerOf(snapshotSchema, (await get('snapshot')).json)
    expect(snapshot.lanes.map(({ sender }) => sender)).toEqual([mine.cloudLane])
    expect([snapshot.lanes_total, snapshot.totals.waiting]).toEqual([1, 0])
    const { points } = answerOf(seriesSchema, (await get('history')).json)
    expect(points.every(({ accepted }) => accepted === 0)).toBe(true)
    expect((await get(`history?sender=${mine.cloudLane}`)).status).toBe(200)
    expect((await get(`history?sender=${mine.partnerLane}`)).status).toBe(403)
    const { events, reading } = await follow(service, secret, '?limit=1')
    await reading
    expect(events.join()).not.toContain(`"sender":${mine.partnerLane},`)
  })

  test('shows who paused a lane, and why', async () => {
    const admin = service.api.as((await keyOf(service, mine, 'admin')).secret)
    const paused = await admin.post(`/admin/lanes/${mine.cloudLane}/pause`, { reason: HOSTILE_TEXT })
    expect(paused.status).toBe(200)
    const lane = await eventually(async () => {
      const found = laneIn(await snapshotOf(service, mine), mine.cloudLane)
      return found?.state === 'paused' ? found : undefined
    }, 'the lane is paused')
    expect(lane).toMatchObject({ by: 'Ada', reason: HOSTILE_TEXT })
    const resumed = await admin.post(`/admin/lanes/${mine.cloudLane}/resume`)
    expect(resumed.status).toBe(200)
  })

  test('adds up: the states of a campaign make its total', async () => {
    const snapshot = await snapshotOf(service, mine)
    for (const campaign of snapshot.campaigns) {
      const { queued, sending, sent, delivered, read, failed, expired, cancelled, unconfirmed, unknown } = campaign
      expect(queued + sending + sent + delivered + read + failed + expired + cancelled + unconfirmed + unknown).toBe(
        campaign.total,
      )
    }
  })
})

test('the history has a point for every period, and counts accepted messages', async () => {
  const { secret } = await keyOf(service, mine, 'messages:read')
  const history = async (query: string) => {
    const answer = await service.api.as(secret).get(`/console/history?${query}`)
    expect(answer.status).toBe(200)
    return answerOf(seriesSchema, answer.json)
  }
  const accepted = async (query: string) =>
    (await history(query)).points.reduce((sum, point) => sum + point.accepted, 0)
  const week = await history('span=week')
  expect([week.step_s, week.points.length]).toEqual([300, 2_016])
  const hour = await history(`sender=${mine.partnerLane}`)
  expect([hour.step_s, hour.points.length]).toEqual([10, 360])
  const times = hour.points.map(({ at }) => Date.parse(at))
  expect(times.every((time, i) => i === 0 || time - (times[i - 1] ?? 0) === 10_000)).toBe(true)
  await eventually(async () => (await accepted('span=hour')) === 5, 'five were accepted')
})

test('a history read in parts equals one read whole, including what was counted meanwhile', async () => {
  const of = { name: 'mine', lanes: async () => [mine.partnerLane, mine.cloudLane] }
  const read = createSeriesReader(service.redis, 1)
  const sum = async (reader: typeof read, span: 'hour' | 'week') =>
    (await reader(of, span)).points.reduce((all, { accepted }) => all + accepted, 0)
  const before = await sum(read, 'hour')
  await send(service, mine, 3)
  await eventually(async () => (await sum(read, 'hour')) === before + 3, 'three more were accepted', 20_000)
  for (const span of ['hour', 'week'] as const) {
    expect(await sum(read, span)).toBe(before + 3)
    expect(await sum(createSeriesReader(service.redis), span)).toBe(before + 3)
  }
})

test('a killed worker is shown as lost for an hour, a worker that stopped in order is not', async () => {
  const facts = { host: 'h', pid: 7, startedAt: Date.now() - 60_000, version: '0.1.0', lanes: 2, serves: [] }
  const nowMs = await redisNowMs(service.redis)
  for (const [name, agoMs] of Object.entries({ alive: 0, killed: 20_000, older: 3_700_000, stopped: 0 })) {
    await sendHeartbeat(service.redis, name, facts)
    await workersHeardOf(service.redis).put(nowMs - agoMs, name)
  }
  await removeHeartbeat(service.redis, 'stopped')
  const { workers, lost_workers: lost } = await eventually(async () => {
    const taken = await snapshotOf(service, mine)
    return taken.workers.length > 0 ? taken : undefined
  }, 'the workers')
  expect(workers.map(({ id }) => id)).toEqual(['alive'])
  expect(lost).toEqual([
    {
      ...{ id: 'killed', host: 'h', pid: 7, started_at: new Date(facts.startedAt).toISOString(), version: '0.1.0' },
      lost_s: expect.any(Number),
    },
  ])
  expect(lost[0]?.lost_s).toBeGreaterThanOrEqual(20)
  expect(await namesOfLiveWorkers(service.redis)).toEqual(['alive'])
  // A process that sends a heartbeat takes those off the list that nobody is shown any more.
  await sendHeartbeat(service.redis, 'alive', facts)
  expect(await workersHeardOf(service.redis).all()).toEqual(['killed', 'alive'])
  for (const name of ['alive', 'killed']) await removeHeartbeat(service.redis, name)
})

test('lanes send once a worker is there, and the snapshot names it', async () => {
  await service.startWorker()
  const snapshot = await eventually(async () => {
    const taken = await snapshotOf(service, mine)
    return taken.totals.waiting === 0 && taken.workers.length === 1 ? taken : undefined
  }, 'nothing waits')
  expect(snapshot.workers[0]).toMatchObject({
    pid: process.pid,
    version: expect.stringMatching(/^\d+\.\d+/),
    host: expect.any(String),
  })
  expect(snapshot.node_problems).toEqual(ownNodeProblem() === undefined ? [] : [ownNodeProblem()])
  expect(snapshot.redis.safety.map(({ name: setting }) => setting)).toEqual([
    'version',
    'maxmemory-policy',
    'appendonly',
    'appendfsync',
  ])
})
