// Pins: an account that asks for much at once, or never reads what it asked for, keeps no other account waiting. Real:
// Redis, HTTP, the key check. Stood in for: the routes, which answer when the test says so.

import { get as httpGet } from 'node:http'
import { Readable } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { bind, type Route } from '../../src/producer/bind.ts'
import { createPerAccountSemaphores } from '../../src/producer/overload/semaphore.ts'
import { route } from '../../src/producer/route.ts'
import { connectFailFast, type Redis } from '../../src/redis/connect.ts'
import { startApp } from '../support/app.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { eventually } from '../support/wait.ts'

/** Requests that the greedy account sends at once. */
const MANY = 40

let redis: Redis
let app: Awaited<ReturnType<typeof startApp>>
const begun = new Map<string, number>()
const count = (what: string): number => {
  const now = (begun.get(what) ?? 0) + 1
  begun.set(what, now)
  return now
}
/** Holds what was begun until it is let go. */
const held: (() => void)[] = []
const hold = (): Promise<void> => new Promise((resolve) => held.push(resolve))
const letGo = (): void => {
  for (const go of held.splice(0)) go()
}

const access = { in: 'bearer', permission: 'messages:read' } as const
const base = { method: 'get', summary: 'A test.', access, body: { as: 'ignored' }, examples: [] } as const
const specs = {
  page: route({
    ...base,
    path: '/page',
    query: z.object({ limit: z.string().optional() }),
    answers: { 200: z.object({ status: z.literal(true) }) },
  }),
  pieces: route({ ...base, path: '/pieces', answers: { 200: { contentTypes: ['text/plain'] } } }),
}

const routes: Route[] = bind(specs)({
  async page({ caller }) {
    count(`page of ${caller.account}`)
    await hold()
    return { body: { status: true } }
  },
  async pieces({ caller, inPieces }) {
    async function* all() {
      count(`pieces of ${caller.account}`)
      await hold()
      yield 'piece'
    }
    return { headers: { 'Content-Type': 'text/plain' }, stream: Readable.from(inPieces(all())) }
  },
})

let greedy: { account: number; key: string }
let other: { account: number; key: string }
withOwnRedis(async (own) => {
  redis = own
  app = await startApp(redis, routes)
  greedy = await tenant('greedy')
  other = await tenant('other')
}, connectFailFast)
afterAll(async () => {
  letGo()
  await app?.close()
})

async function tenant(name: string) {
  const account = await createAccount(redis, name)
  return { account, key: (await createCredential(redis, account, ['messages:read'], Date.now())).secret }
}

/** Asks for a route that only this test has, so not with `fetch`, whose answers are held against the table of routes. */
const get = (path: string, { key }: { key: string }): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const request = httpGet(app.url + path, { agent: false, headers: { authorization: `Bearer ${key}` } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode))
    })
    request.once('error', reject)
  })

test.each([
  ['page', 4],
  ['pieces', 2],
])('of the %s that one account requests at once, a few are made at a time', async (what, atOnce) => {
  const done = Promise.all(Array.from({ length: MANY }, () => get(`/${what}`, greedy)))
  const ofGreedy = `${what} of ${greedy.account}`
  await eventually(async () => begun.get(ofGreedy) === atOnce, 'the first are begun')
  // Another account does not wait for them.
  const answer = get(`/${what}`, other)
  await eventually(async () => begun.get(`${what} of ${other.account}`) === 1, 'the other account is served')
  expect(begun.get(ofGreedy)).toBe(atOnce)
  held.pop()?.()
  expect(await answer).toBe(200)
  await eventually(async () => {
    letGo()
    return begun.get(ofGreedy) === MANY
  }, 'all others have had their turn')
  letGo()
  expect(new Set(await done)).toEqual(new Set([200]))
})

test('what nobody waits for any more is not made', async () => {
  const { read, inPieces } = createPerAccountSemaphores()
  let made = 0
  let isWanted = true
  const work = async (): Promise<number> => {
    made += 1
    await hold()
    return made
  }
  const reads = Promise.all(Array.from({ length: MANY }, () => read(1, work, () => isWanted)))
  await eventually(async () => made === 4, 'the first are begun')
  isWanted = false
  letGo()
  expect((await reads).filter((answer) => answer !== undefined)).toHaveLength(4)
  expect(made).toBe(4)
  let isEnded = false
  async function* source() {
    try {
      for (;;) yield 'piece'
    } finally {
      isEnded = true
    }
  }
  let given = 0
  for await (const piece of inPieces(1, source(), () => given < 4)) given += piece === '' ? 0 : 1
  expect(given).toBe(4)
  expect(isEnded).toBe(true)
})
