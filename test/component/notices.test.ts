// Pins: how notices are kept: pages without gaps or repeats while others come, each once however often it is told, bounded
// in time, in number and by kind, so that a flood of one kind pushes no other out. Real: Redis.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  MOST_A_MINUTE,
  MOST_NOTICES,
  NOTICES_KEPT_MS,
  type Notice,
  type NoticeDocument,
} from '../../src/model/notice.ts'
import { forgetNotices, isNoticeCursor, keepNotice, readNotices } from '../../src/reports/notices.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { endMinute, noticesLive } from '../support/state/notices.ts'

const NOW = Date.now()
const MINUTE = 60_000

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())
let account = 100
beforeEach(() => {
  account += 1
})

const noticeOf = (n: number, more: Partial<Notice> = {}): Notice => ({
  ...{ at: NOW - n * 1_000, received_at: NOW, account, kind: 'security', field: 'security', event: 'PIN_CHANGED' },
  ...{ sentence: `number ${n}`, waba_id: '4711', lane: null, template: null, details: {} },
  ...more,
})
const keep = (notice: Notice, nowMs = NOW, isTimed = true) => keepNotice(world.redis, notice, { nowMs, isTimed })
/** Its kinds in turn, so that none comes too fast. */
const kindOf = (n: number): Partial<Notice> => ({ kind: `kind_${'abcdefghijklmnopqrst'[n % 20]}` })
const read = (limit: number, cursor?: string, nowMs = NOW) =>
  readNotices(world.redis, { account, limit, cursor }, nowMs)

async function all(limit: number): Promise<NoticeDocument[]> {
  const found: NoticeDocument[] = []
  for (let cursor: string | undefined; ; ) {
    const { notices, next } = await read(limit, cursor)
    found.push(...notices)
    if (next === null) return found
    expect(isNoticeCursor(next)).toBe(true)
    cursor = next
  }
}

test('pages list each notice once, the latest first, even if the one named by the cursor is gone', async () => {
  for (let n = 0; n < 25; n += 1) expect(await keep(noticeOf(n, kindOf(n)))).toBe('kept')
  const found = await all(10)
  expect(found.map(({ sentence }) => sentence)).toEqual(Array.from({ length: 25 }, (_, n) => `number ${n}`))
  const { next } = await read(10)
  // A newer one moves all others by a place.
  await keep(noticeOf(-5, kindOf(1)))
  const second = await read(10, next ?? '')
  expect(second.notices[0]?.sentence).toBe('number 10')
  const gone = await read(10, `${NOW - 9_500}.security.${'A'.repeat(22)}`)
  expect(gone.notices[0]?.sentence).toBe('number 10')
})

test('a repeated notice is kept once, and one without a time once a day', async () => {
  expect([await keep(noticeOf(1)), await keep({ ...noticeOf(1), received_at: NOW + 5 })]).toEqual(['kept', 'known'])
  const day = 86_400_000
  const noon = Math.floor(NOW / day) * day + day / 2
  const untimed = (atMs: number) => keep(noticeOf(0, { at: atMs, received_at: atMs, sentence: 'x' }), atMs, false)
  expect([await untimed(noon), await untimed(noon + 3_600_000), await untimed(noon + day)]).toEqual([
    'kept',
    'known',
    'kept',
  ])
  expect(await all(10)).toHaveLength(3)
})

test('in a flood of one kind the first of each minute are kept, and the next one counts those left out', async () => {
  for (let n = 0; n < MOST_A_MINUTE + 7; n += 1) await keep(noticeOf(n))
  expect(await keep(noticeOf(500, { kind: 'account_update', field: 'account_update' }))).toBe('kept')
  const found = await all(100)
  expect(found).toHaveLength(MOST_A_MINUTE + 1)
  await endMinute(world.redis, account, 'security')
  await keep(noticeOf(-9))
  expect((await read(1)).notices[0]).toMatchObject({ missed: 7 })
})

test('the number of notices is limited, and the kind with most loses its oldest', async () => {
  const rare = noticeOf(100_000, { kind: 'account_update' })
  await keep(rare)
  for (let n = 0; n < MOST_NOTICES + 20; n += 1) await keep(noticeOf(n, kindOf(n)))
  const found = await all(500)
  expect(found).toHaveLength(MOST_NOTICES)
  expect(found.at(-1)?.sentence).toBe(rare.sentence)
})

test('notices expire, both when read and in Redis', async () => {
  await keep(noticeOf(1))
  expect((await read(10, undefined, NOW + NOTICES_KEPT_MS)).notices).toEqual([])
  expect(await keep(noticeOf(1, { at: NOW - NOTICES_KEPT_MS - MINUTE }))).toBe('old')
  const live = await noticesLive(world.redis, account)
  expect(live.length).toBeGreaterThan(3)
  expect(Math.min(...live)).toBeGreaterThan(0)
  await forgetNotices(world.redis, account)
  expect(await noticesLive(world.redis, account)).toEqual([])
})
