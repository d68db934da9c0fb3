// Which recipients of a chunk there is something to do for, in one look: whoever has a mark had a message, and whoever has
// a job of their own is seen to by that, or never, when it is a dead letter.
import { z } from 'zod'
import { messageId } from '../../messages/message-id.ts'
import { laneJobKey } from '../../queue/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignMarksKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { CampaignId } from '../campaign-id.ts'

const lookScript = defineScript(import.meta.url, 'chunk-look')
/** `waits`: nobody has taken it up. `taken`: it has a mark, or a job of its own. `dead`: its job is a dead letter. */
export type RecipientState = 'waits' | 'taken' | 'dead'

const STATES: Readonly<Record<string, RecipientState>> = { w: 'waits', d: 'dead' }

/** The recipients from place `from` on, whose messages have these ULIDs, in their order. */
export async function lookAtChunk(
  redis: Redis,
  { lane, number }: CampaignId,
  from: number,
  ulids: readonly string[],
): Promise<RecipientState[]> {
  const reply = await lookScript(
    redis,
    { marks: campaignMarksKey(lane, number) },
    { from, jobs: laneJobKey(lane, messageId(lane, '')), ulids },
  )
  return Array.from(z.string().parse(reply), (letter) => STATES[letter] ?? 'taken')
}
