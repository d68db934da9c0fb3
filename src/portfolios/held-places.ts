// Held places: how many messages may be out while WhatsApp holds some back to measure how people react to their template. A message
// has a place from its claim until its answer, and one that WhatsApp holds until the hold ends.
import { DAY_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { rootKeys, rulesKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { type At, type RulesOwner, rulesKeysOf } from './rules-owner.ts'

/** How long a message in flight has its place, if its end is never reported. */
export const PLACE_MS = 5 * 60_000
/** The same for a held one: WhatsApp decides within hours, and reports it by webhook. */
export const HELD_MS = DAY_MS

const holderScript = defineScript(import.meta.url, 'rules-holder')
const holdScript = defineScript(import.meta.url, 'rules-hold')

/** Gives a message that WhatsApp holds a held place, until the hold ends, or for a day. */
export async function keepHeldPlace(redis: Redis, owner: RulesOwner, name: string, { nowMs }: At = {}): Promise<void> {
  const { held, active } = rulesKeysOf(owner)
  const { lane, portfolio } = owner
  // First: a stale place of an unlisted holder would never be found (worker/recovery/stale-places.ts).
  const holders = portfolio === undefined ? rootKeys.holdingLanes : rootKeys.holdingPortfolios
  const now = nowMs ?? Date.now()
  await holderScript(redis, { holders }, { holder: String(portfolio?.id ?? lane), now, heldMs: HELD_MS })
  await holdScript(redis, { held, active }, { message: name, heldMs: HELD_MS, given: nowMs })
}

/** Up to `most` lanes whose sender has no portfolio and may have messages that WhatsApp holds. */
export const lanesHolding = async (redis: Redis, most: number): Promise<number[]> =>
  (await redis.zrangebyscore(rootKeys.holdingLanes, Date.now(), '+inf', 'LIMIT', 0, most)).map(Number)

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
  await redis.zrem(rulesKeysOf(owner).held, name)
}
