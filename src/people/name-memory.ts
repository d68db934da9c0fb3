// What answers of the provider have taught this process lately, so that the next answer about the same person asks nothing of
// Redis. It is only for speed: what is forgotten here is learned once more, and comes to the same.
import { LRUCache } from 'lru-cache'
import { isUserId } from '../kernel/recipient.ts'
import type { Names } from '../model/people/person.ts'

/** People that are remembered: some 2 MB. */
const PEOPLE = 10_000
const REMEMBERED_MS = 3_600_000

export type NameMemory = ReturnType<typeof createNameMemory>

/** An empty memory. */
export function createNameMemory() {
  const seen = new LRUCache<string, Names>({ max: PEOPLE, ttl: REMEMBERED_MS, perf: performance })
  return {
    /**
     * Whether there may be anything to learn from these names of one person, and remembers them. There is nothing in what was
     * learned, nor in a user id that was answered for somebody else.
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

    /** They were not learned after all. */
    forget: (account: number, names: Names): boolean => seen.delete(keyOf(account, names)),
  }
}

const keyOf = (account: number, names: Names): string => `${account} ${names.find(isUserId) ?? names.join()}`

const isAmong = (names: Names, known: Names): boolean => names.every((name) => known.includes(name))
