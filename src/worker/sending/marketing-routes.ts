// Where the messages of a step go: WhatsApp has an address of its own for marketing. It is decided before each claim, by what the
// campaign says, else by what the sender says now, so that a change holds within 2 s for all that waits.

import type { MarketingRoute } from '../../accounts/sender.ts'
import { cachedTemplate } from '../../accounts/store/templates.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { Outgoing } from './attempt.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/**
 * The messages that go to the address for marketing: approved templates that are known as marketing. All others are refused
 * there, so they go the usual way, as does everything on a wire without such an address. Rejects only when Redis is away.
 */
export async function routesOf(
  redis: Redis,
  { sender }: Pick<DirectoryEntry, 'sender'>,
  messages: readonly Outgoing[],
): Promise<ReadonlyMap<Outgoing, MarketingRoute>> {
  const routes = new Map<Outgoing, MarketingRoute>()
  const asked = messages.filter(({ route = sender.marketing_route }) => route !== 'messages')
  if (sender.provider !== 'cloud-api' || asked.length === 0) return routes
  await Promise.all(
    asked.map(async (message) => {
      if (await isMarketing(redis, sender.account, message))
        routes.set(message, message.route ?? sender.marketing_route)
    }),
  )
  return routes
}

async function isMarketing(redis: Redis, account: number, { content }: Outgoing): Promise<boolean> {
  if (content.type !== 'template') return false
  const { name, language } = content.template
  try {
    const template = (await cachedTemplate(redis, account, name, language.code))?.template
    return template?.category === 'MARKETING' && template.status === 'APPROVED'
  } catch (error) {
    // A person must mend its definition; its messages, which are checked already, need not wait for that.
    if (error instanceof CorruptRecordError) return false
    throw error
  }
}
