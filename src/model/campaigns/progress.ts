// The progress of a campaign. The counts in Redis change in the same step as each message, and recipients without a message are the
// rest of the total: so the figures always add up to the number of recipients, by construction.

import { STATES, type State } from '../messages/lifecycle.ts'
import { type CampaignState, hasEnded } from './lifecycle.ts'

/** How many recipients are in each state; the sum is the number of recipients. */
export type Shares = Record<State, number>

const NONE: Shares = {
  queued: 0,
  sending: 0,
  unconfirmed: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  expired: 0,
  cancelled: 0,
  unknown: 0,
}

/** `counts` of the messages that have a record, by state. Recipients without one wait, or were never claimed. */
export function sharesOf(counts: Partial<Shares>, total: number, state: CampaignState): Shares {
  const shares: Shares = { ...NONE, ...counts }
  const untouched = Math.max(0, total - STATES.reduce((sum, each) => sum + shares[each], 0))
  shares[state === 'cancelled' ? 'cancelled' : 'queued'] += untouched
  return shares
}

/** Recipients whose message Laneway itself may still change. */
export const unsettled = (shares: Shares): number => shares.queued + shares.sending + shares.unconfirmed

/** Recipients whose message is settled, by the provider or by Laneway. */
export const concluded = ({ sent, delivered, read, failed, expired, cancelled }: Shares): number =>
  sent + delivered + read + failed + expired + cancelled

/** Recipients whose phone has the message, whether they have read it or not. */
export const deliveredTotal = ({ delivered, read }: Pick<Shares, 'delivered' | 'read'>): number => delivered + read

/** Whether nothing leaves any more, and only evidence of what has left is missing. */
export const onlyWaitsForEvidence = ({ queued, sending, unconfirmed }: Shares): boolean =>
  queued + sending === 0 && unconfirmed > 0

/** The measured rate as it is shown: a campaign that has sent nothing, or has nothing left to send, has none. */
export const shownRate = (shares: Shares, measured: number): number =>
  shares.sent + deliveredTotal(shares) === 0 || onlyWaitsForEvidence(shares) ? 0 : measured

/**
 * Seconds until the last message leaves: at the rate measured lately, else at the pace of the lane shared with
 * `running` campaigns, beginning in `waitMs`, which is negative if the wait has ended but has not been re-read;
 * undefined when nothing is on its way, or nobody knows, because the last messages wait for evidence.
 */
export function secondsLeft(
  shares: Shares,
  state: CampaignState,
  pace: { measured: number; laneRate: number; running: number },
  waitMs = 0,
): number | undefined {
  if (hasEnded(state) || state === 'paused' || onlyWaitsForEvidence(shares)) return undefined
  const rate = pace.measured > 0 ? pace.measured : pace.laneRate / Math.max(1, pace.running)
  return Math.ceil(shares.queued / rate + (shares.queued > 0 ? Math.max(0, waitMs) / 1_000 : 0))
}
