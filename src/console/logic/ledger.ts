// The ledger of a campaign: the state of every recipient, and whether the states add up to the total. The server promises
// that they do; the page adds them up again for everybody to see.
import { STATES, type State } from '../../messages/lifecycle.ts'

/** How many recipients are in each state, and how many there are. */
export type Progress = Record<State, number> & { total: number }

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
