// Pins: a campaign survives its worker being killed (kill -9) whenever its cursor has moved: every recipient gets the
// message once, or is flagged, and the figures add up at every reading.
// Real: Redis, producer, the worker as the process that people run. Stood in for: WhatsApp.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setSenderRate } from '../../src/accounts/senders.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { type CampaignService, startCampaigns, sumOf } from '../support/campaigns.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

const KILLS = 2
/**
 * On so slow a lane 200 recipients wait at most, so that no machine is quick enough to feed everybody before the last kill:
 * a worker sends what waits, and the first thing its fan-out does then moves the cursor.
 */
const RATE = 100
const PEOPLE = 1_000
const TIMES = { LANEWAY_SEND_TIMEOUT_SECONDS: '10', LANEWAY_UNCONFIRMED_WAIT_SECONDS: '1' }
/**
 * What a kill can leave unproven. More at once would meet the time limit on a busy machine, which looks like a bad
 * campaign and pauses it.
 */
const IN_FLIGHT = 100

let service: CampaignService
let queues: LaneQueues
let worker: TestProcess | undefined

beforeAll(async () => {
  service = await startCampaigns({ env: TIMES, worker: false, rate: RATE })
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  worker?.kill('SIGKILL')
  await worker?.ended
  await queues?.close()
  await service?.close()
})

function startWorker(): TestProcess {
  const { server, config } = service
  const own = { REDIS_URL: server.url, LANEWAY_DATA_DIR: config.dataDir, LANEWAY_MAX_IN_FLIGHT: String(IN_FLIGHT) }
  const env = { ...TIMES, ...own, LANEWAY_LOG_LEVEL: 'warn' }
  return startProcess(process.execPath, ['dist/start/worker.js'], env)
}

const next = async (id: string): Promise<number> => (await service.record(id))?.next ?? 0

async function looksRight(id: string): Promise<void> {
  const seen = await service.show(id)
  // What the kills leave unproven is no sign of a bad campaign, and must not trip its circuit breaker.
  expect(seen).toMatchObject({ state: 'running', reason: null })
  expect(sumOf(seen)).toBe(PEOPLE)
}

/** Waits until the cursor is past this place, and looks at the campaign now and then. */
async function moves(id: string, past: number): Promise<void> {
  for (let looks = 0; (await next(id)) <= past; looks += 1) {
    if (looks % 10 === 0) await looksRight(id)
    await pause(10)
  }
}

test('a campaign whose worker is killed when its cursor moves reaches everybody once, or flags whom it may not have reached', async () => {
  worker = startWorker()
  const { tag, phones } = await service.addPeople(PEOPLE)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  let cursor = 0
  for (let kills = 0; kills < KILLS; kills += 1) {
    await moves(id, cursor)
    worker.kill('SIGKILL')
    await worker.ended
    cursor = await next(id)
    expect(cursor).toBeLessThan(PEOPLE)
    worker = startWorker()
    await looksRight(id)
  }
  await setSenderRate(service.redis, service.lane, 100_000)
  expect(sumOf(await service.reaches(id, 'done', 300_000))).toBe(PEOPLE)
  // What WhatsApp says of the last messages may come later.
  const done = await eventually(async () => {
    const now = await service.show(id)
    return Number(now.progress.read) + Number(now.progress.unknown) === PEOPLE && now
  }, 'all are read or unknown')

  const ledger = await service.ledger()
  expect(new Set(ledger).size).toBe(ledger.length)
  const { text } = await service.request('GET', `/campaigns/${id}/export?format=ndjson`)
  const states = new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
      .map(({ recipient, state }) => [String(recipient), String(state)]),
  )
  expect([...states.keys()].sort()).toEqual([...phones].sort())
  const sent = new Set(ledger)
  // Everybody who got nothing is flagged, and nobody is said to have got what they did not get.
  for (const [phone, state] of states)
    expect(sent.has(phone) ? state : `${state}, not sent`).toMatch(/^(read|unknown|unknown, not sent)$/)
  const flagged = [...states.values()].filter((state) => state === 'unknown').length
  expect(done.progress.unknown).toBe(flagged)
  expect(flagged).toBeLessThanOrEqual(KILLS * IN_FLIGHT)
})
