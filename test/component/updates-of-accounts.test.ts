// Pins: an update of WhatsApp about several of our accounts reaches each, whatever is wrong with the data of another one; and a
// number is known in either of its forms. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { findSender, setSenderProvider } from '../../src/accounts/senders.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { createPortfolio, findPortfolio, joinPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import type { AccountUpdate } from '../../src/providers/account-updates.ts'
import { applyAccountUpdate } from '../../src/reports/apply-account-update.ts'
import { readNotices } from '../../src/reports/notices.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { portfolioRecord } from '../support/state/accounts.ts'

const seal = createSeal(['a key for the tests that is long enough'])
const HOUR_MS = 3_600_000
let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

let ids = 100
/** A sender of an account of its own, in a portfolio. */
async function newSender(wabaId: string, number = `4917000${++ids}00`) {
  const { redis } = world
  const account = await createAccount(redis, 'Shop')
  const of = { account, number, phoneNumberId: `77${++ids}`, name: '', provider: 'cloud-api' } as const
  const access = { baseUrl: 'https://graph.facebook.com', sealedToken: seal.encrypt('token') }
  const lane = await addSender(redis, { ...of, ...access, rate: 80, honoursIdempotency: false, isDefault: false })
  await setSenderProvider(redis, lane, { wabaId })
  const portfolio = await newPortfolioId(redis)
  await createPortfolio(redis, { id: portfolio, account, name: 'Shop', daily_limit: 250 })
  await joinPortfolio(redis, { id: lane, account }, portfolio)
  return { account, lane, portfolio }
}

const apply = (update: Pick<AccountUpdate, 'field' | 'wabaId' | 'changes'> & Partial<AccountUpdate>) =>
  applyAccountUpdate(
    { redis: world.redis, queues: world.queues, retentionMs: HOUR_MS },
    { event: undefined, sentence: 'It changed.', details: {}, isKnown: true, atMs: Date.now(), ...update },
    undefined,
  )
const noticesOf = async (account: number) =>
  (await readNotices(world.redis, { account, limit: 10 }, Date.now())).notices.map(({ field }) => field)

test('a fault in the data of one account costs no other its update or its notice', async () => {
  const [broken, fine] = [await newSender('4720'), await newSender('4720')]
  await portfolioRecord(world.redis, broken.portfolio).ruin('x')
  const change = { of: 'portfolio', group: 'limit', value: 2_000 } as const
  await expect(apply({ field: 'business_capability_update', wabaId: '4720', changes: [change] })).rejects.toThrow()
  expect((await findPortfolio(world.redis, fine.portfolio))?.daily_limit).toBe(2_000)
  for (const { account } of [broken, fine]) expect(await noticesOf(account)).toEqual(['business_capability_update'])
})

test.each([
  ['525512345678', '5215512345678'],
  ['551187650001', '5511987650001'],
])('an update about a number of ours, %s, is applied when WhatsApp writes it as %s', async (number, digits) => {
  const { lane } = await newSender(`48${number}`, number)
  const change = { of: 'sender', group: 'rate', value: 1_000 } as const
  await apply({ field: 'phone_number_quality_update', wabaId: `48${number}`, digits, changes: [change] })
  expect((await findSender(world.redis, lane))?.rate).toBe(1_000)
})
