// Whether anything was sent, or is to be, as far as the figures of a moment tell.
import type { Snapshot } from '../../telemetry/snapshot.ts'

const HAS_BEGUN: ReadonlySet<string> = new Set(['running', 'paused', 'done'])

/** The list of messages has those of a campaign only once they were taken up; the figures have them from its start. */
export const isAtWork = ({ totals, campaigns }: Pick<Snapshot, 'totals' | 'campaigns'>): boolean =>
  totals.waiting > 0 || totals.unconfirmed > 0 || campaigns.some(({ state }) => HAS_BEGUN.has(state))
