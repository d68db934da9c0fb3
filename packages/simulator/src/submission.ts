// One send request that passed authentication and every check of its wire, for the rest of the simulator.

export type ProductPolicy = 'CLOUD_API_FALLBACK' | 'STRICT'

/** Categories of prices, as webhooks report them. */
export type PricedAs = 'service' | 'utility' | 'marketing' | 'marketing_lite' | 'authentication'

/** A send request that its wire found valid. */
export interface Submission {
  wire: 'partner' | 'cloud'
  /** Whose limits it counts against: the phone number id, or the api_key, which stands for one number. */
  account: string
  /** As in the ledger. */
  sender: string | null
  /** Recipient, digits. */
  to: string
  /** As in the ledger. */
  opaque: string | null
  /** Name and language of a template; null for any other message. */
  template: { name: string; language: string } | null
  /** Of a message that came to the address for marketing. */
  productPolicy?: ProductPolicy
  /** Its category in webhooks, in place of the one that it seems to have. */
  category?: PricedAs
  /** It names files by links, which WhatsApp fetches. */
  hasLinks?: boolean
  /** Ids of uploads that it names. */
  mediaIds?: readonly string[]
}
