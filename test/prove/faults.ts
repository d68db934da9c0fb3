// The lying provider: which message meets which misbehaviour of WhatsApp, drawn from the seed and told to the
// simulator one recipient at a time, so that the judge knows what each message met.
import type { ChatProduct } from './chat-product.ts'
import type { Random } from './random.ts'

interface Fault {
  /** Name in the simulator's table. */
  behaviour: string
  /** Share of all messages. */
  share: number
  /** Whether WhatsApp takes the message all the same. */
  taken: boolean
  /** Whether the answer proves what became of it. */
  proves: boolean
}

/** 8 % in all: the mix that a plain retry turned into 9.9 % of messages sent twice. */
const LYING_PROVIDER: readonly Fault[] = [
  { behaviour: 'reset-after-accepting', share: 0.015, taken: true, proves: false },
  { behaviour: 'hang', share: 0.01, taken: true, proves: false },
  { behaviour: 'error-after-accepting', share: 0.01, taken: true, proves: false },
  { behaviour: 'garbage', share: 0.005, taken: true, proves: false },
  { behaviour: 'plain-500', share: 0.01, taken: false, proves: false },
  { behaviour: 'reset-before-accepting', share: 0.01, taken: false, proves: false },
  { behaviour: 'rate-limited', share: 0.02, taken: false, proves: true },
]

/** Trouble with status updates, drawn besides: it can meet the same message. */
const LYING_UPDATES: readonly Fault[] = [
  { behaviour: 'duplicate-webhooks', share: 0.05, taken: true, proves: true },
  { behaviour: 'no-webhooks', share: 0.005, taken: true, proves: true },
]

export interface PlannedFaults {
  /** Recipient → what it meets at its first request. */
  met: ReadonlyMap<string, Fault>
  /** Messages whose answer proves nothing. */
  withoutProof: number
}

/** Draws a fault for some of the recipients and tells the simulator; each is met once. */
export async function planFaults(
  chatProduct: ChatProduct,
  random: Random,
  recipients: readonly string[],
  tables: readonly (readonly Fault[])[] = [LYING_PROVIDER, LYING_UPDATES],
): Promise<PlannedFaults> {
  const met = new Map<string, Fault>()
  for (const table of tables) {
    for (const to of recipients) {
      const fault = drawn(table, random.next())
      if (!fault) continue
      if (!met.has(to)) met.set(to, fault)
      await chatProduct.control({ match: { to }, behaviour: fault.behaviour, count: 1 })
    }
  }
  return { met, withoutProof: [...met.values()].filter(({ proves }) => !proves).length }
}

function drawn(table: readonly Fault[], chance: number): Fault | undefined {
  let upTo = 0
  return table.find((fault) => {
    upTo += fault.share
    return chance < upTo
  })
}
