// Pins: to how many people a portfolio may write first in any moving 24 hours, counted exactly whatever order, repeats and
// refunds come; caps of persons; places of held messages; and what a person and day costs in Redis. Real: Redis. Stood in
// for: the passing of days, by given times.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { findSender, setSenderProvider } from '../../src/accounts/senders.ts'
import { cap, cappedUntil } from '../../src/portfolios/caps.ts'
import { heldNow, keepHeldPlace, releaseHeldPlace } from '../../src/portfolios/held-places.ts'
import {
  createPortfolio,
  findPortfolio,
  joinPortfolio,
  listPortfolios,
  newPortfolioId,
  removePortfolio,
  setPortfolio,
} from '../../src/portfolios/portfolios.ts'
import { type Ask, checkProviderRules, commitCount, type RuleVerdict, refundCount } from '../../src/portfolios/rules.ts'
import { type RulesOwner, rulesOwnerOf } from '../../src/portfolios/rules-owner.ts'
import { showPortfolio, usage } from '../../src/portfolios/usage.ts'
import { portfolioDocumentSchema } from '../../src/producer/api/portfolios/routes.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { keptOfPeople } from '../support/state/portfolios.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
const START = Math.ceil(Date.now() / 10_000) * 10_000

let store: LaneRedis
let redis: Redis
beforeAll(async () => {
  store = await startLaneRedis()
  redis = store.redis
})
afterAll(() => store?.close())

/** Ids that no portfolio with a record has. */
let portfolios = 1_000
let messages = 0
let owner: Required<RulesOwner>
beforeEach(() => {
  portfolios += 1
  owner = { lane: 1, portfolio: { id: portfolios, dailyLimit: 20, reservePercent: 10 } }
})

const person = (i: number): string => `49152${String(i).padStart(7, '0')}`
const askOf = (i: number, more: Partial<Ask> = {}): Ask => {
  messages += 1
  const kind = { isMarketing: true, isCampaign: true, opensConversation: true }
  return { name: `m${messages}`, names: [person(i)], ...kind, ...more }
}
const nameOf = ({ names: [name = ''] }: Ask): string => name
const people = (from: number, count: number, more: Partial<Ask> = {}): Ask[] =>
  Array.from({ length: count }, (_, i) => askOf(from + i, more))
const ask = (asks: readonly Ask[], nowMs: number, mostHeld = 100): Promise<RuleVerdict[]> =>
  checkProviderRules(redis, owner, asks, { mostHeld, nowMs })
const used = async (nowMs: number): Promise<number> => (await usage(redis, owner.portfolio, { nowMs })).used
const verdicts = (answers: readonly RuleVerdict[]): string[] => answers.map(({ verdict }) => verdict)
const transactional = { isMarketing: false, isCampaign: false }

describe('the budget', () => {
  test('leaves the reserve to transactional messages, and makes both wait until the oldest are freed', async () => {
    const first = await ask(people(0, 50), START)
    expect(verdicts(first)).toEqual([...Array(18).fill('ok'), ...Array(32).fill('portfolio_limit')])
    expect(first[0]).toEqual({ verdict: 'ok', counted: true })
    const codes = await ask(people(100, 3, transactional), START + HOUR)
    expect(verdicts(codes)).toEqual(['ok', 'ok', 'portfolio_limit'])
    expect(await usage(redis, owner.portfolio, { nowMs: START + HOUR })).toEqual({
      used: 20,
      freeAtMs: START + DAY + 20 * SECOND,
    })
    expect(codes[2]).toEqual({
      ...{ verdict: 'portfolio_limit', untilMs: START + DAY + 20 * SECOND },
      waitMs: DAY + 20 * SECOND - HOUR,
    })
  })

  test('counts a person once in 24 hours, whichever sender writes, and not one who wrote to us', async () => {
    expect(await ask([askOf(1), askOf(1), askOf(1, transactional)], START)).toEqual([
      { verdict: 'ok', counted: true },
      { verdict: 'ok' },
      { verdict: 'ok' },
    ])
    await commitCount(redis, owner, [person(1)], { nowMs: START })
    expect(await ask([askOf(1)], START + DAY)).toEqual([{ verdict: 'ok' }])
    expect(await ask(people(10, 5, { opensConversation: false }), START)).toEqual(Array(5).fill({ verdict: 'ok' }))
    expect(await used(START + DAY)).toBe(1)
    // A person who is counted may be written to when all is spent.
    await ask(people(20, 20, transactional), START + DAY)
    expect(verdicts(await ask([askOf(1), askOf(2)], START + DAY))).toEqual(['ok', 'portfolio_limit'])
  })

  test('frees a person 10 to 20 s after their 24 hours, not earlier', async () => {
    await ask([askOf(1)], START + 9_999)
    expect(await used(START + DAY + 19_999)).toBe(1)
    expect(await used(START + DAY + 20_000)).toBe(0)
    expect(await ask([askOf(1)], START + DAY + 20_000)).toEqual([{ verdict: 'ok', counted: true }])
    expect(await used(START + 9 * DAY)).toBe(0)
  })

  test('refunds a person who was not written to, unless another message was let through meanwhile', async () => {
    const [one, two] = [askOf(1), askOf(2)]
    await ask([one, two], START)
    await refundCount(redis, owner, { ...one, counted: true }, { nowMs: START + SECOND })
    expect(await used(START + SECOND)).toBe(1)
    expect(await ask([askOf(2)], START + HOUR)).toEqual([{ verdict: 'ok' }])
    await refundCount(redis, owner, { ...two, counted: true }, { nowMs: START + 2 * HOUR })
    expect(await used(START + DAY + HOUR)).toBe(1)
    expect(await used(START + DAY + HOUR + 20 * SECOND)).toBe(0)
    await refundCount(redis, owner, { ...two, counted: true }, { nowMs: START + 3 * DAY })
    expect(await used(START + 3 * DAY)).toBe(0)
  })

  test('counts a person again who is let through once more while the outcome of the first message is unknown', async () => {
    // As after a worker died: nothing is known of the first one, and the second may be the one that counts.
    await ask([askOf(1), askOf(2)], START)
    await commitCount(redis, owner, [person(2)], { nowMs: START })
    await ask([askOf(1), askOf(2)], START + HOUR)
    expect(await used(START + HOUR)).toBe(2)
    expect(await used(START + DAY + 20 * SECOND)).toBe(1)
    expect(await used(START + DAY + HOUR + 20 * SECOND)).toBe(0)
  })

  test('is not counted without a limit, and again once there is one', async () => {
    owner.portfolio.dailyLimit = null
    expect(await ask([askOf(1)], START)).toEqual([{ verdict: 'ok' }])
    owner.portfolio.dailyLimit = 1
    owner.portfolio.reservePercent = 0
    expect(verdicts(await ask([askOf(1), askOf(2)], START))).toEqual(['ok', 'portfolio_limit'])
    owner.portfolio.dailyLimit = 2_000
    expect(await ask([askOf(1), askOf(2)], START)).toEqual([{ verdict: 'ok' }, { verdict: 'ok', counted: true }])
    expect(await used(START)).toBe(2)
  })

  test('is never exceeded in any 24 hours, and exact at every reading, over days of people, repeats and refunds', async () => {
    owner.portfolio.dailyLimit = 200
    let random = 7
    const below = (n: number): number => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      return Math.floor((random / 2 ** 31) * n)
    }
    /** By person: until when they count, and what is known of it. */
    const counted = new Map<string, { until: number; is: 'open' | 'shared' | 'proven' }>()
    const untilOf = (at: number): number => (Math.floor(at / 10_000) + 8_642) * 10_000
    let now = START
    let sent = 0
    for (let step = 0; step < 700; step += 1) {
      now += below(8) === 0 ? below(2 * HOUR) : below(5 * 60 * SECOND)
      for (const [who, { until }] of counted) if (until <= now) counted.delete(who)
      const isCampaign = below(4) > 0
      // The limit is raised and lowered now and then.
      if (step % 140 === 139) owner.portfolio.dailyLimit = [150, 900, 200, 4_000][below(4)] ?? 200
      const limit = owner.portfolio.dailyLimit ?? 0
      const most = isCampaign ? Math.floor((limit * 90) / 100) : limit
      const asks = Array.from({ length: 1 + below(10) }, () => askOf(below(1_500), { isMarketing: false, isCampaign }))
      const answers = await ask(asks, now)
      for (const [i, each] of asks.entries()) {
        const known = counted.get(nameOf(each))
        const answer = answers[i]
        if (known) {
          expect(answer).toEqual({ verdict: 'ok' })
          if (known.is !== 'proven') counted.set(nameOf(each), { until: untilOf(now), is: 'shared' })
        } else if (counted.size < most) {
          expect(answer).toEqual({ verdict: 'ok', counted: true })
          counted.set(nameOf(each), { until: untilOf(now), is: 'open' })
          sent += 1
        } else {
          expect(answer).toMatchObject({ verdict: 'portfolio_limit' })
          const untilMs = answer && 'untilMs' in answer ? answer.untilMs : 0
          const left = [...counted.values()].filter(({ until }) => until > untilMs).length
          const before = [...counted.values()].filter(({ until }) => until > untilMs - 1).length
          expect(left).toBeLessThan(most)
          expect(before).toBeGreaterThanOrEqual(most)
        }
      }
      if (below(6) === 0) {
        const back = asks.find((_each, i) => answers[i]?.verdict === 'ok' && 'counted' in (answers[i] ?? {}))
        const known = back && counted.get(nameOf(back))
        if (back && known) {
          await refundCount(redis, owner, { ...back, counted: true }, { nowMs: now })
          if (known.is === 'shared') known.is = 'open'
          else if (known.is === 'open') counted.delete(nameOf(back))
        }
      }
      for (const each of asks) {
        const to = nameOf(each)
        const known = counted.get(to)
        if (below(3) === 0 || !known) continue
        await commitCount(redis, owner, [to], { nowMs: now })
        known.is = 'proven'
      }
      expect(await used(now)).toBe(counted.size)
    }
    expect(sent).toBeGreaterThan(1_000)
  })

  test('takes at most 16 bytes a person and day', async () => {
    const TOTAL = 100_000
    owner.portfolio.dailyLimit = TOTAL
    owner.portfolio.reservePercent = 0
    const perDay = async (from: number, at: number, isTold: boolean): Promise<void> => {
      // Spread over a day, so that some are freed while others are counted.
      for (let i = 0; i < TOTAL; i += 1_000) {
        const answers = await ask(people(from + i, 1_000), at + Math.floor((i / TOTAL) * (DAY + 30 * SECOND)))
        expect(new Set(verdicts(answers))).toEqual(new Set(['ok']))
        // Of one in twenty; who was not told of takes no less.
        const confirms = isTold ? Array.from({ length: 50 }, (_, each) => person(from + i + 20 * each)) : []
        await Promise.all(confirms.map((to) => commitCount(redis, owner, [to], { nowMs: at })))
      }
    }
    await perDay(0, START, true)
    expect(await used(START + DAY)).toBe(TOTAL)
    const first = await keptOfPeople(redis, owner.portfolio.id)
    expect(first.encodings).toEqual(new Set(['listpack']))
    expect(first.bytes / TOTAL).toBeLessThanOrEqual(16)
    // Even where it was never told what became of them.
    await perDay(TOTAL, START + DAY + 60 * SECOND, false)
    const second = await keptOfPeople(redis, owner.portfolio.id)
    expect(second.bytes / TOTAL).toBeLessThanOrEqual(16)
  })
})

describe('a cap', () => {
  test('keeps marketing from a person until it ends, for all numbers of the portfolio; the later end wins', async () => {
    const now = Date.now()
    expect(await cap(redis, owner, person(1), { forMs: DAY, nowMs: now })).toBe(now + DAY)
    await cap(redis, { ...owner, lane: 2 }, person(1), { forMs: DAY, atMs: now - 23 * HOUR, nowMs: now })
    expect(await ask([askOf(1), askOf(1, { isMarketing: false }), askOf(2)], now)).toEqual([
      { verdict: 'person_capped', untilMs: now + DAY, waitMs: DAY },
      { verdict: 'ok', counted: true },
      { verdict: 'ok', counted: true },
    ])
    expect(await cappedUntil(redis, owner, [[person(2)], [person(1)]])).toEqual([undefined, now + DAY])
    expect(await cappedUntil(redis, { lane: 1 }, [[person(1)]])).toEqual([undefined])
    expect(verdicts(await ask([askOf(1)], now + DAY))).toEqual(['ok'])
  })

  test('of a sender without a portfolio applies to that sender alone', async () => {
    await cap(redis, { lane: 7 }, person(1), { forMs: DAY })
    expect(verdicts(await checkProviderRules(redis, { lane: 7 }, [askOf(1)], { mostHeld: 100 }))).toEqual([
      'person_capped',
    ])
    expect(await checkProviderRules(redis, { lane: 8 }, [askOf(1)], { mostHeld: 100 })).toEqual([{ verdict: 'ok' }])
  })
})

describe('held messages', () => {
  test('let only so many campaign messages leave while one is held; others leave, and all do afterwards', async () => {
    const now = Date.now()
    owner.portfolio.dailyLimit = null
    expect(await ask(people(0, 5), now, 3)).toEqual(Array(5).fill({ verdict: 'ok' }))
    await keepHeldPlace(redis, owner, 'held')
    const asks = people(0, 4)
    const held = await ask(asks, now, 3)
    const place = { verdict: 'ok', hasHeldPlace: true }
    const waits = { verdict: 'held', untilMs: now + SECOND, waitMs: SECOND }
    expect(held).toEqual([place, place, waits, waits])
    expect(await ask([askOf(9, transactional)], now, 3)).toEqual([{ verdict: 'ok' }])
    // Asked once more, as after a lost answer: the place is its own.
    expect(await ask(asks.slice(0, 1), now, 3)).toEqual([place])
    await refundCount(redis, owner, { name: asks[0]?.name ?? '', names: [person(0)], hasHeldPlace: true })
    expect(await ask(asks.slice(2, 4), now, 3)).toEqual([place, waits])
    await keepHeldPlace(redis, owner, asks[1]?.name ?? '')
    await keepHeldPlace(redis, owner, asks[2]?.name ?? '')
    expect(await ask(asks.slice(3), now, 3)).toMatchObject([{ verdict: 'held', untilMs: now + 10 * SECOND }])
    for (const name of ['held', asks[1]?.name ?? '', asks[2]?.name ?? '']) await releaseHeldPlace(redis, owner, name)
    expect(await ask(people(0, 9), now, 3)).toEqual(Array(9).fill({ verdict: 'ok' }))
  })

  test('are counted without those in flight, also by a process whose clock is a minute off', async () => {
    owner.portfolio.dailyLimit = null
    const now = Date.now()
    await keepHeldPlace(redis, owner, 'held')
    expect(verdicts(await ask(people(0, 2), now))).toEqual(['ok', 'ok'])
    for (const nowMs of [now - 60 * SECOND, now, now + 60 * SECOND]) {
      expect((await heldNow(redis, { portfolio: owner.portfolio.id }, { nowMs })).count).toBe(1)
    }
  })

  test('keep their places for a day at most, and those in flight for minutes', async () => {
    owner.portfolio.dailyLimit = null
    const now = Date.now()
    await keepHeldPlace(redis, owner, 'held')
    expect(verdicts(await ask(people(0, 3), now, 2))).toEqual(['ok', 'held', 'held'])
    expect(verdicts(await ask(people(0, 3), now + 6 * 60 * SECOND, 2))).toEqual(['ok', 'held', 'held'])
    expect(verdicts(await ask(people(0, 3), now + DAY + 60 * SECOND, 2))).toEqual(['ok', 'ok', 'ok'])
  })
})

describe('a portfolio', () => {
  test('is created, changed, listed, and removed once no sender belongs to it', async () => {
    const account = await createAccount(redis, 'of portfolios')
    const { id } = await createPortfolio(redis, {
      id: await newPortfolioId(redis),
      account,
      name: 'One',
      daily_limit: 250,
    })
    const record = { id, account, name: 'One', daily_limit: 250, reserve_percent: 10 }
    expect(await findPortfolio(redis, id)).toEqual(record)
    expect(await setPortfolio(redis, id, { daily_limit: null, reserve_percent: 0 })).toBe(true)
    expect(await listPortfolios(redis, account)).toEqual([{ ...record, daily_limit: null, reserve_percent: 0 }])
    const [shown] = await listPortfolios(redis, account)
    const document = shown && portfolioDocumentSchema.parse(await showPortfolio(redis, shown))
    expect(document).toMatchObject({ id, daily_limit: null, used: 0, free_at: null })
    expect(await setPortfolio(redis, 999, { name: 'x' })).toBe(false)

    const lane = await store.addSender()
    const sender = await findSender(redis, lane)
    if (!sender) throw new Error('no sender')
    expect(await rulesOwnerOf(redis, sender)).toEqual({ lane })
    expect(await joinPortfolio(redis, sender, id)).toBe(false)
    expect(await joinPortfolio(redis, { id: lane, account }, 999)).toBe(false)
    const { id: own } = await createPortfolio(redis, {
      id: await newPortfolioId(redis),
      account: sender.account,
      name: 'Two',
      daily_limit: 1_000,
    })
    expect(await joinPortfolio(redis, sender, own)).toBe(true)
    const joined = await findSender(redis, lane)
    expect(joined).toMatchObject({ portfolio: own, follow_provider: true })
    await setSenderProvider(redis, lane, { followProvider: false })
    expect(await findSender(redis, lane)).toMatchObject({ follow_provider: false })
    const rules = { id: own, dailyLimit: 1_000, reservePercent: 10 }
    expect(joined && (await rulesOwnerOf(redis, joined))).toEqual({ lane, portfolio: rules })
    expect(await removePortfolio(redis, { id: own, account: sender.account })).toEqual([lane])
    expect(await joinPortfolio(redis, sender, null)).toBe(true)
    expect(await removePortfolio(redis, { id: own, account: sender.account })).toEqual([])
    expect(await findPortfolio(redis, own)).toBeUndefined()
    expect(await listPortfolios(redis, sender.account)).toEqual([])
  })
})
