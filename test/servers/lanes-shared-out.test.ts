// Pins: with many lanes each is served by two workers, by two others within 15 s when one is killed or comes, and sends all
// the while; with few lanes by all. Real: Redis, producer, workers as processes. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { slowness } from '../support/machine.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { lanesKnown, workersHeardOf } from '../support/state/accounts.ts'
import { addSilently, serversOf } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const WORKERS = 4
const TENANTS = 10
/** A rate for which two workers are enough. */
const RATE = 80
/** So many lanes that four workers are too few for every one of them to serve each. */
const MANY_LANES = 500
const MOVED_WITHIN_MS = 15_000

let service: Service
let tenants: Tenant[]
const workers: TestProcess[] = []
const gone = new Set<TestProcess>()
beforeAll(async () => {
  service = await startService({ worker: false })
  tenants = await Promise.all(Array.from({ length: TENANTS }, () => service.addTenant({ rate: RATE })))
  for (let i = 0; i < WORKERS; i += 1) startWorker()
  await eventually(async () => (await workersHeardOf(service.redis).count()) === WORKERS, 'all workers are alive')
  const queues = openLaneQueues(service.redis)
  // A message for later keeps its lane open, so that there is time to look.
  for (const { partnerLane: lane } of tenants) {
    await addSilently(service.redis, lane, 'for-later', {}, 3_600_000)
    queues.wake(lane)
  }
  await queues.close()
})
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await Promise.all(workers.map(({ ended }) => ended))
  await service?.close()
})

function startWorker(): void {
  const { server, config } = service
  const env = { REDIS_URL: server.url, LANEWAY_DATA_DIR: config.dataDir, LANEWAY_LOG_LEVEL: 'warn' }
  workers.push(startProcess(process.execPath, ['dist/start/worker.js'], env))
}

/** How many of these workers that live serve each lane. */
function servers(among = workers): Promise<number[]> {
  const pids = among.filter((worker) => !gone.has(worker)).map(({ pid }) => pid)
  return serversOf(
    service.redis,
    tenants.map(({ partnerLane }) => partnerLane),
    pids,
  )
}

const haveEach = (count: number, why: string, limitMs?: number): Promise<unknown> =>
  eventually(async () => (await servers()).every((each) => each === count), why, limitMs)

async function allSend(): Promise<void> {
  await Promise.all(
    tenants.map(async (tenant) => reaches(service, tenant, await sendTo(service, tenant, '+491700000001'), 'read')),
  )
}

test('few lanes are served by every worker', async () => {
  await haveEach(WORKERS, 'every lane has every worker')
  await allSend()
})

test('each of many lanes is served by two workers', async () => {
  const others = Array.from({ length: MANY_LANES }, (_, i) => [1_000_000 + i, '1'])
  await lanesKnown(service.redis).change(Object.fromEntries(others))
  await haveEach(2, 'every lane has two workers', MOVED_WITHIN_MS)
  await allSend()
})

test('a killed worker is replaced on its lanes, which send meanwhile', async () => {
  const [victim] = workers
  victim?.kill('SIGKILL')
  await victim?.ended
  if (victim) gone.add(victim)
  // What the victim had open is gone with it: at least one of these lanes is short of a worker now.
  expect((await servers()).some((each) => each < 2)).toBe(true)
  await Promise.all([allSend(), haveEach(2, 'every lane has two workers again', MOVED_WITHIN_MS)])
})

test('a new worker takes over its lanes, and no other keeps them', async () => {
  startWorker()
  // By itself: that a lane has more than two is over within moments.
  await eventually(async () => (await servers(workers.slice(-1))).some((each) => each > 0), 'it has opened lanes')
  await haveEach(2, 'every lane has two workers', MOVED_WITHIN_MS)
  await allSend()
})

test('a worker that stops in order is replaced at once', async () => {
  const leaving = workers[1]
  const before = Date.now()
  leaving?.kill('SIGTERM')
  await leaving?.ended
  if (leaving) gone.add(leaving)
  await haveEach(2, 'every lane has two workers', 5_000)
  expect(Date.now() - before).toBeLessThan(20_000 * (await slowness()))
  await allSend()
})
