// The life of a campaign as a table. campaigns/store/scripts/campaign-move.lua carries a move out in Redis and gets the
// states from which it is allowed as an argument, so this table is the only place that knows.
//
//   draft ─> checking ─> ready ─> scheduled ─> running ⇄ paused
//              │ ▲         └───────────────────>│ │
//              ▼ │                              │ └─> done
//            blocked                            └───> cancelled    (also from every state before)

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
  /** Other recipients were uploaded: what was checked is void. */
  | 'upload'
  /** Preflight begins. */
  | 'check'
  /** Preflight found nothing that stands in the way. */
  | 'pass'
  /** Preflight found problems. */
  | 'block'
  | 'schedule'
  | 'start'
  /** By a person or by the circuit breaker. */
  | 'pause'
  | 'resume'
  /** Nothing is left to be sent or to be decided. */
  | 'finish'
  | 'cancel'
  /** Nobody has started it for months. */
  | 'expire'

interface Rule {
  from: readonly CampaignState[]
  to: CampaignState
  /**
   * States in which the campaign is already as the move asks for, or has gone on from there by itself: asking again, as
   * after an answer that was lost, changes nothing and is no error.
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

/** States in which nothing will ever be sent again. */
export const hasEnded = (state: CampaignState): boolean => state === 'done' || state === 'cancelled'

/** States before the start: no recipient has a message yet, although the figures count each of them as queued. */
export const isBeforeStart = (state: CampaignState): boolean =>
  ['draft', 'checking', 'ready', 'blocked', 'scheduled'].includes(state)
