// What a campaign is for those who define one and look at it, the same as the bodies over HTTP; docs/guides/campaigns.md
// explains it.
import type { CampaignState, MessageState } from './contract.ts'

/** Who gets which template from which sender. Rows of a file are uploaded over HTTP. */
export interface CampaignDefinition {
  /** What people call it. */
  name?: string | undefined
  /** One of the account's senders, by its number in any spelling or by its name. */
  sender: string
  template: {
    name: string
    language: { code: string }
    /** Those of a template message, with `{ from: 'contact.name' }` where a value differs. */
    components?: unknown[] | undefined
  }
  /** Contacts by tag, or the rows of a file with the name of the column that holds the number. */
  recipients: { tags: number[]; except?: number[] | undefined } | { rows: { phone?: string | undefined } }
  /** ISO 8601 with its zone: no message is sent later. */
  valid_until?: string | undefined
}

/** A campaign as it stands. Times are ISO 8601. */
export interface CampaignDescription {
  id: string
  name: string | null
  state: CampaignState
  /** Why it is paused. */
  reason: string | null
  /** Why nothing of it leaves although it runs. */
  waits: { why: 'lane_paused' | 'lane_cooldown'; until: string | null; sentence: string } | null
  /** Number of its sender. */
  sender: string | null
  template: { name: string; language: string; components?: unknown[] | undefined }
  /** As in the definition; of a run for some recipients of an earlier campaign, that campaign and their class. */
  recipients:
    | { tags: number[]; except: number[] }
    | { rows: { phone: string } }
    | { campaign: string; class: string; offer: string }
  has_rows: boolean
  created_at: string | null
  scheduled_at: string | null
  started_at: string | null
  ended_at: string | null
  valid_until: string | null
  /** What the last preflight found. */
  preflight?: CampaignPreflight | undefined
  progress: CampaignProgress
}

/** What a preflight found. Times are ISO 8601, `seconds` is how long the lane needs for all recipients. */
export interface CampaignPreflight {
  checked_at: string | null
  /** Those who will get a message. */
  recipients: number
  /** Those who will not, by reason. */
  refused: { duplicate: number; number: number; parameter: number; unreadable: number; opted_out: number }
  /** Contacts that carry an excluded tag. */
  excluded: number
  /** What stands in the way of a start; empty when it is ready. */
  problems: { path: string; message: string }[]
  /** Messages per second of the lane. */
  rate: number
  seconds: number
  would_expire: number
  estimated_end: string | null
}

/** How many recipients are in each state; they add up to `total`. */
export interface CampaignProgress extends Record<MessageState, number> {
  total: number
  rate_per_second: number
  /** Throttled by the provider to so many messages per second. */
  held_to: number | null
  seconds_left: number | null
}
