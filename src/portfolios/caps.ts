// Caps: until when a person has had enough marketing, by WhatsApp's word. A cap holds for all senders of a portfolio, or for the one sender
// that belongs to none.
import { z } from 'zod'
import { nameOfPerson, namesOfPerson } from '../kernel/sealed.ts'
import type { Names } from '../model/people/person.ts'
import type { Redis } from '../redis/connect.ts'
import { rulesKeys } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { type At, type RulesOwner, type RulesOwnerId, rulesKeysOf } from './rules-owner.ts'

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
  const { cap: keyOf, active } = rulesKeysOf(owner)
  const keys = { cap: keyOf(nameOfPerson(to)), active }
  return z.number().parse(await capScript(redis, keys, { forMs, at: atMs, given: nowMs }))
}

/** Until when these people, with all their names, get no marketing (epoch ms), in their order. */
export async function cappedUntil(
  redis: Redis,
  owner: RulesOwnerId,
  people: readonly Names[],
): Promise<(number | undefined)[]> {
  if (people.length === 0) return []
  const keys = rulesKeysOf(owner)
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
