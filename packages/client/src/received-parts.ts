// What a received message holds besides its words. A field is there only when the message has it.

/** The parts of a received message, in events and in lists. */
export interface ReceivedParts {
  from_user_id?: string
  from_name?: string
  from_username?: string
  group_id?: string
  /** What it answers, by the chat product's id. */
  context?: {
    message_id?: string
    from?: string
    forwarded?: boolean
    frequently_forwarded?: boolean
    product?: { catalog_id?: string; product_retailer_id?: string }
  }
  /** The button or row that was chosen. */
  reply?: { id: string; title: string; description?: string }
  /** `GET /messages/{id}/media` fetches it. */
  media?: {
    id: string
    mime_type?: string
    sha256?: string
    filename?: string
    voice?: boolean
    animated?: boolean
  }
  location?: { latitude: number; longitude: number; name?: string; address?: string; url?: string }
  /** `emoji` is empty when it was taken back. */
  reaction?: { message_id: string; emoji: string }
  order?: {
    catalog_id?: string
    items: { product_retailer_id?: string; quantity?: number; item_price?: number; currency?: string }[]
  }
  contacts?: {
    name: string
    phones: { phone?: string; wa_id?: string; type?: string }[]
    emails: { email?: string; type?: string }[]
  }[]
  /** The advertisement that led the person here. */
  referral?: {
    source_type?: string
    source_id?: string
    source_url?: string
    headline?: string
    body?: string
    media_type?: string
    ctwa_clid?: string
  }
  flow?: { name?: string; response_json?: string }
  /** The person has changed number or user id. */
  system?: { type?: string; wa_id?: string; user_id?: string; previous_user_id?: string }
  /** The message that this one replaces, and the one that it deletes. */
  edits?: string
  deletes?: string
  unsupported?: { type?: string; code?: number; title?: string }
}
