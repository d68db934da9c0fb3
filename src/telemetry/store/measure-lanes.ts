// Measures for the history what waits. One worker does it, the one that sweeps.
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'
import { type HistoryBuffer, WHOLE } from '../history-buffer.ts'
import { readGaugesOf } from './lane-gauges.ts'

/** Looks at every lane with work and keeps how many messages wait and how old the oldest is. Rejects when Redis is away. */
export async function measureLanes(redis: Redis, history: HistoryBuffer): Promise<void> {
  const lanes = (await redis.zrange(rootKeys.dueLanes, '0', '-1')).map(Number)
  const found = await readGaugesOf(redis, lanes)
  let backlog = 0
  let oldest = 0
  for (const { lane, waiting, oldestSeconds } of found) {
    const here = waiting.transactional + waiting.campaign
    if (here === 0) continue
    const age = Math.max(oldestSeconds.transactional, oldestSeconds.campaign)
    history.measure(lane, here, age)
    backlog += here
    oldest = Math.max(oldest, age)
  }
  if (backlog > 0) history.measure(WHOLE, backlog, oldest)
}
