// Pins: what an older release wrote is brought up to date once, step by step, by one part at a time, also when that
// part dies in the middle; and a part that knows less than what it finds does not start. Real: Redis.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { addSender } from '../../src/accounts/add-sender.ts'
import { retainLaneUntil } from '../../src/accounts/retained-lanes.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { layoutOf, MIGRATIONS, type Migration, migrate, NewerLayoutError } from '../../src/redis/migrations.ts'
import { checkData } from '../../src/start/checks.ts'
import { startupErrorMessage } from '../../src/start/start-error.ts'
import { silentLog } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { loseLayoutLease, noteLayout } from '../support/state/accounts.ts'
import { keysOfChunks, putChunks } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const NEWEST = MIGRATIONS.length
const COUNTED = '{made-up}:greetings'

let server: TestRedis
let redis: Redis
let other: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
  other = connectWithRetry(server.url)
})
afterEach(() => redis.flushall())
afterAll(async () => {
  redis?.disconnect()
  other?.disconnect()
  await server?.stop()
})

/** A layout after today's: what one key held as text becomes a hash, and somebody counts how often the step ran. */
let ran = 0
const OLD = '{made-up}:greeting'
const toHash: Migration = {
  number: NEWEST + 1,
  says: 'keeps greetings in a hash',
  async up(on) {
    ran += 1
    const text = await on.get(OLD)
    if (text !== null) await on.multi().hset(COUNTED, 'first', text).del(OLD).exec()
  },
}
const steps = [...MIGRATIONS, toHash]

test('an empty Redis gets the number of the newest layout, and the steps are numbered from 1 without a gap', async () => {
  expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, i) => i + 1))
  await migrate(redis)
  expect(await layoutOf(redis)).toBe(NEWEST)
})

test('a layout is brought up to date by the missing steps, once, by one of two processes that start together', async () => {
  await noteLayout(redis, NEWEST)
  await redis.set(OLD, 'hello')
  ran = 0
  await Promise.all([migrate(redis, steps), migrate(other, steps)])
  await migrate(other, steps)
  expect(ran).toBe(1)
  expect(await layoutOf(redis)).toBe(NEWEST + 1)
  expect([await redis.hgetall(COUNTED), await redis.get(OLD)]).toEqual([{ first: 'hello' }, null])
})

test('the queues of chunks are removed from all lanes, also of removed senders, and nothing else is', async () => {
  await noteLayout(redis, 1)
  const id = await addSender(redis, {
    ...{ account: 1, number: '491700000001', name: '', provider: 'partner-api', phoneNumberId: '' },
    ...{
      baseUrl: 'http://127.0.0.1:1',
      sealedToken: () => 'token',
      rate: 1,
      honoursIdempotency: false,
      isDefault: false,
    },
  })
  const gone = 77
  await retainLaneUntil(redis, { account: 1, lane: gone }, Date.now() + 60_000)
  for (const lane of [id, gone]) await putChunks(redis, lane, 3)
  const others = (await redis.keys('*')).length - (await keysOfChunks(redis, id)) - (await keysOfChunks(redis, gone))
  expect(await keysOfChunks(redis, id)).toBeGreaterThan(5)
  await Promise.all([migrate(redis), migrate(other)])
  expect([await keysOfChunks(redis, id), await keysOfChunks(redis, gone)]).toEqual([0, 0])
  expect((await redis.keys('*')).length).toBe(others)
  expect(await layoutOf(redis)).toBe(NEWEST)
})

test('when the migrating process dies in the middle, another repeats the step and goes on', async () => {
  await redis.set(OLD, 'hello')
  const dying = connectWithRetry(server.url)
  let begun = false
  const hanging: Migration = {
    ...toHash,
    async up(on) {
      await toHash.up(on)
      begun = true
      // Nothing that this part sends arrives any more, as after a SIGKILL.
      dying.disconnect()
      await on.get(OLD)
    },
  }
  const died = migrate(dying, [...MIGRATIONS, hanging]).catch((error: Error) => error)
  await eventually(async () => begun, 'the step has begun')
  expect(await died).toBeInstanceOf(Error)
  expect(await layoutOf(redis)).toBe(NEWEST)
  await migrate(other, steps)
  expect(await layoutOf(redis)).toBe(NEWEST + 1)
  expect(await redis.hgetall(COUNTED)).toEqual({ first: 'hello' })
})

test('a process that was frozen during a migration does not set the layout back to an older number', async () => {
  const next: Migration = { number: NEWEST + 2, says: 'one more', up: async () => {} }
  const frozen: Migration = {
    ...toHash,
    async up() {
      // Its lease ran out while it was frozen, and the other one did all that there is to do.
      await loseLayoutLease(redis)
      await migrate(other, [...steps, next])
    },
  }
  await migrate(redis, [...MIGRATIONS, frozen])
  expect(await layoutOf(redis)).toBe(NEWEST + 2)
})

test('a process that finds a newer layout than it supports refuses to start and says why', async () => {
  await noteLayout(redis, NEWEST + 1)
  const sentence = `A newer release of Laneway has used this Redis (layout ${NEWEST + 1}, this release knows ${NEWEST}): run that release.`
  const refused = await checkData(loadConfig({}), server.url, silentLog).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(NewerLayoutError)
  expect(startupErrorMessage(refused)).toBe(sentence)
  const typed = await runCli(['accounts', 'list'], { REDIS_URL: server.url })
  expect(typed.code).toBe(1)
  expect(typed.stderr).toContain(sentence)
})
