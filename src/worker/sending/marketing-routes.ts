// Which messages of a step are marketing, and which address of WhatsApp they go to: it has a separate one for marketing. Decided
// before each claim, by the category of the template and by the policy of the campaign, or else of the sender as it is now: a
// change holds within 2 s for all messages that wait.

import { knownTemplate } from '../../accounts/templates.ts'
import type { MarketingRoute } from '../../model/accounts/sender.ts'
import { isMarketing, type TemplateMessageContent } from '../../model/messages/content.ts'
import type { Template } from '../../model/templates/template.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Outgoing } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** The messages of a step that are marketing. */
export interface Marketing {
  messages: ReadonlySet<Outgoing>
  /** Those that go to the address for marketing, and by which policy. */
  routes: ReadonlyMap<Outgoing, MarketingRoute>
}

/** Reads each template once; it is cached for a second. Rejects only when Redis is away. */
export async function marketingAmong(
  redis: Redis,
  { sender }: Pick<DirectoryEntry, 'sender'>,
  messages: readonly Outgoing[],
): Promise<Marketing> {
  const known = await templatesAmong(redis, sender.account, messages)
  const marketing = new Set<Outgoing>()
  const routes = new Map<Outgoing, MarketingRoute>()
  for (const each of messages) {
    const template = known.get(keyOf(each))
    if (!isMarketing(each.message.class, template?.category)) continue
    marketing.add(each)
    const { route = sender.marketing_route } = each
    // That address refuses all others, and other wires have none.
    const isTaken = template?.status === 'APPROVED' && sender.provider === 'cloud-api'
    if (isTaken && route !== 'messages') routes.set(each, route)
  }
  return { messages: marketing, routes }
}

/** Templates by name and language; unknown ones are left out. */
async function templatesAmong(
  redis: Redis,
  account: number,
  messages: readonly Outgoing[],
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

const keyOf = ({ content }: Outgoing): string =>
  content.type === 'template' ? `${content.template.name}/${content.template.language.code}` : ''
