// Webhooks of WhatsApp besides messages and statuses: changes of templates, numbers and accounts, and their text for
// people. Pure.

import type { Problem } from '../model/messages/outcome.ts'

/** Which fields of webhooks are read; whatever else comes is kept by its shape alone. */
export const ACCOUNT_UPDATE_FIELDS = [
  'message_template_status_update',
  'message_template_quality_update',
  'message_template_components_update',
  'template_category_update',
  'phone_number_quality_update',
  'phone_number_name_update',
  'account_update',
  'account_alerts',
  'account_review_update',
  'business_capability_update',
  'security',
] as const
export type AccountUpdateField = (typeof ACCOUNT_UPDATE_FIELDS)[number]

/** One change. The update names its subject. */
export type Change =
  | { of: 'template'; group: 'status' | 'category' | 'quality' | 'components'; value: string }
  /** `block`: why the number may not send, or empty that it may. */
  | { of: 'sender'; group: 'quality' | 'name' | 'block'; value: string }
  | { of: 'sender'; group: 'rate'; value: number }
  /** People that the business may write to first in 24 hours; null: any number of them. */
  | { of: 'portfolio'; group: 'limit'; value: number | null }

/** The content of one field; `details` hold words of WhatsApp and figures, nothing of people. */
export interface FieldUpdate {
  /** WhatsApp's own word for what happened, if it has one. */
  event: string | undefined
  sentence: string
  details: Record<string, string | number>
  changes: Change[]
  template?: { name: string; language: string }
  /** Digits of the one number that it is about; otherwise it is about the whole account at WhatsApp. */
  digits?: string
  /** The same by WhatsApp's id of the number. */
  phoneNumberId?: string
  /** What is wrong with the number. */
  problem?: Problem
}

/** One change of a webhook that is about something else than messages. */
export interface AccountUpdate extends FieldUpdate {
  /** As the webhook names it; `other` where the name is none. */
  field: string
  /** Whether the field was understood; else only its shape is reported. */
  isKnown: boolean
  /** The account at WhatsApp that it comes from. */
  wabaId: string | undefined
  /** When it happened (epoch ms), by WhatsApp's clock. */
  atMs: number | undefined
}
