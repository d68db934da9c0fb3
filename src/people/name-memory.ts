// A cache of the namings that this process has learned from answers of the provider, so that the next answer about the same person needs
// no Redis. Only for speed: an evicted naming is learned again, with the same result.
import { LRUCache } from 'lru-cache'
import { mostEntries } from '../kernel/most-entries.ts'
import { isUserId } from '../kernel/recipient.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import type { Names } from '../model/people/person.ts'

/** People in the cache: some 2 MB. */
const PEOPLE = 10_000
const REMEMBERED_MS = HOUR_MS

export type NameMemory = ReturnType<typeof createNameMemory>

/** An empty cache. */
export function createNameMemory() {
  const seen = new LRUCache<string, Names>({ ...mostEntries(PEOPLE), ttl: REMEMBERED_MS, perf: performance })
  return {
    /**
     * Whether these names of one person may be new, and caches them. Known names are not new, nor is a user id that was answered for
     * somebody else.
     */
    isNew(account: number, names: Names): boolean {
      const key = keyOf(account, names)
      const known = seen.get(key)
      if (
        known !== undefined &&
        (isAmong(names, known) || !names.some((name) => !isUserId(name) && known.includes(name)))
      )
        return false
      seen.set(key, names)
      return true
    },

    /** Evicts names that were not learned after all. */
    forget: (account: number, names: Names): boolean => seen.delete(keyOf(account, names)),
  }
}

const keyOf = (account: number, names: Names): string => `${account} ${names.find(isUserId) ?? names.join()}`

const isAmong = (names: Names, known: Names): boolean => names.every((name) => known.includes(name))
