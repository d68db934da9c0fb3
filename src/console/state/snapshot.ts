// The figures that the server makes once a second; see docs/console.md.

export type LaneState =
  | 'sending'
  | 'idle'
  | 'paused'
  | 'cooldown'
  | 'waiting_for_pace'
  | 'no_worker'
  | 'redis_full'
  | 'stuck'

/** How a lane stands at this moment, and why. */
export interface LaneFigures {
  sender: number
  name: string
  account: number
  state: LaneState
  reason: string | null
  by: string | null
  until: string | null
  drain_s: number | null
  waiting: { transactional: number; campaign: number }
  oldest_s: number | null
  rate_per_s: number
  sent_per_s: number
  spark: number[]
  dead_letters: number
  in_flight: number
}

/** How far a campaign is at this moment. */
export interface CampaignFigures {
  id: string
  name: string | null
  account: number
  state: string
  total: number
  queued: number
  sending: number
  sent: number
  delivered: number
  read: number
  failed: number
  expired: number
  cancelled: number
  refused: number
  unconfirmed: number
  unknown: number
  rate_per_s: number
  eta_s: number | null
  brake: string | null
  throttle: string | null
}

/** Everything that is live, at one moment. */
export interface Snapshot {
  at: string
  totals: {
    accepted_per_s: number
    sent_per_s: number
    delivered_per_s: number
    failed_per_s: number
    waiting: number
    oldest_waiting_s: number | null
    unconfirmed: number
  }
  lanes: LaneFigures[]
  lanes_total: number
  campaigns: CampaignFigures[]
  failures: { code: string; meaning: string; count: number }[]
  workers: { id: string; host: string; lanes: number; seen_s: number; version: string }[]
  redis: { used_bytes: number; max_bytes: number | null; safety: { name: string; ok: boolean; sentence: string }[] }
}
