// Why nothing of a lane leaves: a person, or Laneway, has paused it, or it is in a cooldown.
import { masked } from '../messages/masked.ts'
import { isLanePaused } from '../queue/lane/waiting.ts'
import type { Redis } from '../redis/connect.ts'
import { senderKey } from '../redis/keys.ts'
import { laneCooldown } from './cooldown.ts'
import type { LANE_WAIT_REASONS } from './lane-status.ts'

/** Why a lane sends nothing now. */
export interface LaneWaits {
  why: (typeof LANE_WAIT_REASONS)[number]
  /** When that ends (epoch ms); null when nobody knows. */
  until: number | null
  /** The same for a person, in one sentence without numbers of people. */
  sentence: string
}

/** Why the lane sends nothing at `now` on Redis' clock (epoch ms); undefined when it may. */
export async function laneWaits(redis: Redis, lane: number, now: number): Promise<LaneWaits | undefined> {
  const [isPaused, cooldown] = await Promise.all([isLanePaused(redis, lane), laneCooldown(redis, lane, now)])
  if (isPaused) {
    // The reason is written before the pause, so that whoever sees the pause and reads it then has it.
    const reason = await redis.hget(senderKey(lane), 'paused_for')
    const sentence = withReason('Its sender is paused', masked(reason ?? ''))
    return { why: 'lane_paused', until: null, sentence }
  }
  if (cooldown === undefined) return undefined
  const { until, code, sentence } = cooldown
  const said = withReason(`Its sender waits until ${new Date(until).toISOString()}`, sentence === '' ? code : sentence)
  return { why: 'lane_cooldown', until, sentence: said }
}

function withReason(text: string, reason: string): string {
  const sentence = reason === '' ? text : `${text}: ${reason}`
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`
}
