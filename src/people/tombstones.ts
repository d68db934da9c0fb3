// Tombstones of erased people, without their numbers: a campaign older than the erasure sends them nothing, whatever its
// list says, and what they wrote before it is not stored again, however often a webhook brings it. A tombstone is an HMAC under
// the secret key of the installation, so that a copy of Redis does not show whether a number was ever known here. A later
// campaign may write to the person again, on purpose: a person who comes back is not kept out for ever.
import { createHmac } from 'node:crypto'
import { DAY_MS } from '../kernel/time-units.ts'
import type { Redis } from '../redis/connect.ts'
import { contactKeys } from '../redis/keys.ts'
import { execOrThrow } from '../redis/records.ts'
import { namesOf } from './names/names.ts'

/** WhatsApp repeats a webhook for 7 days. */
const REPEATED_MS = 8 * DAY_MS

/** How long tombstones are kept: longer than any message that they keep from coming back. */
export const tombstonesKeptMs = ({ retentionMs }: { retentionMs: number }): number => Math.max(retentionMs, REPEATED_MS)

export type Tombstones = ReturnType<typeof createTombstones>

/** The tombstones of all accounts. The first of the secrets writes; tombstones of any of them are found. */
export function createTombstones(redis: Redis, secrets: readonly string[]) {
  const hmacOf = (secret: string, account: number, person: string): string =>
    createHmac('sha256', secret).update(`laneway tombstone\n${account}\n${person}`).digest('base64url')

  return {
    /** Campaigns created before now skip this person, under all their names, for `keepMs`. Repeating it restarts that. */
    async bury(account: number, person: string, nowMs: number, keepMs: number): Promise<void> {
      const key = contactKeys(account).tombstones
      const hmacs = (await namesOf(redis, account, person)).map((name) => hmacOf(secrets[0] ?? '', account, name))
      const transaction = redis.multi().zadd(key, ...hmacs.flatMap((hmac) => [nowMs, hmac]))
      await execOrThrow(transaction.zremrangebyscore(key, '-inf', nowMs - keepMs).pexpire(key, keepMs))
    },

    /** Those of these names whose people were erased since then. */
    async erasedOf(account: number, people: readonly string[], sinceMs: number): Promise<Set<string>> {
      const erased = new Set<string>()
      if (people.length === 0) return erased
      // Almost always empty: then no lookup is needed.
      if ((await redis.zcount(contactKeys(account).tombstones, sinceMs, '+inf')) === 0) return erased
      for (const secret of secrets) {
        const hmacs = people.map((person) => hmacOf(secret, account, person))
        const found = await redis.zmscore(contactKeys(account).tombstones, ...hmacs)
        for (const [i, at] of found.entries()) {
          const person = people[i]
          if (person !== undefined && at !== null && Number(at) >= sinceMs) erased.add(person)
        }
      }
      return erased
    },
  }
}
