// Pins: what is kept of a person who opted out and was erased: when and how they first said so, under one key of the account
// whichever process makes it, and nothing once they take it back; and what makes a person opted out by itself. Real: Redis.
import { expect, test } from 'vitest'
import { createSeal } from '../../src/kernel/seal.ts'
import { OPTED_OUT_THERE } from '../../src/model/messages/provider-codes.ts'
import { erasedHmacsOf, makeErasedHmacs, resealErasedKey, useOptOutSecrets } from '../../src/people/opt-outs/erased.ts'
import { addOptOuts, eraseOptOut, findOptOut, removeOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { applyProviderOptOut } from '../../src/reports/apply-opt-outs.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import type { TestRedis } from '../support/redis.ts'
import { accountRecord, contactsOf } from '../support/state/accounts.ts'

const SECRETS = ['a secret key of at least thirty-two characters']

let server: TestRedis
let redis: Redis
withOwnRedis((own, at) => {
  redis = own
  server = at
  useOptOutSecrets(() => SECRETS)
})

async function erased(connection: Redis, account: number, person: string, atMs: number, source: 'word' | 'http') {
  await addOptOuts(connection, account, [person], { source, atMs })
  await eraseOptOut(connection, account, [person])
}

test('a person who is erased twice stays opted out, with the first date and source', async () => {
  await erased(redis, 1, '491530000001', 1_000, 'word')
  await erased(redis, 1, '491530000001', 2_000, 'http')
  const since = new Date(1_000).toISOString()
  expect(await findOptOut(redis, 1, '491530000001')).toEqual({ person: '491530000001', source: 'word', since })
})

test('a person who withdraws the opt-out leaves nothing, not even who recorded it', async () => {
  await erased(redis, 2, '491530000002', 1_000, 'word')
  expect(await removeOptOuts(redis, 2, ['491530000002'], { source: 'http' })).toBe(1)
  const { optOuts, erasedOptOuts, optOutSources } = contactsOf(redis, 2)
  for (const each of [optOuts, erasedOptOuts, optOutSources]) expect(await each.isThere()).toBe(false)
})

test('a listed person is opted out and can be removed from the list, whatever is stored about the source', async () => {
  const { optOuts, optOutSources } = contactsOf(redis, 6)
  const people = ['491530000011', '491530000012', '491530000013']
  await optOuts.put(1_000, ...people)
  await optOutSources.change({ '491530000011': 'http', '491530000012': '7' })
  for (const person of people) {
    expect(await findOptOut(redis, 6, person), person).toMatchObject({ source: 'http' })
    await addOptOuts(redis, 6, [person], { source: 'word', atMs: 5_000 })
    await eraseOptOut(redis, 6, [person])
    expect((await findOptOut(redis, 6, person))?.since, person).toBe(new Date(1_000).toISOString())
    expect(await removeOptOuts(redis, 6, [person], { source: 'http' }), person).toBe(1)
    expect(await findOptOut(redis, 6, person), person).toBeUndefined()
  }
})

test("of two processes that each erase the first person of an account, neither loses the other's", async () => {
  const [slow, fast] = [connectWithRetry(server.url), connectWithRetry(server.url)]
  try {
    const read = slow.hget
    let isFirst = true
    // It has found no key; before it makes one, the other has made its own and used it.
    Reflect.set(slow, 'hget', async (...args: Parameters<typeof read>) => {
      const found = await Reflect.apply(read, slow, args)
      if (!accountRecord(redis, 3).isReadBy(args) || !isFirst) return found
      isFirst = false
      await erased(fast, 3, '491530000003', 1_000, 'word')
      return found
    })
    await erased(slow, 3, '491530000004', 2_000, 'word')
    expect(isFirst).toBe(false)
    for (const person of ['491530000003', '491530000004']) {
      expect(await findOptOut(redis, 3, person), person).toBeDefined()
    }
  } finally {
    slow.disconnect()
    fast.disconnect()
  }
})

test('a key already sealed under the newest secret is left as it is', async () => {
  await erased(redis, 4, '491530000005', 1_000, 'word')
  const before = await accountRecord(redis, 4).fields()
  expect(await resealErasedKey(redis, createSeal(SECRETS), 4)).toEqual({ sealed: 0, fresh: 1 })
  expect(await accountRecord(redis, 4).fields()).toEqual(before)
  const newest = createSeal(['a newer secret key of thirty-two characters', ...SECRETS])
  expect(await resealErasedKey(redis, newest, 4)).toEqual({ sealed: 1, fresh: 0 })
})

test('only one of the reasons for a failed message opts a person out, and only that person', async () => {
  await applyProviderOptOut(redis, 5, '491530000006', { code: '131026' })
  await applyProviderOptOut(redis, 5, '', { code: OPTED_OUT_THERE })
  expect(await contactsOf(redis, 5).optOuts.isThere()).toBe(false)
  await applyProviderOptOut(redis, 5, '491530000006', { code: OPTED_OUT_THERE })
  expect(await contactsOf(redis, 5).optOuts.all()).toEqual(['491530000006'])
})

test('the key of an account is created once while others request it', async () => {
  for (let account = 100; account < 110; account += 1) {
    let isMade = false
    const ask = async () => {
      // Each asks again right before the key is written, and is told that there is none when it has been.
      while (!isMade) await erasedHmacsOf(redis, account, ['491530000001'])
    }
    const asking = ask()
    const made = makeErasedHmacs(redis, account, ['491530000001']).finally(() => {
      isMade = true
    })
    expect(await made).toEqual(await erasedHmacsOf(redis, account, ['491530000001']))
    await asking
  }
})
