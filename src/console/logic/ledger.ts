// The ledger of a campaign: what became of every recipient, and whether that adds up to how many there are. The server
// promises that it does; the page does the sum again before the reader's eyes.
import { STATES, type State } from '../../messages/lifecycle.ts'

/** How many recipients are in each state, and how many there are. */
export type Progress = Record<State, number> & { total: number }

/** A line of the ledger. `done`: nothing more happens to these by our own doing. */
export interface LedgerLine {
  state: State
  count: number
  done: boolean
}

/** All lines of a campaign, and their sum beside the total. */
export interface Ledger {
  /** Every state in the order of a message's life, empty ones too. */
  lines: readonly LedgerLine[]
  sum: number
  total: number
  /** Whether sum and total are the same number. */
  addsUp: boolean
  /** Recipients that nothing more will happen to by our own doing. */
  settled: number
}

const UNSETTLED: readonly State[] = ['queued', 'sending', 'unconfirmed']

/** Adds the shares of a campaign up. */
export function ledgerOf(progress: Progress): Ledger {
  const lines = STATES.map((state) => ({ state, count: progress[state], done: !UNSETTLED.includes(state) }))
  const sum = lines.reduce((all, { count }) => all + count, 0)
  const settled = lines.reduce((all, { count, done }) => (done ? all + count : all), 0)
  return { lines, sum, total: progress.total, addsUp: sum === progress.total, settled }
}

/** The states that somebody is in, at least one: what the equation under the ledger names. */
export const termsOf = ({ lines }: Ledger): readonly LedgerLine[] => {
  const some = lines.filter(({ count }) => count > 0)
  return some.length > 0 ? some : lines.slice(0, 1)
}
