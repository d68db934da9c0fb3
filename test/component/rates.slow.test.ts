// Pins: how often a key, an account and an address may ask, over all producers; that nobody else notices; that it costs
// nobody who has no limit a header; that it goes on without Redis, and whatever the clock does. Real: Redis, HTTP, two
// producers. Stood in for: nothing.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import { startProducer } from '../../src/producer/main.ts'
import { createRates, isCounted } from '../../src/producer/rate-limits.ts'
import { connectFailFast } from '../../src/redis/connect.ts'
import { apiClient } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { silentLog } from '../support/app.ts'
import { type Service, startService } from '../support/service.ts'
import { rateOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let second: { url: string; close: () => Promise<void> }
beforeAll(async () => {
  service = await startService({ worker: false })
  second = await startProducer(service.config, service.server.url, silentLog)
})
afterAll(async () => {
  await second?.close()
  await service?.close()
})

const LOOKUP = '/chatappbusiness/fetchmessageinfo'
const ask = (url: string, key: string) =>
  fetch(`${url}${LOOKUP}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: key, message_id: 'msg_1_01M7WMESZP60D32VY8E5FM00EP' }),
  })

/** How many of these were let through; and how many may be at most: what the bucket held, and what came in meanwhile. */
async function throughOf(rate: number, asking: () => Promise<number[]>) {
  const began = performance.now()
  const statuses = await asking()
  const seconds = (performance.now() - began) / 1_000
  return { seconds, through: statuses.filter((status) => status !== 429).length, most: rate + rate * seconds + 1 }
}

test('a key used at two producers at once gets its rate once', async () => {
  const { account, apiKey } = await service.addTenant()
  await setAccountSettings(service.redis, account, { 'limit.key_rate': 5 })
  const { through, most } = await throughOf(5, async () => {
    const urls = Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? service.url : second.url))
    const answers = await Promise.all(urls.map((url) => ask(url, apiKey)))
    return answers.map(({ status }) => status)
  })
  expect(through).toBeGreaterThanOrEqual(5)
  expect(through).toBeLessThanOrEqual(most)
})

test('eight processes that ask for ten times the rate get all of it, and not one request more', async () => {
  const tries: { through: number; most: number }[] = []
  // Nobody gets a rate while the machine stands still, and an answer that is read late refuses for as long as it says from
  // then on: what all of them get is told by two seconds without that.
  const { through, most } = await eventually(async () => {
    const processes = Array.from({ length: 8 }, () => createRates(service.redis))
    const key = `key_of_eight_${tries.length}`
    let asked = 0
    let longestMs = 0
    const found = await throughOf(200, async () => {
      const statuses: number[] = []
      for (const end = performance.now() + 2_000; performance.now() < end; ) {
        const began = performance.now()
        const verdicts = await Promise.all(processes.map((rates) => rates.take('key', key, 200)))
        statuses.push(...verdicts.map(({ isWithin }) => (isWithin ? 200 : 429)))
        await nextTurn()
        longestMs = Math.max(longestMs, performance.now() - began)
      }
      asked = statuses.length
      return statuses
    })
    tries.push(found)
    return asked > 2_000 && longestMs < 200 && found
  }, 'two seconds in which the machine does not stand still')
  for (const each of tries) expect(each.through).toBeLessThanOrEqual(each.most)
  // What one of them has leased and does not use is lost.
  expect(through).toBeGreaterThan(most * 0.6)
})

test('an answer for a key with a limit states the limit and what is left, and a refusal when to try again', async () => {
  const { account, apiKey } = await service.addTenant()
  await setAccountSettings(service.redis, account, { 'limit.key_rate': 2, 'limit.account_rate': 50 })
  const first = await ask(service.url, apiKey)
  expect(first.status).toBe(404)
  expect(first.headers.get('ratelimit-policy')).toBe('"key";q=2;w=1, "account";q=50;w=1')
  expect(first.headers.get('ratelimit')).toMatch(/^"key";r=[01];t=1, "account";r=\d+;t=1$/)
  // A slow machine may spread ten over so many seconds that none is refused.
  const refused = await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(service.url, apiKey)))
    return answers.find(({ status }) => status === 429)
  }, 'one of them is refused')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('ratelimit')).toBe('"key";r=0;t=1')
  expect(errorOf({ json: await refused.json() })).toMatchObject({ code: 'rate_limited' })
})

test('an account cannot get more by making more keys', async () => {
  const { account, apiKey, key } = await service.addTenant()
  await setAccountSettings(service.redis, account, { 'limit.account_rate': 20 })
  const keys = [apiKey, await key('messages:read')]
  const { through, most } = await throughOf(20, async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ask(service.url, keys[n % 2] ?? '')))
    return answers.map(({ status }) => status)
  })
  expect(through).toBeGreaterThanOrEqual(20)
  expect(through).toBeLessThanOrEqual(most)
})

test('a new limit soon applies to an account that sends requests all the time', async () => {
  const { account, apiKey } = await service.addTenant()
  expect((await ask(service.url, apiKey)).status).toBe(404)
  await setAccountSettings(service.redis, account, { 'limit.key_rate': 1 })
  // Two at a time: on a slow machine one alone may take a second, after which it may ask again.
  const isLimited = async () =>
    (await Promise.all([ask(service.url, apiKey), ask(service.url, apiKey)])).some(({ status }) => status === 429)
  await eventually(isLimited, 'it is refused')
})

test('another account is not affected', async () => {
  const loud = await service.addTenant()
  await setAccountSettings(service.redis, loud.account, { 'limit.key_rate': 1 })
  const quiet = await service.addTenant()
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => ask(service.url, n % 2 === 0 ? loud.apiKey : quiet.apiKey)),
  )
  expect(answers.filter((_, n) => n % 2 === 1).map(({ status }) => status)).toEqual(Array(50).fill(404))
})

test('answers for a key without a limit mention none', async () => {
  const { apiKey } = await service.addTenant()
  const { headers } = await ask(service.url, apiKey)
  expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null])
})

test('while Redis is away each process keeps the rate by itself, and no request waits long for Redis', async () => {
  const redis = connectFailFast('redis://127.0.0.1:1')
  redis.on('error', () => undefined)
  try {
    const rates = createRates(redis)
    // In turns of the event loop, which a slow machine takes no more of. A wait of a second is tens of thousands.
    let turns = 0
    let isOver = false
    const counting = (async () => {
      for (; !isOver; turns += 1) await nextTurn()
    })()
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => rates.take('key', 'key_1', 10)))
    isOver = true
    await counting
    expect(turns).toBeLessThan(1_000)
    expect(verdicts.filter(({ isWithin }) => isWithin)).toHaveLength(10)
  } finally {
    redis.disconnect()
  }
})

test('after the clock of Redis was set back by an hour the key still has its rate', async () => {
  const { account } = await service.addTenant()
  const who = `key_of_${account}`
  // The counter of a window that was to end within a second, by the clock of before.
  await rateOf(service.redis, 'key', who).put('50', 3_600_000)
  const rates = createRates(service.redis)
  // At once, so that both are of one window.
  const both = await Promise.all([rates.take('key', who, 50), rates.take('key', who, 50)])
  expect(both.map(({ isWithin, left }) => [isWithin, left])).toEqual([
    [true, 49],
    [true, 48],
  ])
})

test('a restarted process gets no new share: what is left is in Redis', async () => {
  const who = 'key_restarted'
  const take = async (rates: ReturnType<typeof createRates>) =>
    (await Promise.all(Array.from({ length: 30 }, () => rates.take('key', who, 30)))).filter((each) => each.isWithin)
  const began = performance.now()
  expect(await take(createRates(service.redis))).toHaveLength(30)
  const { length } = await take(createRates(service.redis))
  // A new share comes with each second that has passed.
  expect(length).toBeLessThan(10 + 30 * Math.floor((performance.now() - began) / 1_000))
})

test('every counted address refuses a client that asks too often, and probes and webhooks do not', async () => {
  const config = { ...service.config, limits: { ...service.config.limits, addressRate: 1 } }
  const limited = await startProducer(config, service.server.url, silentLog)
  const { secret } = await createCredential(service.redis, 0, [OPERATOR], Date.now())
  try {
    const url = (path: string): string => path.replaceAll(/:\w+/g, '1')
    const api = apiClient(limited.url, secret)
    for (const { method, path } of ROUTES) {
      const asked = () => api.open(url(path), { method: method.toUpperCase(), redirect: 'manual' })
      expect([path, await isRefused(asked)]).toEqual([path, isCounted({ path })])
    }
    expect(await isRefused(() => fetch(`${limited.url}/no/such/route`))).toBe(true)
  } finally {
    await limited.close()
  }
})

test('answers of every kind state what is left: JSON, a list in pieces, text, a page, and a refusal', async () => {
  const limits = { ...service.config.limits, addressRate: 1_000, keyRate: 1_000 }
  const limited = await startProducer({ ...service.config, limits }, service.server.url, silentLog)
  const { key } = await service.addTenant()
  const api = apiClient(limited.url, await key('contacts:read'))
  const both = '"address";q=1000;w=1, "key";q=1000;w=1'
  const address = '"address";q=1000;w=1'
  try {
    for (const [path = '', policy] of [
      ['/opt-outs', both],
      ['/opt-outs/export', both],
      ['/opt-outs/12', both],
      ['/docs', address],
      ['/console', address],
      ['/no/such/route', address],
    ]) {
      const answer = await api.get(path)
      expect([path, answer.headers.get('ratelimit-policy')]).toEqual([path, policy])
      expect(answer.headers.get('ratelimit')).toMatch(
        policy === both ? /^"address".*"key";r=/ : /^"address";r=\d+;t=1$/,
      )
    }
  } finally {
    await limited.close()
  }
})

/** Whether one of some requests is answered 429; on a slow machine they take longer than the bucket needs. */
async function isRefused(asked: () => Promise<Response>): Promise<boolean> {
  for (let round = 0; round < 5; round += 1) {
    const answers = await Promise.all([asked(), asked(), asked(), asked()])
    for (const answer of answers) await answer.body?.cancel()
    if (answers.some(({ status }) => status === 429)) return true
  }
  return false
}
