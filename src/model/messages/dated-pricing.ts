// The pricing in the record of a message: its time in base 36, then the packed pricing (pricing.ts), so that of several the last one
// counts. Pure.

import { type Pricing, unpackPricing } from './pricing.ts'

/** How far WhatsApp's clock may be behind ours (s). */
const BEHIND = 3_600
/** Of one second the status that comes later in a message's life counts. */
const RANKS = { failed: 0, sent: 1, delivered: 2, read: 3 } as const

/** The pricing of a status at this time, as an argument of the message's step. */
export function datedPricing(
  packed: string,
  { status, atMs, acceptedAtMs }: { status: keyof typeof RANKS; atMs: number; acceptedAtMs: number },
): string {
  const seconds = Math.max(0, Math.floor((atMs - acceptedAtMs) / 1_000) + BEHIND)
  return (4 * seconds + RANKS[status]).toString(36) + packed
}

/** The pricing in a record. */
export function pricingOf(stored: string): Pricing | undefined {
  const brace = stored.indexOf('{')
  return unpackPricing(brace < 0 ? stored.slice(-2) : stored.slice(brace))
}
