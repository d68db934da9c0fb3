// The states and moves of a campaign, said once here: recipients/scripts/campaign-move.lua makes a move in Redis and gets the
// states that it may start from.
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
