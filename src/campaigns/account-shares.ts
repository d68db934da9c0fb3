// A fair semaphore over accounts: an account may hold as many slots of a worker as are left free, so half of them when it is alone.
// Jobs that find none wait in line; the account that holds the fewest gets the next free slot.

/** How long a freed slot is reserved for the next job in the queue. */
const KEPT_MS = 2_000
/** Longest line of one account; further names are not queued and try again by themselves. */
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

  /** The account in line that may take more and holds the fewest; of several the one that waits longest. */
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

    /** Releases a slot. Returns the names that may come now; a slot is reserved for each of them for a moment. */
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

    /** Whether any job waits in line. */
    isWanted: (): boolean => lines.size > 0,

    /** How long (ms) a job in line waits at most before it tries by itself. */
    patienceMs: (account: number): number => 5_000 + 30 * (lines.get(account)?.size ?? 0),
  }
}
