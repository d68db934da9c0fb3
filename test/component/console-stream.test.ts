// Pins: the stream of the console tells once a second however many look, is cut off for a reader that is too slow, and ends
// when its reader may no longer see it. Real: Redis, HTTP, producer.
import { once } from 'node:events'
import { get, IncomingMessage } from 'node:http'
import { expect } from 'vitest'
import { z } from 'zod'
import { revokeCredential } from '../../src/accounts/credentials.ts'
import { createSnapshotStreams } from '../../src/producer/api/console/snapshot-streams.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { type Snapshot, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { changed, type SnapshotChange } from '../../src/telemetry/snapshot-change.ts'
import { silentLog } from '../support/app.ts'
import { follow, HOSTILE_TEXT, keyOf, laneIn, scopeOf } from '../support/console-reader.ts'
import { serviceTest } from '../support/fixtures.ts'
import { slowness } from '../support/machine.ts'
import type { Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

const test = serviceTest({ worker: false })

test('a stream begins with a snapshot, is named, and no text in it can forge an event', async ({ service, tenant }) => {
  await senderRecord(service.redis, tenant.cloudLane).change({ name: HOSTILE_TEXT })
  const { secret } = await keyOf(service, tenant, 'messages:read')
  const { answer, events, reading } = await follow(service, secret, '?limit=2')
  await reading
  await senderRecord(service.redis, tenant.cloudLane).change({ name: 'cloud' })
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
  expect(laneIn(z.array(snapshotSchema).min(2).parse(snapshots)[1] as Snapshot, tenant.cloudLane)?.name).toBe(
    HOSTILE_TEXT,
  )
})

test('a stream of changes begins with a whole snapshot, and each change turns it into the next', async ({
  service,
  tenant,
}) => {
  const { secret } = await keyOf(service, tenant, 'messages:read')
  const { events, reading } = await follow(service, secret, '?limit=4&changes=true')
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

test('a HEAD request for a stream is answered at once and keeps nothing open', async ({ service, tenant }) => {
  const { secret } = await keyOf(service, tenant, 'messages:read')
  const asked = { method: 'HEAD', signal: AbortSignal.timeout(300_000) }
  const answer = await service.api.as(secret).open('/console/stream', asked)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
})

test('a stream ends when its key is revoked', async ({ service, tenant }) => {
  const { id, secret } = await keyOf(service, tenant, 'messages:read')
  const { isOver, events } = await follow(service, secret)
  await eventually(async () => events.length > 0, 'the first snapshot')
  await revokeCredential(service.redis, tenant.account, id)
  await eventually(async () => isOver(), 'the stream is over')
})

test('a stream costs one snapshot a second, however many watch, and none when nobody does', async ({
  service,
  tenant,
}) => {
  const snapshots = createSnapshots(service.redis)
  const taken: unknown[] = []
  const streams = createSnapshotStreams({
    take: (scope) => {
      taken.push(scope)
      return snapshots.take(scope)
    },
    log: silentLog,
    everyMs: 100,
  })
  const tabs = await Promise.all(
    Array.from({ length: 5 }, () =>
      streams.open({ scope: scopeOf(tenant), limit: 5, assertStillAllowed: () => Promise.resolve() }),
    ),
  )
  const texts = await Promise.all(tabs.map((tab) => tab.setEncoding('utf8').toArray()))
  expect(texts.map((text) => text.join('').split('event: snapshot').length - 1)).toEqual([5, 5, 5, 5, 5])
  expect(taken).toEqual(Array(5).fill(scopeOf(tenant)))
  await eventually(async () => streams.count() === 0, 'no stream is left')
  const before = taken.length
  await Promise.all([streams.once(scopeOf(tenant)), streams.once(scopeOf(tenant)), streams.once(scopeOf(tenant))])
  expect(taken.length - before).toBeLessThanOrEqual(1)
  streams.close()
})

test('a stream that is read too slowly is cut off, and the others go on', async ({ service, tenant }) => {
  const big = await createSnapshots(service.redis).take(scopeOf(tenant))
  const large: Snapshot = { ...big, failures: [{ code: 'x', meaning: 'y'.repeat(200_000), count: 1 }] }
  const streams = createSnapshotStreams({ take: async () => large, log: silentLog, everyMs: 20 })
  const open = () =>
    streams.open({ scope: scopeOf(tenant), limit: undefined, assertStillAllowed: () => Promise.resolve() })
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

test('when all streams are in use, the account with most ends its oldest for an account with fewer', async ({
  service,
  tenant,
}) => {
  const empty = await createSnapshots(service.redis).take(scopeOf(tenant))
  const streams = createSnapshotStreams({ take: async () => empty, log: silentLog, everyMs: 10_000 })
  const readerOf = (account: number) => ({
    ...{ scope: { account, senders: [] }, limit: undefined, assertStillAllowed: () => Promise.resolve() },
  })
  const open = (account: number) => streams.open(readerOf(account))
  const has = (account: number) => streams.hasRoomFor(readerOf(account).scope)
  const first = await open(1)
  for (let n = 1; n < 150; n += 1) await open(1)
  while (streams.count() < 200) await open(2)
  expect([has(1), has(2), has(3)]).toEqual([false, true, true])
  expect(first.readableEnded).toBe(false)
  first.resume()
  const ended = once(first, 'end')
  await open(3)
  await ended
  expect(streams.count()).toBe(200)
  streams.close()
  expect(streams.count()).toBe(0)
})

test('an account with as many streams as it may have leaves room for those of others', async ({ service, tenant }) => {
  const answers: IncomingMessage[] = []
  const open = async (of: Tenant): Promise<number | undefined> => {
    const { secret } = await keyOf(service, of, 'messages:read')
    const headers = { authorization: `Bearer ${secret}` }
    const [answer] = await once(get(`${service.url}/console/stream`, { headers, agent: false }), 'response')
    answers.push(z.instanceof(IncomingMessage).parse(answer))
    return answers.at(-1)?.statusCode
  }
  try {
    while ((await open(tenant)) === 200);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([...Array(200).fill(200), 503])
    expect(await open(await service.addTenant())).toBe(200)
  } finally {
    for (const answer of answers) answer.destroy()
  }
})

test('a stream ends when its producer stops', async ({ service, tenant }) => {
  const { secret } = await keyOf(service, tenant, 'messages:read')
  const { events, reading } = await follow(service, secret)
  await eventually(async () => events.length > 1, 'a second snapshot')
  const began = performance.now()
  await service.close()
  await reading
  expect(performance.now() - began).toBeLessThan(9_000 * (await slowness()))
})
