// Pins: what the console is told is so, is told once a second however many look, to nobody whom it does not concern, and
// ends when its reader may no longer see it. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, type Permission, revokeCredential } from '../../src/accounts/store/credentials.ts'
import { listLanes } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createSnapshotStreams } from '../../src/producer/snapshot-streams.ts'
import { senderKey } from '../../src/redis/keys.ts'
import { createSeriesReader } from '../../src/telemetry/live/series.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import type { Whose } from '../../src/telemetry/live/whose.ts'
import { seriesSchema } from '../../src/telemetry/series.ts'
import { type Snapshot, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { changed, type SnapshotChange } from '../../src/telemetry/snapshot-change.ts'
import { silentLog } from '../support/app.ts'
import { inspect } from '../support/declared-routes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const audio = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } }
const HOSTILE = '</script><img src=x onerror=alert(1)>\n\ndata: {"x":1}\u202e\u001b[2J'

let service: Service
let mine: Tenant
let theirs: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  mine = await service.addTenant()
  theirs = await service.addTenant()
})
afterAll(() => service?.close())

const keyOf = async ({ account }: Tenant, ...permissions: Permission[]) =>
  createCredential(service.redis, account, permissions, Date.now(), 0, 'Ada')
const whoseOf = ({ account }: Tenant): Whose => ({ account, senders: [] })
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

async function send({ apiKey }: Tenant, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const body = { messaging_product: 'chatapp', recipient_type: 'individual', to: `+4917000000${10 + i}`, ...audio }
    expect((await service.post('/sendservicemessages/sendmessages', { ...body, api_key: apiKey })).status).toBe(200)
  }
}

const answered = z.strictObject({ status: z.literal(true), data: z.unknown() })
const answerOf = <S extends z.ZodType>(data: S, json: unknown): z.output<S> => data.parse(answered.parse(json).data)

async function snapshotOf(tenant: Tenant): Promise<Snapshot> {
  const { secret } = await keyOf(tenant, 'messages:read')
  const answer = await inspect(`${service.url}/console/snapshot`, { headers: bearer(secret) })
  expect(answer.status).toBe(200)
  return answerOf(snapshotSchema, answer.json)
}

const laneIn = (snapshot: Snapshot, lane: number) => snapshot.lanes.find(({ sender }) => sender === lane)

/** A stream as a browser reads it: its events, until it ends. */
async function follow(key: string, signal?: AbortSignal, query = '') {
  const answer = await fetch(`${service.url}/console/stream${query}`, {
    headers: bearer(key),
    ...(signal && { signal }),
  })
  const events: string[] = []
  let isOver = false
  const decoder = new TextDecoder()
  const reading = (async () => {
    let text = ''
    for await (const piece of answer.body ?? []) {
      text += decoder.decode(piece as Uint8Array, { stream: true })
      const parts = text.split('\n\n')
      text = parts.pop() ?? ''
      events.push(...parts)
    }
  })()
    .catch(() => undefined)
    .finally(() => {
      isOver = true
    })
  return { answer, events, reading, isOver: () => isOver }
}

describe('a snapshot', () => {
  test('says of each lane what the survey of its queue says, and why it does not send', async () => {
    await send(mine, 5)
    const snapshot = await eventually(async () => {
      const taken = await snapshotOf(mine)
      return laneIn(taken, mine.partnerLane)?.waiting.transactional === 5 ? taken : undefined
    }, 'five wait')
    const queues = openLaneQueues(service.redis)
    const surveyed = await listLanes(service.redis, queues, mine.account)
    await queues.close()
    expect(snapshot.lanes_total).toBe(surveyed.length)
    for (const { lane, waiting, rate, set_aside } of surveyed) {
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

  test('holds nothing of another account', async () => {
    await send(theirs, 2)
    const snapshot = await snapshotOf(theirs)
    expect(snapshot.lanes.map(({ account }) => account)).toEqual([theirs.account, theirs.account])
    expect(snapshot.lanes.map(({ sender }) => sender).sort()).toEqual([theirs.partnerLane, theirs.cloudLane].sort())
    expect(snapshot.totals.waiting).toBe(2)
  })

  test('of another account is answered like one of an account that does not exist', async () => {
    const { secret } = await keyOf(theirs, 'admin')
    for (const path of ['snapshot', 'stream', 'history']) {
      const answers = await Promise.all(
        [mine.account, 999_999].map((account) =>
          inspect(`${service.url}/console/${path}?account=${account}`, { headers: bearer(secret) }),
        ),
      )
      expect(
        answers.map(({ status }) => status),
        path,
      ).toEqual([404, 404])
      const [one, other] = answers.map(({ text }) => text.replaceAll(/"request_id":"[^"]+"/g, ''))
      expect(one).toBe(other)
    }
    const lane = await inspect(`${service.url}/console/history?sender=${mine.partnerLane}`, { headers: bearer(secret) })
    expect(lane.status).toBe(404)
  })

  test('of a key that is for some senders holds their lanes only, and their history', async () => {
    const { secret } = await createCredential(service.redis, mine.account, ['admin'], Date.now(), 0, 'bound', {
      senders: [mine.cloudLane],
    })
    const get = (path: string) => inspect(`${service.url}/console/${path}`, { headers: bearer(secret) })
    const snapshot = answerOf(snapshotSchema, (await get('snapshot')).json)
    expect(snapshot.lanes.map(({ sender }) => sender)).toEqual([mine.cloudLane])
    expect([snapshot.lanes_total, snapshot.totals.waiting]).toEqual([1, 0])
    const { points } = answerOf(seriesSchema, (await get('history')).json)
    expect(points.every(({ accepted }) => accepted === 0)).toBe(true)
    expect((await get(`history?sender=${mine.cloudLane}`)).status).toBe(200)
    expect((await get(`history?sender=${mine.partnerLane}`)).status).toBe(403)
    const { events, reading } = await follow(secret, undefined, '?limit=1')
    await reading
    expect(events.join()).not.toContain(`"sender":${mine.partnerLane},`)
  })

  test('says who paused a lane, and for what', async () => {
    const { secret } = await keyOf(mine, 'admin')
    const paused = await inspect(`${service.url}/admin/lanes/${mine.cloudLane}/pause`, {
      method: 'POST',
      headers: { ...bearer(secret), 'content-type': 'application/json' },
      body: JSON.stringify({ reason: HOSTILE }),
    })
    expect(paused.status).toBe(200)
    const lane = await eventually(async () => {
      const found = laneIn(await snapshotOf(mine), mine.cloudLane)
      return found?.state === 'paused' ? found : undefined
    }, 'the lane is paused')
    expect(lane).toMatchObject({ by: 'Ada', reason: HOSTILE })
    const resumed = await inspect(`${service.url}/admin/lanes/${mine.cloudLane}/resume`, {
      method: 'POST',
      headers: bearer(secret),
    })
    expect(resumed.status).toBe(200)
  })

  test('adds up: of a campaign, its states are its total', async () => {
    const snapshot = await snapshotOf(mine)
    for (const campaign of snapshot.campaigns) {
      const { queued, sending, sent, delivered, read, failed, expired, cancelled, unconfirmed, unknown } = campaign
      expect(queued + sending + sent + delivered + read + failed + expired + cancelled + unconfirmed + unknown).toBe(
        campaign.total,
      )
    }
  })
})

describe('a stream', () => {
  test('begins with a snapshot, is named, and lets no text make up an event', async () => {
    await service.redis.hset(senderKey(mine.cloudLane), 'name', HOSTILE)
    const { secret } = await keyOf(mine, 'messages:read')
    const { answer, events, reading } = await follow(secret, undefined, '?limit=2')
    await reading
    await service.redis.hset(senderKey(mine.cloudLane), 'name', 'cloud')
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(events).toHaveLength(2)
    const snapshots = events.map((event) => {
      const [, at, data = ''] = /id: (.*)\nevent: snapshot\ndata: (.*)$/s.exec(event) ?? []
      expect(data).not.toContain('\n')
      const snapshot = snapshotSchema.parse(JSON.parse(data))
      expect(at).toBe(snapshot.at)
      return snapshot
    })
    // The first one may be of the moment before.
    expect(laneIn(z.array(snapshotSchema).min(2).parse(snapshots)[1] as Snapshot, mine.cloudLane)?.name).toBe(HOSTILE)
  })

  test('of changes begins whole, and each change makes the next snapshot of the one before', async () => {
    const { secret } = await keyOf(mine, 'messages:read')
    const { events, reading } = await follow(secret, undefined, '?limit=4&changes=true')
    await reading
    const told = events.filter((event) => event.includes('event: '))
    expect(told.map((event) => /event: (\w+)/.exec(event)?.[1])).toEqual(['snapshot', 'change', 'change', 'change'])
    const data = told.map((event): unknown => JSON.parse(/data: (.*)$/s.exec(event)?.[1] ?? ''))
    let snapshot: Snapshot | undefined = snapshotSchema.parse(data[0])
    for (const change of data.slice(1)) snapshot = snapshot && changed(snapshot, change as SnapshotChange)
    expect(snapshotSchema.parse(snapshot).lanes_total).toBe(2)
    const sizes = told.map((event) => event.length)
    expect(Math.max(...sizes.slice(1))).toBeLessThan((sizes[0] ?? 0) / 2)
  })

  test('ends when its key is revoked', async () => {
    const { id, secret } = await keyOf(mine, 'messages:read')
    const { isOver, events } = await follow(secret)
    await eventually(async () => events.length > 0, 'the first snapshot')
    await revokeCredential(service.redis, mine.account, id)
    await eventually(async () => isOver(), 'the stream is over')
  })

  test('costs one snapshot a second, whoever looks, and none when nobody does', async () => {
    const snapshots = createSnapshots(service.redis)
    const taken: unknown[] = []
    const streams = createSnapshotStreams({
      take: (whose) => {
        taken.push(whose)
        return snapshots.take(whose)
      },
      log: silentLog,
      everyMs: 100,
    })
    const tabs = await Promise.all(
      Array.from({ length: 5 }, () =>
        streams.open({ whose: whoseOf(mine), limit: 5, mayStill: () => Promise.resolve() }),
      ),
    )
    const texts = await Promise.all(tabs.map((tab) => tab.setEncoding('utf8').toArray()))
    expect(texts.map((text) => text.join('').split('event: snapshot').length - 1)).toEqual([5, 5, 5, 5, 5])
    expect(taken).toEqual(Array(5).fill(whoseOf(mine)))
    await eventually(async () => streams.count() === 0, 'no stream is left')
    const before = taken.length
    await Promise.all([streams.once(whoseOf(mine)), streams.once(whoseOf(mine)), streams.once(whoseOf(mine))])
    expect(taken.length - before).toBeLessThanOrEqual(1)
    streams.close()
  })

  test('that is read too slowly is cut off, and the others go on', async () => {
    const big = await createSnapshots(service.redis).take(whoseOf(mine))
    const large: Snapshot = { ...big, failures: [{ code: 'x', meaning: 'y'.repeat(200_000), count: 1 }] }
    const streams = createSnapshotStreams({ take: async () => large, log: silentLog, everyMs: 20 })
    const open = () => streams.open({ whose: whoseOf(mine), limit: undefined, mayStill: () => Promise.resolve() })
    const [slow, quick] = [await open(), await open()]
    let read = 0
    quick.on('data', () => {
      read += 1
    })
    await eventually(async () => slow.destroyed, 'the slow one is cut off')
    const soFar = read
    await eventually(async () => read > soFar + 2, 'the other one goes on')
    expect(streams.count()).toBe(1)
    streams.close()
    await eventually(async () => streams.count() === 0, 'none is left')
  })

  test('has its bound', async () => {
    const empty = await createSnapshots(service.redis).take(whoseOf(mine))
    const streams = createSnapshotStreams({ take: async () => empty, log: silentLog, everyMs: 10_000 })
    const reader = { whose: whoseOf(mine), limit: undefined, mayStill: () => Promise.resolve() }
    for (let i = 0; i < 200; i += 1) await streams.open(reader)
    expect(streams.isFull()).toBe(true)
    streams.close()
    expect(streams.count()).toBe(0)
  })
})

test('the history has a point for every period, and counts what was accepted', async () => {
  const { secret } = await keyOf(mine, 'messages:read')
  const history = async (query: string) => {
    const answer = await inspect(`${service.url}/console/history?${query}`, { headers: bearer(secret) })
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

test('a history that is asked for again is what one that is read whole is, with what was counted meanwhile', async () => {
  const of = { name: 'mine', lanes: async () => [mine.partnerLane, mine.cloudLane] }
  const read = createSeriesReader(service.redis, 1)
  const sum = async (reader: typeof read, span: 'hour' | 'week') =>
    (await reader(of, span)).points.reduce((all, { accepted }) => all + accepted, 0)
  const before = await sum(read, 'hour')
  await send(mine, 3)
  await eventually(async () => (await sum(read, 'hour')) === before + 3, 'three more were accepted', 20_000)
  for (const span of ['hour', 'week'] as const) {
    expect(await sum(read, span)).toBe(before + 3)
    expect(await sum(createSeriesReader(service.redis), span)).toBe(before + 3)
  }
})

test('once a worker is there the lanes send, and a producer that stops ends its streams', async () => {
  await service.startWorker()
  const snapshot = await eventually(async () => {
    const taken = await snapshotOf(mine)
    return taken.totals.waiting === 0 && taken.workers.length === 1 ? taken : undefined
  }, 'nothing waits')
  expect(snapshot.workers[0]).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+/), host: expect.any(String) })
  expect(snapshot.redis.safety.map(({ name: setting }) => setting)).toEqual([
    'version',
    'maxmemory-policy',
    'appendonly',
    'appendfsync',
  ])
  const { secret } = await keyOf(mine, 'messages:read')
  const { events, reading } = await follow(secret)
  await eventually(async () => events.length > 1, 'a second snapshot')
  const began = performance.now()
  await service.close()
  await reading
  expect(performance.now() - began).toBeLessThan(9_000)
})
