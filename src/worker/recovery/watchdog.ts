// Watches lanes whose jobs wait although nothing holds them: not paused, in no cooldown, within their pace. When the same
// job has been the next one for 30 s, no worker takes anything from the lane: a connection that hangs, or a fault of
// ours or of BullMQ's. Whatever it is, opening the lane again ends it.

import { cachedSender } from '../../accounts/store/senders.ts'
import { MOST_IN_CHUNK } from '../../campaigns/pace.ts'
import type { Config } from '../../config.ts'
import { askToReopen } from '../../lanes/wake.ts'
import type { Log } from '../../log.ts'
import type { LaneSurvey } from '../../queue/lane/survey.ts'
import type { Redis } from '../../redis/connect.ts'

const SILENT_MS = 30_000
/** A lane that is slow may be silent for this many of its turns. */
const TURNS = 3

/** Watches with the limit of `longestMs`, for a lane without a slow pace and with nothing in flight. */
export function createWatchdog(
  deps: { redis: Redis; config: Pick<Config, 'sendTimeoutMs' | 'maxInFlight'>; log: Log },
  longestMs = SILENT_MS,
) {
  /** Lanes that could send: the job that goes next, and since when it is that one. */
  const seen = new Map<string, { head: string; sinceMs: number }>()

  return {
    /** One look at a lane, every few seconds while it has work. */
    async see({ lane, head, isHeld, active, chunkHead, activeChunks }: LaneSurvey): Promise<void> {
      await seeHead(lane, 'jobs', isHeld ? undefined : head, active > 0 ? 1 : 0)
      // All of a chunk in hand may be in flight before the next one is taken up, a share at a time.
      const shares = Math.ceil(MOST_IN_CHUNK / deps.config.maxInFlight) + 1
      await seeHead(lane, 'chunks', chunkHead, activeChunks > 0 ? shares : 0)
    },

    forget: (): void => seen.clear(),
  }

  async function seeHead(lane: number, kind: string, head: string | undefined, timeouts: number): Promise<void> {
    const now = performance.now()
    const name = `${lane} ${kind}`
    const known = seen.get(name)
    if (head === undefined) {
      seen.delete(name)
    } else if (known?.head !== head) {
      seen.set(name, { head, sinceMs: now })
    } else if (now - known.sinceMs > (await silentMs(lane, timeouts))) {
      // The next time is after as long again, should that not have helped.
      seen.set(name, { head, sinceMs: now })
      deps.log.warn({ lane, kind }, 'lane.silent')
      await askToReopen(deps.redis, lane)
    }
  }

  /** What is in flight may fill the lane's share until the provider has answered or not, so many times. */
  async function silentMs(lane: number, timeouts: number): Promise<number> {
    const rate = (await cachedSender(deps.redis, lane))?.rate ?? 1
    return Math.max(longestMs, (TURNS / rate) * 1_000) + timeouts * deps.config.sendTimeoutMs
  }
}
