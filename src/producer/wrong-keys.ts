// Delays refusals of wrong keys. An address that sends many of them gets its refusals late; valid keys are not delayed, because behind a
// proxy all clients have one address.
import { setTimeout as sleep } from 'node:timers/promises'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { clientOf } from '../kernel/networks.ts'
import { consume } from './rate-limits.ts'

/** Refusals of wrong keys that an address gets at once, in so many seconds. */
const WRONG_KEYS = 300
const WRONG_KEYS_SECONDS = 6
/** Longest that a refusal is held back. */
const LATEST_MS = 2_000
/** Refusals held back at a time in the process; more are answered at once. */
const HELD_MAX = 1_000

export type WrongKeys = ReturnType<typeof createWrongKeys>

/** The delays of a process. */
export function createWrongKeys() {
  const refusals = new RateLimiterMemory({ points: WRONG_KEYS, duration: WRONG_KEYS_SECONDS })
  let held = 0

  return {
    /** How long a refusal for this address has to wait (ms); counts it. */
    async delayOf(address: string): Promise<number> {
      return Math.min((await consume(refusals, clientOf(address))).waitMs, LATEST_MS)
    },
    /** Resolves when a refusal for this address may be answered. */
    async wait(address: string): Promise<void> {
      const ms = await this.delayOf(address)
      if (ms <= 0 || held >= HELD_MAX) return
      held += 1
      await sleep(ms)
      held -= 1
    },
  }
}
