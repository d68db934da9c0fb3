// Pins: what a lane has in flight, how long its provider takes to answer and what bounds it are the same in the heartbeat of
// the worker, in the metrics and in the console's snapshot. Real: Redis, HTTP, producer, worker, a WhatsApp that takes
// 300 ms to answer.
import { afterEach, expect, test } from 'vitest'
import { pauseLane } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { readLiveWorkers, removeHeartbeat, sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { startWorker } from '../../src/worker/main.ts'
import { silentLog } from '../support/app.ts'
import { laneIn, scopeOf } from '../support/console-reader.ts'
import { slowness } from '../support/machine.ts'
import { audioTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const ANSWER_MS = 300

let service: Service | undefined
let stopWorker: (() => Promise<void>) | undefined
afterEach(async () => {
  await stopWorker?.()
  await service?.close()
  stopWorker = undefined
})

/** A service scope provider takes its time, with a lane of this rate and messages on it, and one worker. */
async function sending({ rate, messages, maxInFlight }: { rate: number; messages: number; maxInFlight: number }) {
  const made = await startService({ worker: false })
  service = made
  await fetch(`${made.simulator.url}/_control`, {
    method: 'POST',
    body: JSON.stringify({ answer_delay_ms: ANSWER_MS }),
  })
  const tenant = await made.addTenant({ rate })
  const each = Array.from({ length: messages }, (_, i) => audioTo(`+4917000${String(30_000 + i)}`))
  for (let at = 0; at < messages; at += 1_000) {
    expect((await tenant.api.post('/messages/batch', { messages: each.slice(at, at + 1_000) })).status).toBe(200)
  }
  // Each scrape reads anew.
  let clock = 0
  const telemetry = createTelemetry({
    clock: () => {
      clock += 10_000
      return clock
    },
  })
  const worker = await startWorker({ ...made.config, maxInFlight }, made.server.url, silentLog, telemetry)
  stopWorker = worker.close
  return { made, tenant, lane: tenant.partnerLane, telemetry, worker: worker.name }
}

/** What the heartbeat says of a lane. */
async function servedBy({ redis }: Service, worker: string, lane: number) {
  const { workers } = await readLiveWorkers(redis)
  const facts = workers.find(({ id }) => id === worker)?.facts
  return { facts, served: facts?.serves.find((each) => each.lane === lane) }
}

/** Values of the series of a metric: what is between its braces → value. */
const seriesOf = (text: string, name: string): Record<string, number> =>
  Object.fromEntries(
    Array.from(text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (.*)$`, 'gm')), ([, labels = '', value]) => [
      labels,
      Number(value),
    ]),
  )

const snapshotLane = async ({ redis }: Service, tenant: Tenant) =>
  laneIn(await createSnapshots(redis).take(scopeOf(tenant)), tenant.partnerLane)

test('a lane at its pace has pace times answer time in flight', async () => {
  // Two minutes' worth: a slow machine takes its time to read all of this.
  const { made, tenant, lane, telemetry, worker } = await sending({ rate: 40, messages: 4_800, maxInFlight: 6_000 })
  // A machine that stands still lets all come in that is in flight, and then sends what it has missed: what one heartbeat
  // tells may be of such a moment, and the next one is not.
  const { facts, served } = await eventually(async () => {
    const found = await servedBy(made, worker, lane)
    const { bound, p50Ms, inFlight = 0 } = found.served ?? {}
    if (bound !== 'pace' || p50Ms === undefined) return undefined
    // A busy machine takes longer to hand an answer over, and then more is in flight.
    const slower = await slowness()
    // 40 a second, 0.3 s: twelve, and what is claimed ahead of its slot.
    const isUsual = inFlight > 5 && inFlight < 40 * slower && p50Ms < ANSWER_MS * 2 * slower
    if (!isUsual)
      throw new Error(`${inFlight} in flight, answers take ${p50Ms} ms, the machine is ${slower} times slower`)
    return found
  }, 'a heartbeat tells of the pace, and of as much in flight as that comes to')
  expect(served?.p50Ms).toBeGreaterThan(ANSWER_MS * 0.95)
  expect(served?.p99Ms).toBeGreaterThanOrEqual(served?.p50Ms ?? 0)
  expect(facts).toMatchObject({ maxInFlight: 6_000 })
  expect(facts?.inFlight).toBe(served?.inFlight)

  const own = `lane="${lane}"`
  const text = await eventually(async () => {
    const found = await telemetry.text(made.redis)
    const isBound = seriesOf(found, 'laneway_lane_bound')[`${own},by="pace"`] === 1
    return isBound && (seriesOf(found, 'laneway_lane_in_flight')[own] ?? 0) > 5 && found
  }, 'the metrics tell of the pace, and of what is in flight')
  expect(Object.keys(seriesOf(text, 'laneway_lane_bound'))).toHaveLength(1)
  const answers = seriesOf(text, 'laneway_lane_answer_seconds')
  expect(answers[`${own},quantile="0.5"`]).toBeGreaterThan(0.95 * (ANSWER_MS / 1_000))
  expect(answers[`${own},quantile="0.99"`]).toBeGreaterThanOrEqual(answers[`${own},quantile="0.5"`] ?? 0)
  expect(seriesOf(text, 'laneway_worker_in_flight')['']).toBeGreaterThan(0)
  expect(seriesOf(text, 'laneway_worker_in_flight_max')).toEqual({ '': 6_000 })

  const shown = await eventually(async () => {
    const found = await snapshotLane(made, tenant)
    return found?.bound === 'pace' && found.in_flight > 5 && found
  }, 'the console tells of the pace, and of what is in flight')
  expect(shown).toMatchObject({ answer_p50_s: expect.any(Number), answer_p99_s: expect.any(Number) })

  const queues = openLaneQueues(made.redis)
  await pauseLane(made.redis, queues, lane, { reason: 'stock-taking', by: 'Ada' })
  await queues.close()
  const paused = seriesOf(await telemetry.text(made.redis), 'laneway_lane_bound')
  expect(paused).toEqual({ [`${own},by="pause"`]: 1 })
  expect(await snapshotLane(made, tenant)).toMatchObject({ bound: 'pause', state: 'paused' })
})

test('a lane whose worker may have few messages in flight is bound by memory, and the worker is full', async () => {
  const { made, tenant, lane, telemetry, worker } = await sending({ rate: 1_000, messages: 2_000, maxInFlight: 5 })
  // Between an answer and the next claim it has fewer.
  const { served, facts } = await eventually(async () => {
    const found = await servedBy(made, worker, lane)
    return found.served?.p50Ms !== undefined && found.served.inFlight === 5 ? found : undefined
  }, 'a heartbeat tells of answers')
  expect(served).toMatchObject({ bound: 'memory' })
  expect(facts).toMatchObject({ inFlight: 5, maxInFlight: 5 })
  const text = await eventually(async () => {
    const found = await telemetry.text(made.redis)
    return seriesOf(found, 'laneway_worker_in_flight')[''] === 5 && found
  }, 'the metrics tell that the worker is full')
  expect(seriesOf(text, 'laneway_lane_bound')).toEqual({ [`lane="${lane}",by="memory"`]: 1 })
  // By now there may be a later heartbeat, of such a moment.
  await eventually(async () => (await snapshotLane(made, tenant))?.bound === 'memory', 'the console tells it as well')
  const { workers } = await createSnapshots(made.redis).take()
  expect(workers).toMatchObject([{ max_in_flight: 5 }])
})

test('heartbeats of another version are read as far as this version knows their fields', async () => {
  const made = await startService({ worker: false })
  service = made
  const facts = { host: 'h', pid: 7, startedAt: Date.now(), version: '0.0.9', lanes: 1 }
  await sendHeartbeat(made.redis, 'older', { ...facts, serves: [{ lane: 1, inFlight: 2, answerMs: 300 }] })
  const newer = { lane: 1, inFlight: 3, p50Ms: 1, p99Ms: 2, bound: 'the moon', later: true }
  await sendHeartbeat(made.redis, 'newer', JSON.parse(JSON.stringify({ ...facts, serves: [newer] })))
  const { count, workers } = await readLiveWorkers(made.redis)
  expect(count).toBe(2)
  const byId = new Map(workers.map(({ id, facts: said }) => [id, said]))
  expect(byId.get('older')?.serves).toEqual([{ lane: 1, inFlight: 2, answerMs: 300 }])
  expect(byId.get('newer')?.serves).toMatchObject([{ lane: 1, inFlight: 3, p50Ms: 1, p99Ms: 2 }])
  expect(byId.get('newer')?.serves[0]?.bound).toBeUndefined()
  const snapshot = await createSnapshots(made.redis).take()
  expect(snapshot.workers).toMatchObject([{ max_in_flight: null }, { max_in_flight: null }])
  for (const id of ['older', 'newer']) await removeHeartbeat(made.redis, id)
})
