// Puts recipients of a campaign on its lane, in chunks: a job names places of the list, and the worker that runs it sends
// to whoever has no mark by then. Feeding somebody again is therefore harmless.
import type { Chunk } from '../../jobs/chunk.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import type { CampaignId } from '../campaign-id.ts'
import { MOST_IN_CHUNK } from '../pace.ts'
import { firstUnclaimed, type Mark, readMarks } from '../store/marks.ts'

/**
 * Places of the list that are looked at in one step, and fed at most. These are some chunks: a fast lane takes them up
 * faster than steps of one chunk each. Where all of them have marks, more are passed over.
 */
const LOOKED_AT = 2_048

/** Where a round stands in the list, and what it may do. */
export interface Round {
  /** Place of the recipient that is fed next. */
  next: number
  total: number
  /** Recipients that may be fed. */
  room: number
  /** Of a chunk, see chunkOf in pace.ts. */
  size: number
  /** Who feeds: the epoch, and how often what was fed was looked for in vain. */
  by: string
}

/** Feeds whole chunks of recipients without a mark. Returns how many were fed, and the place to go on from. */
export async function feed(
  deps: { redis: Redis; queues: LaneQueues },
  id: CampaignId,
  { next, total, room, size, by }: Round,
): Promise<{ count: number; next: number }> {
  if (room < Math.min(size, total - next)) return { count: 0, next }
  const marks = await readMarks(deps.redis, id, next, Math.min(LOOKED_AT, total - next))
  const looked = next + marks.length
  if (!marks.includes(undefined)) return { count: 0, next: await firstUnclaimed(deps.redis, id, looked, total) }
  const plan = planChunks(marks, { room, size, isEnd: looked >= total })
  const chunks = plan.chunks.map(({ from, count }): Chunk => ({ v: 1, run: id.number, from: next + from, count }))
  if (chunks.length > 0) await deps.queues.addChunks(id.lane, chunks, by)
  return { count: plan.fed, next: next + plan.end }
}

/**
 * Chunks of the recipients whose marks these are: each of `size` that have none, fewer only at the end of the list, and
 * `room` of them in all. `end` is the place after the last one that was fed or has a mark.
 */
export function planChunks(
  marks: readonly (Mark | undefined)[],
  { room, size, isEnd }: { room: number; size: number; isEnd: boolean },
): { chunks: { from: number; count: number }[]; fed: number; end: number } {
  const chunks: { from: number; count: number }[] = []
  let fed = 0
  let end = 0
  for (let place = 0; place < marks.length && fed < room; ) {
    if (marks[place] !== undefined) {
      place += 1
      end = place
      continue
    }
    const from = place
    let unclaimed = 0
    let last = place
    for (; place < marks.length && place - from < MOST_IN_CHUNK && unclaimed < size; place += 1) {
      if (marks[place] !== undefined) continue
      unclaimed += 1
      last = place
    }
    const isWhole = unclaimed === size || place - from === MOST_IN_CHUNK || isEnd
    if (fed + unclaimed > room || !isWhole) break
    chunks.push({ from, count: last + 1 - from })
    fed += unclaimed
    end = last + 1
  }
  return { chunks, fed, end }
}
