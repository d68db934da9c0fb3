// Shares the slots of a worker among accounts, like a semaphore: an account may hold as many as are left free, so half of
// them when it is alone. A job that finds none waits in line; the account that holds the fewest gets the next free one.

/** How long a freed slot is reserved for the next job in the queue. */
const KEPT_MS = 2_000
/** Longest line of one account; further names are not remembered and ask again by themselves. */
const LONGEST_LINE = 10_000

export type Shares = ReturnType<typeof createShares>

/** `most` slots in all, `mostEach` of them for one account at most. */
export function createShares(
  { most, mostEach = most }: { most: number; mostEach?: number },
  now: () => number = () => performance.now(),
) {
  const held = new Map<number, number>()
  /** Names in the order in which they came, by account. */
  const lines = new Map<number, Set<string>>()
  const kept = new Map<string, { account: number; until: number }>()

  function take(account: number, by: 1 | -1): void {
    const count = (held.get(account) ?? 0) + by
    if (count > 0) held.set(account, count)
    else held.delete(account)
  }

  function dropOldKept(): void {
    for (const [name, { account, until }] of kept) {
      if (until > now()) break
      kept.delete(name)
      take(account, -1)
    }
  }

  function hasRoom(account: number): boolean {
    let total = 0
    for (const count of held.values()) total += count
    const own = held.get(account) ?? 0
    return own < mostEach && own < most - total
  }

  function leaveLine(account: number, name: string): void {
    const line = lines.get(account)
    line?.delete(name)
    if (line?.size === 0) lines.delete(account)
  }

  /** The account in line that has room and holds the fewest; of several the one that was named the longest ago. */
  function nextAccount(): number | undefined {
    let next: number | undefined
    for (const account of lines.keys()) {
      if (!hasRoom(account)) continue
      if (next === undefined || (held.get(account) ?? 0) < (held.get(next) ?? 0)) next = account
    }
    return next
  }

  return {
    /** True: it has a slot, and releases it with `leave`. False: it is queued. */
    enter(account: number, name: string): boolean {
      dropOldKept()
      if (kept.delete(name)) return true
      if (hasRoom(account)) {
        leaveLine(account, name)
        take(account, 1)
        return true
      }
      const line = lines.get(account) ?? new Set()
      if (line.size < LONGEST_LINE) lines.set(account, line.add(name))
      return false
    },

    /** Gives a hand back. Returns the names that may come now; a hand is kept for each of them for a moment. */
    leave(account: number): string[] {
      dropOldKept()
      take(account, -1)
      const named: string[] = []
      for (let next = nextAccount(); next !== undefined; next = nextAccount()) {
        const [name = ''] = lines.get(next) ?? []
        leaveLine(next, name)
        const rest = lines.get(next)
        if (rest !== undefined && lines.delete(next)) lines.set(next, rest)
        take(next, 1)
        kept.set(name, { account: next, until: now() + KEPT_MS })
        named.push(name)
      }
      return named
    },

    /** Whether anybody stands in line. */
    isWanted: (): boolean => lines.size > 0,

    /** How long (ms) one that stands in line waits at most before it asks by itself. */
    patienceMs: (account: number): number => 5_000 + 30 * (lines.get(account)?.size ?? 0),
  }
}
