// WhatsApp's own rules, checked before a message is claimed: caps on marketing per person, the number of messages out while some are held,
// and the people to whom a portfolio may write first in 24 hours. Each is one step in Redis, under one hash tag. The count for a message
// that does not leave is refunded; dying before that leaves it counted, which errs on the safe side.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { nameOfPerson, namesOfPerson } from '../kernel/sealed.ts'
import type { Names } from '../model/people/person.ts'
import { campaignLimit } from '../model/portfolio.ts'
import type { Redis } from '../redis/connect.ts'
import { defineScript, defineScriptOfMany } from '../redis/lua.ts'
import { HELD_MS, PLACE_MS, releaseHeldPlace } from './held-places.ts'
import { type At, type RulesOwner, type RulesOwnerId, rulesKeysOf } from './rules-owner.ts'

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

/** The field of a hash of people that is none of them: when those whose time is over were last removed. */
export const PEOPLE = { tidied: 't' } as const

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
  const { budget, counts, held, cap, people } = rulesKeysOf(owner)
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
  const { budget, counts, people } = rulesKeysOf(owner)
  await settleCountScript(
    redis,
    { budget, counts },
    { people: people(''), ...budgetCell(names), hasLeft, given: nowMs },
  )
}

/**
 * Whether anybody may be capped or any message held. If not, and without a limit, every message may leave uncounted.
 */
export const hasActiveRules = async (redis: Redis, owner: RulesOwnerId): Promise<boolean> =>
  (await redis.exists(rulesKeysOf(owner).active)) === 1

/**
 * The hash that a person is counted in, and their five bytes there, by the first of their names. If that name has changed since they were
 * counted, they are counted again.
 */
function budgetCell([first = '']: Names): { bucketHash: number; personHash: number } {
  const digest = createHash('sha256').update(nameOfPerson(first)).digest()
  return { bucketHash: digest.readUInt32LE(0), personHash: digest.readUIntLE(4, 5) }
}
