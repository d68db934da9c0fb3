// Pins: how old the limits of an account may be when a request is held to them. Real: Redis. Stood in for: the clock.
import { expect, test } from 'vitest'
import { UNLIMITED } from '../../src/accounts/settings.ts'
import { createAccount, setAccountSettings } from '../../src/accounts/store/accounts.ts'
import { createLimitsOfAccounts } from '../../src/producer/rate-limits/account-limits.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { eventually } from '../support/wait.ts'

let redis: Redis
let account: number
let nowMs = 0
withOwnRedis(async (own) => {
  redis = own
  account = await createAccount(redis, 'Shop')
})

const limitOf = async (limits: ReturnType<typeof createLimitsOfAccounts>) => (await limits.of(account)).keyRate

test('the first request of an account that was idle is held to the limits of now', async () => {
  const limits = createLimitsOfAccounts(redis, UNLIMITED, () => nowMs)
  await setAccountSettings(redis, account, { 'limit.key_rate': 5 })
  expect(await limitOf(limits)).toBe(5)
  await setAccountSettings(redis, account, { 'limit.key_rate': 2 })
  nowMs += 3_600_000
  expect(await limitOf(limits)).toBe(2)
})

test('an account that asks all the time waits for no reading, and a change is in force within two seconds', async () => {
  const limits = createLimitsOfAccounts(redis, UNLIMITED, () => nowMs)
  const before = await limitOf(limits)
  await setAccountSettings(redis, account, { 'limit.key_rate': 9 })
  nowMs += 1_500
  expect(limits.of(account)).toMatchObject({ keyRate: before })
  await eventually(async () => (await limitOf(limits)) === 9, 'the change is read meanwhile')
})
