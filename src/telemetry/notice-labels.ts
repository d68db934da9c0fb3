// How notices of WhatsApp are counted: by the field of the webhook and WhatsApp's own word, both from closed lists, so that
// nobody who forwards webhooks can make up new series of metrics.

import { ACCOUNT_UPDATE_FIELDS } from '../providers/account-updates.ts'
import type { Noticed } from '../redis/observe.ts'

/** The label of an unknown field, whose events get no label. */
const UNKNOWN_FIELD = 'other'

const FIELDS: ReadonlySet<string> = new Set([...ACCOUNT_UPDATE_FIELDS, 'user_preferences', 'user_actions', 'errors'])

/** Words of WhatsApp for states of templates, numbers and accounts. */
const EVENTS: ReadonlySet<string> = new Set([
  ...['APPROVED', 'REJECTED', 'PENDING', 'PAUSED', 'UNPAUSED', 'DISABLED', 'REINSTATED', 'ARCHIVED', 'UNARCHIVED'],
  ...['DELETED', 'PENDING_DELETION', 'IN_APPEAL', 'FLAGGED', 'UNFLAGGED', 'GREEN', 'YELLOW', 'RED', 'UNKNOWN'],
  ...['UPGRADE', 'DOWNGRADE', 'ONBOARDING', 'THROUGHPUT_UPGRADE', 'DISABLED_UPDATE', 'ACCOUNT_RESTRICTION'],
  ...['ACCOUNT_VIOLATION', 'ACCOUNT_DELETED', 'ACCOUNT_REINSTATED', 'MARKETING', 'UTILITY', 'AUTHENTICATION'],
])

/** What an alert looks for (deploy/prometheus/rules.yml). */
export const ALERTED: readonly { field: string; event: string }[] = [
  { field: 'message_template_status_update', event: 'PAUSED' },
  { field: 'message_template_status_update', event: 'DISABLED' },
  { field: UNKNOWN_FIELD, event: '' },
]

/** The labels of a notice; `event` is empty where there is none, and `other` for a word that is not listed. */
export function countedNotice({ field, event = '', isKnown }: Noticed): { field: string; event: string } {
  if (!isKnown || !FIELDS.has(field)) return { field: UNKNOWN_FIELD, event: '' }
  const word = event.toUpperCase()
  return { field, event: word === '' || EVENTS.has(word) ? word : 'other' }
}
