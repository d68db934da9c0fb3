// What the interface allows but the Cloud API refuses. Asked when a message is accepted for a sender on that provider,
// so that the client hears of it at once and not from a failed delivery. The partner wire takes all of the interface.
import type { Content } from './content.ts'
import type { Fault } from './fault.ts'

/** Faults of a content for the Cloud API alone: lists take a text header and no other. Everything else it takes as we do. */
export function cloudApiFaults(content: Content): Fault[] {
  if (content.type !== 'interactive' || content.interactive.type !== 'list') return []
  const { header } = content.interactive
  if (!header || header.type === 'text') return []
  const message = `expected "text", the only header the Cloud API takes in a list, got "${header.type}"`
  return [{ path: 'interactive.header.type', message }]
}
