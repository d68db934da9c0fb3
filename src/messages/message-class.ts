// Which of the two classes a single message belongs to. The class decides its turn in the lane, how long it stays
// valid and what happens when its outcome stays unproven.
import type { Content } from './content.ts'
import type { TemplateCategory } from './templates/template.ts'

/** `transactional` goes first and must arrive; `campaign` waits its turn and is never repeated without proof. */
export type MessageClass = 'transactional' | 'campaign'

/**
 * The class of a message sent by itself; messages of a campaign are `campaign` whatever they carry.
 * `category` is that of the approved template. A template nobody registered (an account may turn the check off) counts
 * as `campaign`: it can then neither overtake what is known to be urgent nor reach a person twice.
 */
export function classOf(content: Content, category?: TemplateCategory): MessageClass {
  if (content.type !== 'template') return 'transactional'
  return category === undefined || category === 'MARKETING' ? 'campaign' : 'transactional'
}
