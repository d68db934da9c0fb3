// A wrong key costs whoever sends it time, not us: an address that sends many of them gets its refusals late. Only
// refusals: behind a proxy all clients have one address, and a good key from there is answered as ever.
import { setTimeout as sleep } from 'node:timers/promises'
import { clientOf } from '../accounts/networks.ts'

/** Refusals that an address gets at once, and how many more each second. */
const AT_ONCE = 300
const A_SECOND = 50
/** Longest that a refusal is held back. */
const LATEST_MS = 2_000
/** Refusals held back at a time in the process; more are answered at once. */
const HELD_MAX = 1_000
/** Addresses that are remembered; beyond it all are forgotten. */
const ADDRESSES_MAX = 10_000

export type WrongKeys = ReturnType<typeof createWrongKeys>

/** Answers to wrong keys of a process. */
export function createWrongKeys(clock = () => performance.now()) {
  /** Client → when its next refusal would be due if they came one each 20 ms. */
  const due = new Map<string, number>()
  let held = 0

  return {
    /** How long a refusal for this address has to wait (ms); counts it. */
    delayOf(address: string): number {
      const client = clientOf(address)
      const now = clock()
      if (due.size >= ADDRESSES_MAX && !due.has(client)) due.clear()
      const at =
        Math.max(due.get(client) ?? Number.NEGATIVE_INFINITY, now - (AT_ONCE / A_SECOND) * 1_000) + 1_000 / A_SECOND
      due.set(client, Math.min(at, now + LATEST_MS))
      return Math.min(Math.max(0, at - now), LATEST_MS)
    },
    /** Resolves when a refusal for this address may be answered. */
    async wait(address: string): Promise<void> {
      const ms = this.delayOf(address)
      if (ms <= 0 || held >= HELD_MAX) return
      held += 1
      await sleep(ms)
      held -= 1
    },
  }
}
