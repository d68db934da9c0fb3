// Pins: an error that means "Redis is away, try again later" is known as one, by making each of them happen; and an
// error that means something else is not.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Redis as Single } from 'ioredis'
import { describe, expect, test } from 'vitest'
import { hasJobMovedOn } from '../../src/lanes/bullmq/open-queue.ts'
import { connectFailFast, connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { inTime, isHiddenCommand, isRedisAway, isUnknownScript, withTimeout } from '../../src/redis/errors.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import type { TestRedis } from '../support/redis.ts'
import { sharedQueue } from '../support/state/queues.ts'
import { listen } from '../testbed/free-port.ts'

let server: TestRedis
let redis: Redis
withOwnRedis((own, at) => {
  redis = own
  server = at
})

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing failed',
    (error: unknown) => error,
  )

/** A server that takes connections and never answers. */
async function silentServer() {
  const silent = createServer(() => {})
  const port = await listen(silent)
  return { url: `redis://127.0.0.1:${port}`, stop: () => silent.close() }
}

/** What a connection to nothing, or to a server that says nothing, fails with. */
async function withConnection(connection: Redis, work: (connection: Redis) => Promise<unknown>): Promise<unknown> {
  connection.on('error', () => {})
  try {
    return await work(connection)
  } finally {
    connection.disconnect()
  }
}

describe('Redis counts as away', () => {
  test('when nobody listens: for the connection and for each command', async () => {
    const silent = await silentServer()
    silent.stop()
    const [ofConnection, ofCommand] = (await withConnection(connectFailFast(silent.url), async (connection) => [
      (await once(connection, 'error'))[0],
      await failureOf(connection.ping()),
    ])) as [unknown, unknown]
    expect(isRedisAway(ofConnection), String(ofConnection)).toBe(true)
    expect(isRedisAway(ofCommand), String(ofCommand)).toBe(true)
  })

  test('when it accepts the connection and answers no command', async () => {
    const silent = await silentServer()
    const options = { lazyConnect: true, commandTimeout: 50, enableReadyCheck: false, socketTimeout: 100 }
    const connection = new Single(silent.url, options)
    const [ofCommand, ofSocket] = (await withConnection(connection, async (slow) => [
      await failureOf(slow.ping()),
      (await once(slow, 'error'))[0],
    ])) as [unknown, unknown]
    silent.stop()
    expect(isRedisAway(ofCommand), String(ofCommand)).toBe(true)
    expect(isRedisAway(ofSocket), String(ofSocket)).toBe(true)
  })

  test('when the connection was closed, when retries are used up, and when our own time limit is over', async () => {
    const closed = connectWithRetry(server.url)
    await closed.ping()
    closed.disconnect()
    const errors = [
      await failureOf(closed.ping()),
      await failureOf(withTimeout(1, new Promise(() => {}))),
      await failureOf(inTime(closed, async () => 'not asked')),
    ]
    for (const error of errors) expect(isRedisAway(error), String(error)).toBe(true)
  })

  test('when it is full, also for a transaction that was refused for that', async () => {
    await redis.set('filler', 'x'.repeat(4_000_000))
    await redis.config('SET', 'maxmemory', '2mb')
    try {
      expect(isRedisAway(await failureOf(redis.set('a', '1')))).toBe(true)
      expect(isRedisAway(await failureOf(redis.eval("return redis.call('SET', KEYS[1], 1)", 1, 'a')))).toBe(true)
      expect(isRedisAway(await failureOf(redis.multi().set('a', '1').exec()))).toBe(true)
    } finally {
      await redis.config('SET', 'maxmemory', '0')
    }
  })

  test('when our user lost the right to a command, on its own and inside a script', async () => {
    await redis.call('ACL', 'SETUSER', 'limited', 'on', 'nopass', '~*', '+@all', '-set')
    const limited = new Single(server.url, { username: 'limited', password: 'any' })
    const ofCommand = await failureOf(limited.set('a', '1'))
    const ofScript = await failureOf(limited.eval("return redis.call('SET', KEYS[1], 1)", 1, 'a'))
    limited.disconnect()
    expect(isRedisAway(ofCommand), String(ofCommand)).toBe(true)
    expect(isRedisAway(ofScript), String(ofScript)).toBe(true)
  })

  test('but not when a command or a script is wrong, whatever its text is', async () => {
    await redis.set('text', 'x')
    const errors = [
      await failureOf(redis.lpush('text', 'y')),
      await failureOf(redis.eval("return redis.error_reply('NOTE Connection is closed. OOM')", 0)),
      await failureOf(redis.call('NO-SUCH-COMMAND')),
      new Error('the provider says: ECONNREFUSED, Command timed out, LOADING'),
    ]
    for (const error of errors) expect(isRedisAway(error), String(error)).toBe(false)
  })
})

describe('an answer of Redis that arrives while this process stalls is no failure', () => {
  /** Nothing is read and no timer fires meanwhile, as on a machine that does other things. */
  const standStill = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

  test.each([2_005, 2_010, 3_000])('for a command with a limit of 2 s, after %i ms', async (ms) => {
    const connection = connectFailFast(server.url)
    await once(connection, 'ready')
    const answer = connection.ping()
    standStill(ms)
    expect(await answer).toBe('PONG')
    connection.disconnect()
  })

  test('for a command that Redis answers a moment later, as after both were suspended', async () => {
    const connection = connectFailFast(server.url)
    await once(connection, 'ready')
    await redis.call('CLIENT', 'PAUSE', 2_100)
    const answer = connection.ping()
    // The command leaves at the end of this turn.
    setImmediate(() => setImmediate(standStill, 1_900))
    expect(await answer).toBe('PONG')
    connection.disconnect()
  })

  test('for work that makes several requests within its limit', async () => {
    const ask = async (): Promise<string> => {
      for (let i = 0; i < 5; i += 1) await redis.ping()
      return redis.ping()
    }
    const answer = withTimeout(500, ask())
    standStill(1_000)
    expect(await answer).toBe('PONG')
  })

  test('but what it does not answer afterwards still fails', async () => {
    const silent = await silentServer()
    const failure = failureOf(
      withTimeout(
        200,
        withConnection(new Single(silent.url), (slow) => slow.ping()),
      ),
    )
    standStill(400)
    expect(isRedisAway(await failure)).toBe(true)
    silent.stop()
  })
})

test('a script unknown to the server, and a hidden command, are recognized by their codes', async () => {
  expect(isUnknownScript(await failureOf(redis.evalsha('0'.repeat(40), 0)))).toBe(true)
  expect(isHiddenCommand(await failureOf(redis.call('NO-SUCH-COMMAND')))).toBe(true)
  await redis.call('ACL', 'SETUSER', 'guest', 'on', 'nopass', '~*', '+@all', '-config')
  const guest = new Single(server.url, { username: 'guest', password: 'any' })
  expect(isHiddenCommand(await failureOf(guest.config('GET', 'appendonly')))).toBe(true)
  guest.disconnect()
  expect(isHiddenCommand(await failureOf(redis.lpush('text', 'y')))).toBe(false)
})

test('a BullMQ job that has moved elsewhere is recognized by its code', async () => {
  const queue = sharedQueue(redis, 'moved')
  const waiting = await queue.add('x', {})
  const notDelayed = await failureOf(waiting.promote())
  const notFailed = await failureOf(waiting.retry('failed'))
  await waiting.remove()
  const gone = await failureOf(waiting.promote())
  for (const error of [notDelayed, notFailed, gone]) expect(hasJobMovedOn(error), String(error)).toBe(true)
  expect(hasJobMovedOn(new Error('Job 1 is not in the delayed state'))).toBe(false)
  await queue.close()
})
