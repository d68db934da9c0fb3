// The states and moves of a campaign, said once here: recipients/scripts/campaign-move.lua makes a move in Redis and gets the
// states that it may start from.
//
//   draft ─> checking ─> ready ─> scheduled ─> running ⇄ paused
//              │ ▲         └───────────────────>│ │
//              ▼ │                              │ └─> done
//            blocked                            └───> cancelled    (also from every state before)
import { STATES, type State } from '../messages/lifecycle.ts'

export const CAMPAIGN_STATES = [
  'draft',
  'checking',
  'ready',
  'blocked',
  'scheduled',
  'running',
  'paused',
  'done',
  'cancelled',
] as const
export type CampaignState = (typeof CAMPAIGN_STATES)[number]

export type CampaignMove =
  /** Other recipients were uploaded: the preflight is void. */
  | 'upload'
  /** Preflight begins. */
  | 'check'
  /** Preflight found no problem. */
  | 'pass'
  /** Preflight found problems. */
  | 'block'
  | 'schedule'
  | 'start'
  /** By a person or by the circuit breaker. */
  | 'pause'
  | 'resume'
  /** Nothing is left to send or to decide. */
  | 'finish'
  | 'cancel'
  /** Nobody has started it for months. */
  | 'expire'

interface Rule {
  from: readonly CampaignState[]
  to: CampaignState
  /**
   * States in which the move was made already, or from which the campaign went on by itself: asking again, as after a lost answer,
   * changes nothing and is no error.
   */
  already?: readonly CampaignState[]
}

export const CAMPAIGN_MOVES: Readonly<Record<CampaignMove, Rule>> = {
  upload: { from: ['draft', 'ready', 'blocked'], to: 'draft' },
  check: { from: ['draft', 'ready', 'blocked'], to: 'checking', already: ['checking'] },
  pass: { from: ['checking'], to: 'ready' },
  block: { from: ['checking', 'ready', 'scheduled'], to: 'blocked' },
  schedule: { from: ['ready', 'scheduled'], to: 'scheduled' },
  start: { from: ['ready', 'scheduled'], to: 'running', already: ['running', 'done'] },
  pause: { from: ['running'], to: 'paused', already: ['paused'] },
  resume: { from: ['paused'], to: 'running', already: ['running', 'done'] },
  finish: { from: ['running'], to: 'done' },
  cancel: {
    from: ['draft', 'checking', 'ready', 'blocked', 'scheduled', 'running', 'paused'],
    to: 'cancelled',
    already: ['cancelled'],
  },
  expire: { from: ['draft', 'ready', 'blocked'], to: 'cancelled' },
}

/** Prefix of the reason of a campaign that was paused for its template. */
export const TEMPLATE_PAUSED = 'template_paused'

/** States in which nothing is ever sent again. */
export const hasEnded = (state: CampaignState): boolean => state === 'done' || state === 'cancelled'

/** States before the start: no recipient has a message yet, although the figures count each of them as queued. */
export const isBeforeStart = (state: CampaignState): boolean =>
  ['draft', 'checking', 'ready', 'blocked', 'scheduled'].includes(state)

// Campaign ids: `cmp_<lane>_<number>`. The number is short because every message record of the campaign holds it.

/** The parts of a campaign's id. `lane` is the number of its sender; `number` is unique in the installation. */
export interface CampaignId {
  lane: number
  number: number
}

const SHAPE = /^cmp_([1-9]\d{0,14})_([1-9]\d{0,14})$/

/** `cmp_<lane>_<number>`. */
export const campaignId = (id: CampaignId): string => `cmp_${id.lane}_${id.number}`

/** The parts of a campaign id, or undefined for any other string. */
export function parseCampaignId(text: string): CampaignId | undefined {
  const match = SHAPE.exec(text)
  return match ? { lane: Number(match[1]), number: Number(match[2]) } : undefined
}

export type RowFormat = 'csv' | 'ndjson'

export const EXPORT_FORMATS = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

// The progress of a campaign. The counts in Redis change in the same step as each message, and recipients without a message are the
// rest of the total: so the figures always add up to the number of recipients, by construction.

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

/** The measured rate as it is shown: a campaign that has sent nothing has none. */
export const shownRate = ({ sent, delivered, read }: Shares, measured: number): number =>
  sent + delivered + read === 0 ? 0 : measured

/**
 * Seconds until the last message leaves: at the rate measured lately, else at the pace of the lane shared with
 * `running` campaigns, beginning in `waitMs`; undefined when nothing is on its way.
 */
export function secondsLeft(
  shares: Shares,
  state: CampaignState,
  pace: { measured: number; laneRate: number; running: number },
  waitMs = 0,
): number | undefined {
  if (hasEnded(state) || state === 'paused') return undefined
  const rate = pace.measured > 0 ? pace.measured : pace.laneRate / Math.max(1, pace.running)
  return Math.ceil(shares.queued / rate + (shares.queued > 0 ? waitMs / 1_000 : 0))
}
