// Finds unclaimed messages of campaigns, whose only stored trace is their place in the list. Their id names the start of their
// campaign and that place.

import type { FileStore } from '../files/store.ts'
import type { SendPayload } from '../jobs/send.ts'
import { acceptedAtMs, type MessageId } from '../kernel/message-id.ts'
import { placeInId } from '../model/campaigns/message-ids.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey } from '../redis/keys.ts'
import { runningOn } from './active-campaigns.ts'
import { findCampaign } from './campaigns.ts'
import { buildMessage, messageSpecOf } from './recipient-message.ts'
import { readRecipientStates } from './recipient-states.ts'
import { openSnapshot } from './snapshot.ts'

/** Where lists are, and how long messages of a campaign without an end of its own may be sent. */
export interface ListSettings {
  files: FileStore
  validityMs: { campaign: number }
}

/** The content of a message whose running campaign has reached its place; else undefined. */
export async function findUnclaimed(
  redis: Redis,
  id: MessageId,
  lists: ListSettings,
): Promise<SendPayload | undefined> {
  const { lane, ulid } = id
  const [startedAt, place] = [acceptedAtMs(ulid), placeInId(ulid)]
  for (const number of await startedThen(redis, lane, startedAt, place)) {
    const campaign = await findCampaign(redis, { lane, number })
    if (campaign?.state !== 'running' || place >= Math.min(campaign.next, campaign.total)) continue
    const spec = messageSpecOf(campaign, lists.validityMs.campaign)
    // On a machine without the list the message cannot be found.
    const snapshot = await openSnapshot(lists.files, campaign, campaign.snapshot).catch(() => undefined)
    if (snapshot === undefined) continue
    const [recipient] = await snapshot.read(place, 1)
    const message = recipient && buildMessage(spec, recipient, place)
    if (message?.ulid !== ulid) continue
    const [state] = await readRecipientStates(redis, campaign, place, 1)
    return state === undefined ? message.payload : undefined
  }
  return undefined
}

/** Numbers of the lane's running campaigns that began at this time and have been fed beyond this place. */
async function startedThen(redis: Redis, lane: number, startedAtMs: number, place: number): Promise<number[]> {
  const running = await runningOn(redis, lane)
  const found = await Promise.all(running.map((number) => redis.hmget(campaignKey(lane, number), 'started_at', 'next')))
  return running.filter((_number, i) => {
    const [startedAt, next] = found[i] ?? []
    return Number(startedAt) === startedAtMs && place < Number(next)
  })
}
