// Ends the lanes of removed senders. How long something of a lane is kept is known only once everything has come to its
// end, since a status or a received message that comes late is kept from then on; so each lane is looked at when its time
// seems to be over, and gets another time while something is left.
import { dropKeptLane, keepLaneUntil, lanesKeptUntil, type RemovedLane } from '../../accounts/store/kept-lanes.ts'
import { hasEnded, parseCampaignId } from '../../campaigns/campaign.ts'
import { moveCampaign, NOW } from '../../campaigns/store/campaigns.ts'
import { campaignsWithFiles } from '../../campaigns/store/files.ts'
import { statesOf } from '../../campaigns/store/list.ts'
import type { Config } from '../../config.ts'
import { forgetCursors } from '../../events/store/endpoints.ts'
import type { FileStore } from '../../files/store.ts'
import { forgetLane } from '../../lanes/forget-lane.ts'
import type { Log } from '../../log.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignsOfAccountKey, messageIndexKey, outboxKey, rootKeys } from '../../redis/keys.ts'

/** What ending lanes needs. */
export interface ForgetDeps {
  redis: Redis
  queues: LaneQueues
  files: FileStore
  config: Pick<Config, 'retentionMs' | 'events'>
  log: Log
}

/** Files and records without an end of their own are looked at again after this. */
const AGAIN_MS = 3_600_000

/** Forgets the lanes of removed senders of which nothing is kept at this time (epoch ms). A fault of one harms no other. */
export async function forgetLanes(deps: ForgetDeps, nowMs: number): Promise<void> {
  const { redis, queues, log } = deps
  const due = await lanesKeptUntil(redis, nowMs)
  if (due.length === 0) return
  const withFiles = new Set((await campaignsWithFiles(deps.files)).map(({ id }) => id.lane))
  for (const removed of due) {
    const { lane } = removed
    try {
      if (await redis.hexists(rootKeys.lanes, String(lane))) {
        // Its removal died, and it can be removed again.
        await dropKeptLane(redis, removed)
        continue
      }
      const until = Math.max(await keptUntil(deps, removed, nowMs), withFiles.has(lane) ? nowMs + AGAIN_MS : 0)
      if (until > nowMs) {
        await keepLaneUntil(redis, removed, until)
        continue
      }
      await forgetCursors(redis, removed.account, lane)
      await forgetLane(redis, queues, removed)
      log.info({ lane, account: removed.account }, 'lane.forgotten')
    } catch (error) {
      log.warn({ lane, err: error }, 'lane.not_forgotten')
    }
  }
}

/** Until when (epoch ms) something of the lane is kept: messages, events, campaigns. */
async function keptUntil(
  { redis, config }: ForgetDeps,
  { lane, account }: RemovedLane,
  nowMs: number,
): Promise<number> {
  const [indexed, [last]] = await Promise.all([
    redis.pexpiretime(messageIndexKey(lane)),
    redis.xrevrange(outboxKey(lane), '+', '-', 'COUNT', 1),
  ])
  const events = last === undefined ? 0 : Number.parseInt(last[0], 10) + config.events.retentionMs
  const names = (await redis.zrange(campaignsOfAccountKey(account), '0', '-1')).filter(
    (name) => parseCampaignId(name)?.lane === lane,
  )
  const campaigns = (await statesOf(redis, names)).filter((each) => each !== undefined)
  for (const { id, state } of campaigns) {
    // It was made while its sender was removed, and nobody can start it.
    if (hasEnded(state)) continue
    await moveCampaign(redis, id, 'cancel', config.retentionMs, { begins: true, fields: { ended_at: NOW, reason: '' } })
  }
  return Math.max(indexed, events, campaigns.length > 0 ? nowMs + AGAIN_MS : 0)
}
