// Pins: the history counts each change of state once, however often it is reported or written, costs idle lanes nothing,
// stays within bounds, and goes by itself. Real: Redis, the steps of messages.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newAttemptId } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { observe } from '../../src/redis/observe.ts'
import { createHistoryBuffer, type HistoryBuffer, WHOLE } from '../../src/telemetry/history.ts'
import { readStats, writeHistory } from '../../src/telemetry/store/history.ts'
import { measureLanes } from '../../src/telemetry/store/installation.ts'
import { claim } from '../support/claim.ts'
import { runCli } from '../support/cli.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { historyNamesOf, historyOf } from '../support/state/accounts.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

let lanes: LaneRedis
let redis: Redis
let buffer: HistoryBuffer
/** The clock of the buffer. */
let now: number
beforeAll(async () => {
  lanes = await startLaneRedis()
  redis = lanes.redis
})
afterAll(() => lanes?.close())
beforeEach(() => {
  now = Date.now()
  buffer = createHistoryBuffer(() => now)
  observe(redis, buffer.observer)
})

/** The sum of all points since an hour ago, without what is 0. */
async function counted(lane: number): Promise<Record<string, unknown>> {
  const { points } = await readStats(redis, [lane], { sinceMs: now - HOUR, nowMs: now })
  const total: Record<string, number> = {}
  for (const { atMs: _atMs, failedBy, ...counts } of points) {
    for (const [name, count] of Object.entries({ ...counts, ...failedBy })) {
      if (count > 0) total[name] = (total[name] ?? 0) + count
    }
  }
  return total
}

async function sent(lane: number) {
  const [id, attempt] = [newId(lane), newAttemptId()]
  await claim(redis, id, attempt, { ...audioMessage, validUntil: Date.now() + HOUR }, LONG_TIMES)
  await recordStatus(redis, id, attempt, 'sent', { providerId: 'x' })
  return { id, status: (word: 'sent' | 'delivered' | 'read' | 'failed') => recordStatus(redis, id, attempt, word) }
}

describe('what happens to a message', () => {
  test('counts once, however often and in whatever order it comes', async () => {
    const lane = lanes.newLane()
    const message = await sent(lane)
    for (const word of ['sent', 'delivered', 'delivered', 'read', 'delivered', 'read', 'failed'] as const) {
      await message.status(word)
    }
    await writeHistory(redis, buffer)
    expect(await counted(lane)).toEqual({ sent: 1, delivered: 1, read: 1 })
  })

  test('is counted as failed with its code', async () => {
    const lane = lanes.newLane()
    const [id, attempt] = [newId(lane), newAttemptId()]
    await claim(redis, id, attempt, { ...audioMessage, validUntil: Date.now() + HOUR }, LONG_TIMES)
    for (const code of ['131047', '131047']) {
      await recordStatus(redis, id, attempt, 'failed', { problem: { code, sentence: 'No.' } })
    }
    await writeHistory(redis, buffer)
    expect(await counted(lane)).toEqual({ failed: 1, '131047': 1 })
  })

  test('counts once when it expires before its claim', async () => {
    const lane = lanes.newLane()
    const id = newId(lane)
    for (const attempt of [newAttemptId(), newAttemptId()]) {
      await claim(redis, id, attempt, { ...audioMessage, validUntil: 1 }, LONG_TIMES)
    }
    await writeHistory(redis, buffer)
    expect(await counted(lane)).toEqual({ expired: 1 })
  })
})

describe('a batch', () => {
  test('that is written twice because its answer was lost is counted once', async () => {
    const lane = lanes.newLane()
    buffer.observer.accepted({ lane, class: 'transactional', count: 3 })
    const repeated = [structuredClone(buffer.next())]
    await writeHistory(redis, buffer)
    await writeHistory(redis, { ...buffer, next: () => repeated.pop() })
    expect(await counted(lane)).toEqual({ accepted: 3 })
  })

  test('adds to what other processes counted in the same period', async () => {
    const lane = lanes.newLane()
    const other = createHistoryBuffer(() => now)
    for (const each of [buffer, other, buffer]) {
      each.observer.accepted({ lane, class: 'transactional', count: 1 })
      await writeHistory(redis, each)
    }
    expect(await counted(lane)).toEqual({ accepted: 3 })
  })

  test('that Redis does not accept is written later, and nothing in it twice', async () => {
    const [fine, broken] = [lanes.newLane(), lanes.newLane()]
    for (const lane of [fine, broken]) buffer.observer.accepted({ lane, class: 'transactional', count: 1 })
    const record = historyOf(redis, broken, '10s', Math.floor(now / HOUR))
    await record.ruin('no hash')
    await expect(writeHistory(redis, buffer)).rejects.toThrow('WRONGTYPE')
    await record.remove()
    await writeHistory(redis, buffer)
    expect(await counted(fine)).toEqual({ accepted: 1 })
    expect(await counted(broken)).toEqual({ accepted: 1 })
  })
})

describe('the stored history', () => {
  test('expires: after an hour for periods of 10 s, after a week for those of 5 min', async () => {
    const lane = lanes.newLane()
    buffer.observer.accepted({ lane, class: 'transactional', count: 1 })
    await writeHistory(redis, buffer)
    const fine = await historyOf(redis, lane, '10s', Math.floor(now / HOUR)).livesMs()
    const coarse = await historyOf(redis, lane, '5m', Math.floor(now / DAY)).livesMs()
    expect(fine).toBeGreaterThan(HOUR - 60_000)
    expect(fine).toBeLessThanOrEqual(2 * HOUR)
    expect(coarse).toBeGreaterThan(7 * DAY - 60_000)
    expect(coarse).toBeLessThanOrEqual(8 * DAY)
  })

  test('of a busy lane takes some 45 bytes a period', async () => {
    const lane = lanes.newLane()
    // Tomorrow, since what is over already would expire at once.
    const start = (Math.floor(now / DAY) + 1) * DAY
    const PERIODS = 50
    for (now = start; now < start + PERIODS * 10_000; now += 10_000) {
      buffer.observer.accepted({ lane, class: 'transactional', count: 800 })
      for (const to of ['sent', 'delivered', 'read'] as const) {
        buffer.observer.changed({ lane, class: 'transactional', from: 'sending', to, count: 260 })
      }
      buffer.measure(lane, 12_345, 17)
    }
    await writeHistory(redis, buffer)
    const record = historyOf(redis, lane, '10s', start / HOUR)
    const bytes = await record.bytesUsed()
    expect(await record.count()).toBe(PERIODS + 1)
    // docs/guides/operating/monitoring.md names what that comes to: 2 hours of 360 periods, 8 days of 288.
    expect(bytes / PERIODS).toBeLessThan(55)
  })

  test('counts a dozen codes of one period as eight and the rest', async () => {
    const lane = lanes.newLane()
    const codes = ['1', '2', '4', '10', '33', '100', '104', '190', '341', '368', '803']
    for (const code of codes) {
      buffer.observer.changed({ lane, class: 'transactional', from: 'sending', to: 'failed', code })
    }
    await writeHistory(redis, buffer)
    const { other, failed, ...named } = await counted(lane)
    expect([failed, other, Object.keys(named).length]).toEqual([11, 3, 8])
  })

  test('of a lane with nothing to do is empty', async () => {
    const [busy, idle] = [lanes.newLane(), lanes.newLane()]
    buffer.observer.accepted({ lane: busy, class: 'transactional', count: 1 })
    await writeHistory(redis, buffer)
    expect(await historyNamesOf(redis, idle, '*')).toEqual([])
  })
})

test('an hour is read in periods of 10 s, older times in 5 min', async () => {
  const lane = lanes.newLane()
  const today = now
  now = today - 3 * DAY
  buffer.observer.accepted({ lane, class: 'transactional', count: 1 })
  now = today
  buffer.observer.accepted({ lane, class: 'transactional', count: 2 })
  await writeHistory(redis, buffer)
  const lately = await readStats(redis, [lane], { sinceMs: now - HOUR, nowMs: now })
  expect(lately).toMatchObject({ everyMs: 10_000, points: [{ accepted: 2, atMs: now - (now % 10_000) }] })
  const week = await readStats(redis, [lane], { sinceMs: now - 7 * DAY, nowMs: now })
  expect(week.everyMs).toBe(300_000)
  expect(week.points.map(({ accepted }) => accepted)).toEqual([1, 2])
})

test('waiting messages are measured: how many, and how old the oldest is', async () => {
  const lane = lanes.newLane()
  for (let i = 0; i < 3; i += 1) await lanes.queues.add(`msg_${lane}_${newId(lane).ulid}`, audioJob())
  await measureLanes(redis, buffer)
  await writeHistory(redis, buffer)
  const { points } = await readStats(redis, [lane], { sinceMs: now - HOUR, nowMs: now })
  expect(points).toMatchObject([{ backlog: 3 }])
  expect(await counted(WHOLE)).toMatchObject({ backlog: expect.any(Number) })
})

describe('`stats`', () => {
  test('shows the counts of a lane as a table, and as JSON with --json', async () => {
    const lane = await lanes.addSender()
    buffer.observer.accepted({ lane, class: 'transactional', count: 7 })
    buffer.observer.changed({ lane, class: 'transactional', from: 'sending', to: 'failed', code: 'timeout' })
    await writeHistory(redis, buffer)
    const shown = await runCli(['stats', '--lane', String(lane)], { REDIS_URL: lanes.server.url })
    expect(shown.stdout).toMatch(/^accepted +7 +\| *█ *\|$/m)
    expect(shown.stdout).toContain('Failed by code: timeout: 1')
    const told = await runCli(['stats', '--lane', String(lane), '--since', '2h', '--json'], {
      REDIS_URL: lanes.server.url,
    })
    expect(JSON.parse(told.stdout)).toMatchObject({
      ...{ lane, every_seconds: 300 },
      points: [{ accepted: 7, failed: 1, failed_by: { timeout: 1 } }],
    })
  })

  test('reports a lane that does not exist', async () => {
    const refused = await runCli(['stats', '--lane', '999999'], { REDIS_URL: lanes.server.url })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('There is no lane 999999')
  })
})
