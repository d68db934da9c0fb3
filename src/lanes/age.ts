// How old the backlog of a lane is: the first thing to look at when messages come late.

import { parseChunkJobId } from '../jobs/chunk.ts'
import { readHistory } from '../messages/history.ts'
import { acceptedAtMs, type MessageId, parseMessageId } from '../messages/message-id.ts'
import { laneBacklogKeys, laneChunkKeys } from '../queue/layout.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey, messageKey } from '../redis/keys.ts'

/**
 * Since when (epoch ms) the message waits that has waited longest for its turn: since it was accepted, or since a person
 * queued it again. Undefined when none waits. Both lists are in the order in which messages came, but for those put back,
 * so their heads tell it. Delayed ones do not count: their turn has not come.
 */
export async function oldestWaitingAt(redis: Redis, lane: number): Promise<number | undefined> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const [head, [firstOfCampaigns], chunk] = await Promise.all([
    redis.lindex(waiting, -1),
    redis.zrange(prioritized, '0', '0'),
    redis.lindex(laneChunkKeys(lane).chunksWaiting, -1),
  ])
  const ids = [head ?? '', firstOfCampaigns ?? ''].map((name) => parseMessageId(name)).filter((id) => id !== undefined)
  const times = await Promise.all(ids.map((id) => waitsSince(redis, id)))
  const run = parseChunkJobId(chunk ?? '')?.run
  // Its messages were accepted when their campaign was started.
  const [startedAt, state] = run === undefined ? [] : await redis.hmget(campaignKey(lane, run), 'started_at', 'state')
  if (startedAt && state === 'running') times.push(Number(startedAt))
  return times.length === 0 ? undefined : Math.min(...times)
}

async function waitsSince(redis: Redis, { lane, ulid }: MessageId): Promise<number> {
  const acceptedAt = acceptedAtMs(ulid)
  // Only the history, which a record that cannot be read must not keep from anybody. Before the claim there is none.
  const history = await redis.hget(messageKey(lane, ulid), 'h')
  return readHistory(history ?? '', acceptedAt).findLast(({ code }) => code === 'q')?.atMs ?? acceptedAt
}
