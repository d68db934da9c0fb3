// How often somebody may try to sign in with a wrong key. No key of 190 bits is ever guessed; the limit is there for the
// log, which a program that tries would fill, and for keys of which somebody knows a part.
import { LRUCache } from 'lru-cache'
import { clientOf } from '../../../accounts/networks.ts'

/** Wrong keys of one address within a minute. Behind a proxy all clients have one, so the right key must not wait long. */
const MOST = 10
const WINDOW_MS = 60_000
/** Addresses that are remembered. */
const ADDRESSES_MAX = 10_000

/** Counts in this process; `perf` is the clock. */
export function createSignInAttempts(perf: { now: () => number } = performance) {
  const wrong = new LRUCache<string, { count: number; untilMs: number }>({ max: ADDRESSES_MAX })

  return {
    /** How many seconds the address has to wait; 0 when it may try. */
    waitSeconds(address: string): number {
      const known = wrong.get(clientOf(address))
      if (known === undefined || known.count < MOST) return 0
      return Math.max(0, Math.ceil((known.untilMs - perf.now()) / 1_000))
    },

    /** A wrong key came from there. The window begins with the first of them. */
    failed(address: string): void {
      const client = clientOf(address)
      const known = wrong.get(client)
      if (known !== undefined && known.untilMs > perf.now()) known.count += 1
      else wrong.set(client, { count: 1, untilMs: perf.now() + WINDOW_MS })
    },
  }
}
