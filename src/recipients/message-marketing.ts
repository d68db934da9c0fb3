// Whether a waiting or ended message is currently marketing, for lookups and before it is sent again. Workers check all messages of a
// step at once (worker/sending/marketing-routes.ts).
import { knownTemplate } from '../accounts/templates.ts'
import { type Content, isMarketing, type MessageClass } from '../model/messages/content.ts'
import type { Redis } from '../redis/connect.ts'
import { findCampaign } from './campaigns.ts'

/** By the category of the template that its campaign or its content names. Rejects with a CorruptRecordError of its campaign. */
export async function isMarketingNow(
  redis: Redis,
  { account, lane }: { account: number; lane: number },
  message: { class: MessageClass; run?: number | undefined; content?: Content | undefined },
): Promise<boolean> {
  const { run, content } = message
  const ofContent = content?.type === 'template' ? content.template : undefined
  const named = run === undefined ? ofContent : (await findCampaign(redis, { lane, number: run }))?.definition.template
  return isMarketing(message.class, named && (await knownTemplate(redis, account, named))?.category)
}
