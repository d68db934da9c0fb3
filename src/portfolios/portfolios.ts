// The records of business portfolios. A portfolio is listed before its record is written, and the list counts only where
// the record is there: a process that dies in between has created nothing.
import { z } from 'zod'
import { listSenders, setPortfolioOf } from '../accounts/senders.ts'
import { RESERVE_PERCENT } from '../model/portfolio.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { portfolioKey, portfoliosOfAccountKey, rootKeys } from '../redis/keys.ts'
import { withLock } from '../redis/lock.ts'
import { setNewest } from '../redis/newest.ts'
import { idField, nextId, optionalField, readRecord } from '../redis/records.ts'

const portfolioSchema = z.object({
  id: idField,
  account: idField,
  name: z.string(),
  /** People in a moving 24 hours; null: no limit. */
  daily_limit: optionalField,
  reserve_percent: z.coerce.number().int().min(0).max(100).default(RESERVE_PERCENT),
})
export type Portfolio = z.infer<typeof portfolioSchema>

/** The changes of a portfolio; missing fields stay. */
export interface PortfolioChanges {
  name?: string | undefined
  daily_limit?: number | null | undefined
  reserve_percent?: number | undefined
}

/** An id for a new portfolio; an unused one leaves a gap. */
export const newPortfolioId = (redis: Redis): Promise<number> => nextId(redis, 'portfolio')

/** Creates a portfolio under an id of `newPortfolioId`; doing it again writes the same. */
export async function createPortfolio(
  redis: Redis,
  {
    id,
    account,
    name,
    daily_limit = null,
    reserve_percent = RESERVE_PERCENT,
  }: PortfolioChanges & Pick<Portfolio, 'id' | 'account' | 'name'>,
): Promise<Portfolio> {
  await redis.sadd(portfoliosOfAccountKey(account), id)
  await redis.hset(rootKeys.portfolios, id, account)
  await redis.hset(portfolioKey(id), { id, account, ...fieldsOf({ name, daily_limit, reserve_percent }) })
  return { id, account, name, daily_limit, reserve_percent }
}

/** A portfolio; undefined when there is none. Throws a CorruptRecordError. */
export async function findPortfolio(redis: Redis, id: number): Promise<Portfolio | undefined> {
  const raw = await redis.hgetall(portfolioKey(id))
  return Object.keys(raw).length === 0 ? undefined : readRecord(portfolioSchema, `portfolio ${id}`, raw)
}

/** The same, cached for a second. */
export const cachedPortfolio = cached(1_000, findPortfolio)

/** The account's portfolios, by id. */
export async function listPortfolios(redis: Redis, account: number): Promise<Portfolio[]> {
  const ids = (await redis.smembers(portfoliosOfAccountKey(account))).map(Number).sort((a, b) => a - b)
  const portfolios = await Promise.all(ids.map((id) => findPortfolio(redis, id)))
  return portfolios.filter((portfolio) => portfolio !== undefined)
}

/** Changes a portfolio; false when there is none. */
export function setPortfolio(redis: Redis, id: number, changes: PortfolioChanges): Promise<boolean> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    if ((await findPortfolio(redis, id)) === undefined) return false
    const fields = fieldsOf(changes)
    await assertHeld()
    if (Object.keys(fields).length > 0) await redis.hset(portfolioKey(id), fields)
    return true
  })
}

/** Sets the limit that WhatsApp reported at this time (epoch ms), unless a newer report is known. Null: no limit. */
export async function setReportedLimit(redis: Redis, id: number, limit: number | null, atMs: number): Promise<void> {
  const value = String(limit ?? '')
  await setNewest(redis, { key: portfolioKey(id), field: 'told_limit' }, { atMs, value }, { daily_limit: value })
}

function fieldsOf({ name, daily_limit, reserve_percent }: PortfolioChanges): Record<string, string | number> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(daily_limit === undefined ? {} : { daily_limit: daily_limit ?? '' }),
    ...(reserve_percent === undefined ? {} : { reserve_percent }),
  }
}

/**
 * Removes a portfolio without senders, and returns the lanes of those that still belong to it; empty when it is gone. Its counts expire
 * within 25 hours, its caps when they end (`LANEWAY_CAP_SECONDS`).
 */
export function removePortfolio(redis: Redis, { id, account }: Pick<Portfolio, 'id' | 'account'>): Promise<number[]> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    const senders = (await listSenders(redis, account)).filter(({ portfolio }) => portfolio === id)
    if (senders.length > 0) return senders.map((sender) => sender.id)
    await assertHeld()
    await redis.del(portfolioKey(id))
    await redis.hdel(rootKeys.portfolios, String(id))
    await redis.srem(portfoliosOfAccountKey(account), id)
    return []
  })
}

/** Deletes all portfolios of a removed account. */
export async function forgetPortfolios(redis: Redis, account: number): Promise<void> {
  for (const id of await redis.smembers(portfoliosOfAccountKey(account))) {
    await redis.del(portfolioKey(Number(id)))
    await redis.hdel(rootKeys.portfolios, id)
  }
  await redis.del(portfoliosOfAccountKey(account))
}

/**
 * Puts a sender into a portfolio of its account, or into none; false when there is no such portfolio. It holds within 2 s,
 * as a rate does; people whom the sender wrote to before are not counted in its new portfolio.
 */
export function joinPortfolio(
  redis: Redis,
  sender: { id: number; account: number },
  portfolio: number | null,
): Promise<boolean> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    const found = portfolio === null ? undefined : await findPortfolio(redis, portfolio)
    if (portfolio !== null && found?.account !== sender.account) return false
    await assertHeld()
    await setPortfolioOf(redis, sender.id, portfolio)
    return true
  })
}
