// What the interface allows but a provider refuses. Asked when a message is accepted for a sender on that provider, so
// that the client hears of it at once and not from a failed delivery.
import type { Content } from './content.ts'
import type { Fault } from './fault.ts'
import { isUserId } from './recipient.ts'

/** Faults of a content for the Cloud API alone: lists take a text header and no other. Everything else it takes as we do. */
export function cloudApiFaults(content: Content): Fault[] {
  if (content.type !== 'interactive' || content.interactive.type !== 'list') return []
  const { header } = content.interactive
  if (!header || header.type === 'text') return []
  const message = `expected "text", the only header the Cloud API takes in a list, got "${header.type}"`
  return [{ path: 'interactive.header.type', message }]
}

/** Faults for the partner wire alone, which takes all of the interface but user ids: its recipients are numbers. */
export function partnerApiFaults(to: string): Fault[] {
  return isUserId(to)
    ? [{ path: 'to', message: 'expected a phone number: this sender’s provider takes no user ids' }]
    : []
}
