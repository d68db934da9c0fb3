// WhatsApp's own rules, checked before a message is claimed: caps on marketing per person, the number of messages out while some are held,
// and the people to whom a portfolio may write first in 24 hours. Each is one step in Redis, under one hash tag. The count for a message
// that does not leave is refunded; dying before that leaves it counted, which errs on the safe side.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { nameOfPerson, namesOfPerson } from '../kernel/sealed.ts'
import type { Names } from '../model/people/person.ts'
import { campaignLimit, type PortfolioDocument } from '../model/portfolio.ts'
import type { Redis } from '../redis/connect.ts'
import { rootKeys, rulesKeys } from '../redis/keys.ts'
import { defineScript, defineScriptOfMany } from '../redis/lua.ts'
import type { Portfolio } from './portfolios.ts'
import type { RulesOwner } from './rules-owner.ts'

/** A message that is about to be claimed. */
export interface Ask {
  /** Of the message, see kernel/message-id.ts. */
  name: string
  /** Of the recipient. */
  names: Names
  isMarketing: boolean
  isCampaign: boolean
  /** It is a template, and the person has not written within 24 hours: WhatsApp counts them. */
  opensConversation: boolean
}

/** Whether it may leave. `counted`: its person was counted. `hasHeldPlace`: it takes one of the held places. */
export type RuleVerdict =
  | { verdict: 'ok'; counted?: true; hasHeldPlace?: true }
  | { verdict: 'person_capped' | 'portfolio_limit' | 'held'; untilMs: number; waitMs: number }

/** The time, where it is not that of Redis. */
interface At {
  nowMs?: number | undefined
}

/** How long a message in flight has its place, if its end is never reported. */
const PLACE_MS = 5 * 60_000
/** The same for a held one: WhatsApp decides within hours, and reports it by webhook. */
const HELD_MS = 24 * 3_600_000

/** The field of a hash of people that is none of them: when those whose time is over were last removed. */
const PEOPLE = { tidied: 't' } as const

const checkScript = defineScriptOfMany(import.meta.url, 'rules-check', { names: { PEOPLE } })
const checkReply = z.array(
  z.union([
    z.tuple([z.literal('ok'), z.number(), z.number()]),
    z.tuple([z.enum(['person_capped', 'portfolio_limit', 'held']), z.number(), z.number()]),
  ]),
)

/** Which of these messages may leave, in order; those that may are counted. */
export async function checkProviderRules(
  redis: Redis,
  owner: RulesOwner,
  asks: readonly Ask[],
  { mostHeld, nowMs }: { mostHeld: number } & At,
): Promise<RuleVerdict[]> {
  if (asks.length === 0) return []
  const { budget, counts, held, cap, people } = keysOf(owner)
  const { dailyLimit, reservePercent } = owner.portfolio ?? { dailyLimit: null, reservePercent: 0 }
  const args = {
    caps: cap(''),
    people: people(''),
    ...(dailyLimit === null ? {} : { limit: dailyLimit, forCampaigns: campaignLimit(dailyLimit, reservePercent) }),
    ...{ mostHeld, placeMs: PLACE_MS, heldMs: HELD_MS, given: nowMs },
  }
  const each = asks.map(({ name, names, isMarketing, isCampaign, opensConversation }) => ({
    args: {
      ...{ message: name, names: isMarketing ? names.flatMap(namesOfPerson) : [], isMarketing, isCampaign },
      ...(opensConversation && dailyLimit !== null && budgetCell(names)),
    },
  }))
  const results = checkReply.parse(await checkScript(redis, { budget, counts, held }, args, each))
  return results.map((result) => {
    if (result[0] !== 'ok') return { verdict: result[0], untilMs: result[1], waitMs: result[2] }
    const [, counted, place] = result
    return { verdict: 'ok', ...(counted === 1 && { counted: true }), ...(place === 1 && { hasHeldPlace: true }) }
  })
}

const settleCountScript = defineScript(import.meta.url, 'rules-settle', { names: { PEOPLE } })

/** What was counted for a message. */
export interface Counted {
  name: string
  names: Names
  counted?: boolean | undefined
  hasHeldPlace?: boolean | undefined
}

/** Refunds the count of a message that is proven not to have left. */
export async function refundCount(redis: Redis, owner: RulesOwner, of: Counted, at: At = {}): Promise<void> {
  if (of.hasHeldPlace) await releaseHeldPlace(redis, owner, of.name)
  if (of.counted) await settleCount(redis, owner, of.names, false, at)
}

/**
 * Confirms the count: the message is proven to have left. If that is lost, the next message to the person counts them again, from then on.
 */
export const commitCount = (redis: Redis, owner: RulesOwner, names: Names, at: At = {}): Promise<void> =>
  settleCount(redis, owner, names, true, at)

async function settleCount(
  redis: Redis,
  owner: RulesOwner,
  names: Names,
  hasLeft: boolean,
  { nowMs }: At,
): Promise<void> {
  const { budget, counts, people } = keysOf(owner)
  await settleCountScript(
    redis,
    { budget, counts },
    { people: people(''), ...budgetCell(names), hasLeft, given: nowMs },
  )
}

const capScript = defineScript(import.meta.url, 'rules-cap')

/**
 * The person gets no marketing for so long from `atMs` on (now, where that is not known); of several times the latest
 * counts. Returns until when this one lasts (epoch ms).
 */
export async function cap(
  redis: Redis,
  owner: RulesOwner,
  to: string,
  { forMs, atMs, nowMs }: { forMs: number; atMs?: number | undefined } & At,
): Promise<number> {
  const { cap: keyOf, active } = keysOf(owner)
  const keys = { cap: keyOf(nameOfPerson(to)), active }
  return z.number().parse(await capScript(redis, keys, { forMs, at: atMs, given: nowMs }))
}

/**
 * Whether anybody may be capped or any message held. If not, and without a limit, every message may leave uncounted.
 */
export const hasActiveRules = async (redis: Redis, owner: RulesOwner): Promise<boolean> =>
  (await redis.exists(keysOf(owner).active)) === 1

/** Until when these people, with all their names, get no marketing (epoch ms), in their order. */
export async function cappedUntil(
  redis: Redis,
  owner: RulesOwner,
  people: readonly Names[],
): Promise<(number | undefined)[]> {
  if (people.length === 0) return []
  const keys = keysOf(owner)
  const names = people.map((each) => each.flatMap(namesOfPerson))
  const found = await redis.mget(names.flat().map((name) => keys.cap(name)))
  return names.map((each) => {
    const until = Math.max(...found.splice(0, each.length).map(Number))
    // Redis drops what is over.
    return until > 0 ? until : undefined
  })
}

/** Deletes the cap of an erased person. */
export async function forgetCap(
  redis: Redis,
  { lane = 0, portfolio }: { lane?: number; portfolio?: number },
  names: Names,
): Promise<void> {
  const keys = rulesKeys(lane, portfolio)
  await redis.del(names.flatMap(namesOfPerson).map((name) => keys.cap(name)))
}

const holderScript = defineScript(import.meta.url, 'rules-holder')
const holdScript = defineScript(import.meta.url, 'rules-hold')

/** Gives a message that WhatsApp holds a held place, until the hold ends, or for a day. */
export async function keepHeldPlace(redis: Redis, owner: RulesOwner, name: string, { nowMs }: At = {}): Promise<void> {
  const { held, active } = keysOf(owner)
  const { lane, portfolio } = owner
  // First: the review would never find a place of an unlisted holder.
  const holders = portfolio === undefined ? rootKeys.holdingLanes : rootKeys.holdingPortfolios
  const now = nowMs ?? Date.now()
  await holderScript(redis, { holders }, { holder: String(portfolio?.id ?? lane), now, heldMs: HELD_MS })
  await holdScript(redis, { held, active }, { message: name, heldMs: HELD_MS, given: nowMs })
}

/** Up to `most` lanes whose sender has no portfolio and may have messages that WhatsApp holds. */
export const lanesHolding = async (redis: Redis, most: number, { nowMs = Date.now() }: At = {}): Promise<number[]> =>
  (await redis.zrangebyscore(rootKeys.holdingLanes, nowMs, '+inf', 'LIMIT', 0, most)).map(Number)

/** The owner of held places: a portfolio, or a lane whose sender has none. */
export type Holder = { lane: number } | { portfolio: number }

/** Up to `most` of each that may have messages that WhatsApp holds. */
export async function holders(redis: Redis, most: number): Promise<Holder[]> {
  const [lanes, portfolios] = await Promise.all([
    lanesHolding(redis, most),
    redis.zrangebyscore(rootKeys.holdingPortfolios, Date.now(), '+inf', 'LIMIT', 0, most),
  ])
  return [...lanes.map((lane) => ({ lane })), ...portfolios.map((id) => ({ portfolio: Number(id) }))]
}

/** A held place. `isHeld`: of a message that WhatsApp holds; else of one in flight, which expires within minutes. */
export interface HeldPlace {
  name: string
  until: string
  isHeld: boolean
}

/** Up to `most` places, those that last longest first. */
export async function heldPlacesOf(redis: Redis, of: Holder, most: number): Promise<HeldPlace[]> {
  const found = await redis.zrevrange(heldKeyOf(of), 0, most - 1, 'WITHSCORES')
  const heldFrom = Date.now() + 2 * PLACE_MS
  const places: HeldPlace[] = []
  for (let i = 0; i < found.length; i += 2) {
    const [name = '', until = ''] = found.slice(i, i + 2)
    places.push({ name, until, isHeld: Number(until) > heldFrom })
  }
  return places
}

const releaseScript = defineScript(import.meta.url, 'rules-release')

/** Releases a place, unless its message has got another one meanwhile. */
export async function releaseSameHeldPlace(redis: Redis, of: Holder, { name, until }: HeldPlace): Promise<boolean> {
  return (await releaseScript(redis, { held: heldKeyOf(of) }, { message: name, expected: until })) === 1
}

const heldKeyOf = (of: Holder): string => ('lane' in of ? rulesKeys(of.lane) : rulesKeys(0, of.portfolio)).held

/** How many messages WhatsApp holds, and since when the first of them (epoch ms); undefined without one. */
export async function heldNow(
  redis: Redis,
  { lane = 0, portfolio }: { lane?: number; portfolio?: number },
  { nowMs = Date.now() }: At = {},
): Promise<{ count: number; sinceMs: number | undefined }> {
  const { held } = rulesKeys(lane, portfolio)
  // Places of messages in flight end sooner, as in rules-check.lua; twice as far off, since this process may be behind.
  const from = `(${nowMs + 2 * PLACE_MS}`
  const [count, first] = await Promise.all([
    redis.zcount(held, from, '+inf'),
    redis.zrangebyscore(held, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
  ])
  return { count, sinceMs: first[1] === undefined ? undefined : Number(first[1]) - HELD_MS }
}

/** Releases the held place of a message. */
export async function releaseHeldPlace(redis: Redis, owner: RulesOwner, name: string): Promise<void> {
  await redis.zrem(keysOf(owner).held, name)
}

/** Why campaigns send nothing for now. */
export interface Resting {
  why: 'portfolio_limit' | 'held'
  untilMs: number
}

/** Records that campaigns wait for a rule, until they check again after `forMs`. */
export async function noteResting(
  redis: Redis,
  owner: RulesOwner,
  { verdict, untilMs }: { verdict: string; untilMs: number },
  forMs: number,
): Promise<void> {
  // A little longer, so that the display does not flicker.
  await redis.set(keysOf(owner).resting, `${verdict} ${untilMs}`, 'PX', Math.ceil(forMs) + RESTING_KEPT_MS)
}
const RESTING_KEPT_MS = 3_000

/** Why campaigns send nothing, as last recorded by workers; undefined while they may. */
export async function restingOf(
  redis: Redis,
  { lane, portfolio }: { lane: number; portfolio?: { id: number } },
): Promise<Resting | undefined> {
  const [why, untilMs] = (await redis.get(rulesKeys(lane, portfolio?.id).resting))?.split(' ') ?? []
  return why === 'portfolio_limit' || why === 'held' ? { why, untilMs: Number(untilMs) } : undefined
}

const usageScript = defineScript(import.meta.url, 'rules-usage', { names: { PEOPLE } })
const usageReply = z.tuple([z.number(), z.number()])

/**
 * How many people are counted now, and when campaigns can write to somebody new again (epoch ms); undefined while they
 * can. Nobody is counted without a limit.
 */
export async function usage(
  redis: Redis,
  portfolio: NonNullable<RulesOwner['portfolio']>,
  { nowMs }: At = {},
): Promise<{ used: number; freeAtMs: number | undefined }> {
  const { id, dailyLimit, reservePercent } = portfolio
  const { budget, counts, people } = rulesKeys(0, id)
  const most = dailyLimit === null ? Number.MAX_SAFE_INTEGER : campaignLimit(dailyLimit, reservePercent)
  const reply = await usageScript(redis, { budget, counts }, { people: people(''), most, given: nowMs })
  const [used, freeAtMs] = usageReply.parse(reply)
  return { used, freeAtMs: freeAtMs === 0 ? undefined : freeAtMs }
}

/** To how many people campaigns may write first, now and on each coming day; null: no limit. */
export async function peopleAllowed(
  redis: Redis,
  { portfolio }: RulesOwner,
): Promise<{ now: number; a_day: number } | null> {
  if (portfolio === undefined || portfolio.dailyLimit === null) return null
  const a_day = campaignLimit(portfolio.dailyLimit, portfolio.reservePercent)
  const { used } = await usage(redis, portfolio)
  return { now: Math.max(0, a_day - used), a_day }
}

/** A portfolio as it is shown. */
export async function showPortfolio(redis: Redis, portfolio: Portfolio, at: At = {}): Promise<PortfolioDocument> {
  const { id, account, name, daily_limit, reserve_percent } = portfolio
  const [{ used, freeAtMs }, { count: held }] = await Promise.all([
    usage(redis, { id, dailyLimit: daily_limit, reservePercent: reserve_percent }, at),
    heldNow(redis, { portfolio: id }, at),
  ])
  const free_at = freeAtMs === undefined ? null : new Date(freeAtMs).toISOString()
  return { id, account, name, daily_limit, reserve_percent, used, free_at, held }
}

const keysOf = ({ lane, portfolio }: RulesOwner): ReturnType<typeof rulesKeys> => rulesKeys(lane, portfolio?.id)

/**
 * The hash that a person is counted in, and their five bytes there, by the first of their names. If that name has changed since they were
 * counted, they are counted again.
 */
function budgetCell([first = '']: Names): { bucketHash: number; personHash: number } {
  const digest = createHash('sha256').update(nameOfPerson(first)).digest()
  return { bucketHash: digest.readUInt32LE(0), personHash: digest.readUIntLE(4, 5) }
}
