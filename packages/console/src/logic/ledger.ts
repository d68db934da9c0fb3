// The figures of a campaign: a funnel, and the ledger: the state of every recipient, and whether the states add up to the
// total. The server promises that they do; the page adds them up again for everybody to see.
import { STATES, type State } from '../../../../src/model/messages/lifecycle.ts'
import { countText } from './numbers.ts'

/** How many recipients are in each state, and how many there are. */
export type Progress = Record<State, number> & { total: number }

/** A step of the funnel: how many, and of what they are a part. Those in a `state` of their own can be searched for. */
interface Step {
  count: number
  of: number
  whole: string
  state?: State
}

/** How far messages came. One that was read was delivered, and one that was delivered was sent. */
export function funnelOf(progress: Progress & { delivered_total: number; replied: number }) {
  const { total, delivered_total: delivered, read, replied, failed } = progress
  const sent = progress.sent + delivered
  return {
    Sent: { count: sent, of: total, whole: 'of the recipients' },
    Delivered: { count: delivered, of: sent, whole: 'of the sent' },
    Read: { count: read, of: delivered, whole: 'of the delivered', state: 'read' },
    Replied: { count: replied, of: delivered, whole: 'of the delivered' },
    Failed: { count: failed, of: total, whole: 'of the recipients', state: 'failed' },
  } satisfies Record<string, Step>
}

const BESIDE = {
  Unconfirmed: { state: 'unconfirmed', means: 'waiting for evidence' },
  Unknown: { state: 'unknown', means: 'never proven sent or not sent' },
  Expired: { state: 'expired', means: 'not sent in time' },
  Cancelled: { state: 'cancelled', means: 'not sent' },
} as const

/** Recipients who came to a halt beside the funnel, by name; only those that there are. */
export const besideFunnel = (progress: Progress) =>
  Object.entries(BESIDE).flatMap(([name, { state, means }]) => {
    const count = progress[state]
    return count === 0 ? [] : [{ name, count, state, means }]
  })

/** Such as `8 unconfirmed, 2 unknown`: messages that may have left, or not; undefined if there are none. */
export const uncertainText = (progress: Progress): string | undefined =>
  (['unconfirmed', 'unknown'] as const)
    .flatMap((state) => (progress[state] === 0 ? [] : [`${countText(progress[state])} ${state}`]))
    .join(', ') || undefined

const UNSETTLED: readonly State[] = ['queued', 'sending', 'unconfirmed']

/**
 * Adds the states up. `lines` has every state in the order of a message's life, `terms` only those with recipients, but at
 * least one. For `settled` recipients Laneway does nothing more.
 */
export function ledgerOf(progress: Progress) {
  const lines = STATES.map((state) => ({ state, count: progress[state] }))
  const sumOf = (some: typeof lines): number => some.reduce((sum, { count }) => sum + count, 0)
  const filled = lines.filter(({ count }) => count > 0)
  return {
    lines,
    terms: filled.length > 0 ? filled : lines.slice(0, 1),
    sum: sumOf(lines),
    addsUp: sumOf(lines) === progress.total,
    settled: sumOf(lines.filter(({ state }) => !UNSETTLED.includes(state))),
  }
}
