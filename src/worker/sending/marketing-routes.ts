// Which messages of a step are marketing, and which address of WhatsApp they go to: it has a separate one for marketing. Decided
// before each claim, by the category of the template and by the policy of the campaign, or else of the sender as it is now: a
// change holds within 2 s for all messages that wait.

import { knownTemplate } from '../../accounts/templates.ts'
import { isMarketing, type TemplateMessageContent } from '../../model/messages/content.ts'
import type { Template } from '../../model/templates/template.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Candidate } from './candidate.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** Sets `isMarketing` and `route`. Reads each template once; it is cached for a second. Rejects only when Redis is away. */
export async function classify(
  redis: Redis,
  { sender }: Pick<DirectoryEntry, 'sender'>,
  messages: readonly Candidate[],
): Promise<void> {
  const known = await templatesAmong(redis, sender.account, messages)
  for (const each of messages) {
    const template = known.get(keyOf(each))
    each.isMarketing = isMarketing(each.message.class, template?.category)
    const wished = each.route ?? sender.marketing_route
    // That address refuses all others, and other wires have none.
    const isTaken = template?.status === 'APPROVED' && sender.provider === 'cloud-api'
    each.route = each.isMarketing && isTaken && wished !== 'messages' ? wished : undefined
  }
}

/** Templates by name and language; unknown ones are left out. */
async function templatesAmong(
  redis: Redis,
  account: number,
  messages: readonly Candidate[],
): Promise<ReadonlyMap<string, Template>> {
  const named = new Map<string, TemplateMessageContent['template']>()
  for (const each of messages) if (each.content.type === 'template') named.set(keyOf(each), each.content.template)
  const known = new Map<string, Template>()
  await Promise.all(
    [...named].map(async ([key, name]) => {
      const template = await knownTemplate(redis, account, name)
      if (template !== undefined) known.set(key, template)
    }),
  )
  return known
}

const keyOf = ({ content }: Candidate): string =>
  content.type === 'template' ? `${content.template.name}/${content.template.language.code}` : ''
