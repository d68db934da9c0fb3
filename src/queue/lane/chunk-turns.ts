// The campaigns of a lane take turns, chunk by chunk. Each feeds a chunk when one of its own was taken up, so that what
// stood behind one another once would stay so: a second of one campaign, then a second of the other.

import type { Redis } from '../../redis/connect.ts'
import { defineScript } from '../../redis/lua.ts'
import { laneChunkKeys } from '../layout.ts'

const turnsScript = defineScript(import.meta.url, 'chunk-turns')

/** Gives chunks that were added to the lane their turn. Whoever dies before leaves them behind all others. */
export async function giveTurns(redis: Redis, lane: number, added: readonly string[]): Promise<void> {
  await turnsScript(redis, { waiting: laneChunkKeys(lane).chunksWaiting }, { added })
}
