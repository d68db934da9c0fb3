// Pins: a worker's command that Redis has carried out, and whose reply was lost with the connection, is sent again and
// counts once all the same. Real: Redis, connections that break.
import { createConnection, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countErased } from '../../src/erase/erasures.ts'
import { listAttempts, noteAttempt } from '../../src/events/store/attempts.ts'
import { countReopened, timesReopened } from '../../src/lanes/wake.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import { notePreflightStarts } from '../../src/recipients/preflight-starts.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { erasureRecord } from '../support/state/accounts.ts'
import { campaignRecord } from '../support/state/messages.ts'
import { listen } from '../testbed/free-port.ts'

let server: TestRedis
let redis: Redis
let direct: Redis
/** Replies that are passed on before the connection breaks in place of the next one. */
let passed = Number.POSITIVE_INFINITY
let broken = 0
const sockets = new Set<Socket>()
const between = createServer((client) => {
  const to = createConnection(server.port, '127.0.0.1')
  for (const each of [client, to]) sockets.add(each.on('error', () => {}))
  client.pipe(to)
  to.on('data', (replies) => {
    if (passed > 0) {
      passed -= 1
      client.write(replies)
      return
    }
    passed = Number.POSITIVE_INFINITY
    broken += 1
    client.destroy()
    to.destroy()
  })
})

beforeAll(async () => {
  server = await startRedis()
  const port = await listen(between)
  redis = connectWithRetry(`redis://127.0.0.1:${port}`)
  direct = connectWithRetry(server.url)
  await Promise.all([readyOrLate(redis, 300_000), readyOrLate(direct, 300_000)])
})
afterAll(async () => {
  redis?.disconnect()
  direct?.disconnect()
  for (const socket of sockets) socket.destroy()
  between.close()
  await server?.stop()
})

/** Does some work once for each reply that it waits for, and loses that one; calls `check` after each. */
async function losingEachReply(work: (place: number) => Promise<unknown>, check: (place: number) => Promise<void>) {
  for (let place = 0; ; place += 1) {
    await readyOrLate(redis, 300_000)
    const before = broken
    passed = place
    await work(place)
    passed = Number.POSITIVE_INFINITY
    await check(place)
    if (broken === before) {
      expect(place).toBeGreaterThan(0)
      return
    }
  }
}

test('the starts of a preflight are counted once although the command is resent', async () => {
  const id = { lane: 1, number: 1, epoch: 1 }
  const record = campaignRecord(direct, id)
  await record.change({ epoch: 1, preflight_starts: 0 })
  await losingEachReply(
    (place) => notePreflightStarts(redis, id, place + 1),
    async (place) => expect(await record.field('preflight_starts')).toBe(String(place + 1)),
  )
  // Of a check that somebody has begun since nothing is counted, nor of a campaign that is no more.
  await notePreflightStarts(redis, { ...id, epoch: 2 }, 9)
  await notePreflightStarts(redis, { ...id, number: 2 }, 9)
  expect(await record.field('preflight_starts')).not.toBe('9')
  expect(await findCampaign(direct, { lane: 1, number: 2 })).toBeUndefined()
})

test('what an erasure found is counted once although the command is resent', async () => {
  await losingEachReply(
    () => countErased(redis, 'er_1', 'messages', 5),
    async (place) => expect(await erasureRecord(direct, 'er_1').field('messages')).toBe(String(5 * (place + 1))),
  )
})

test('the reopenings of a lane are counted once although the command is resent', async () => {
  await losingEachReply(
    () => countReopened(redis, 1),
    async (place) => expect(await timesReopened(direct, 1)).toBe(place + 1),
  )
})

test('the attempts of an endpoint are listed once although the command is resent', async () => {
  const nowMs = Date.now()
  const attempt = {
    ...{ at: new Date(nowMs).toISOString(), ok: true, events: 1, types: ['message.sent'], attempt: 1, status: 204 },
    ...{ problem: null, took_ms: 3, answer: '', retry_at: null },
  }
  await losingEachReply(
    (place) => noteAttempt(redis, 1, 'ep_1', { ...attempt, delivery: `evt_${place}` }),
    async (place) => {
      const found = await listAttempts(direct, 1, 'ep_1', { limit: 100, cursor: undefined, nowMs })
      expect(found?.attempts.map(({ delivery }) => delivery)).toEqual(
        Array.from({ length: place + 1 }, (_each, i) => `evt_${place - i}`),
      )
    },
  )
})
