// The cooldown of a lane: a time in which nothing of it is sent because its provider said so or cannot be reached. It
// is kept in a key of ours that every claim reads. It begins here, or in the step that proves an attempt unsent
// (`setNotSent`); it ends here, or by its time. BullMQ's rate limit follows it, to keep the lane from fetching jobs at
// all; a lane that is ahead of its pace sets that limit too, so it says nothing by itself. Ending a cooldown ends both.
import { z } from 'zod'
import { masked } from '../messages/masked.ts'
import type { Problem } from '../messages/outcome.ts'
import { laneChunkLimiterKey } from '../queue/layout.ts'
import type { Redis } from '../redis/connect.ts'
import { laneCooldownKey, laneCooldownReasonKey, laneProbeKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

/** When the cooldown of a lane ends, and what began it. */
export interface LaneCooldown {
  /** Epoch ms. */
  until: number
  /** The chat product's code or a word of ours such as `connect_failed`; empty when it is not known. */
  code: string
  /** For the person who looks; numbers are masked. Empty when it is not known. */
  sentence: string
}

const cooldownScript = defineScript(import.meta.url, 'lane-cooldown')

const cooldownReply = z.tuple([z.number(), z.number()])

/** The cooldown that the lane is in, or undefined. */
export async function laneCooldown(redis: Redis, lane: number, nowMs: number): Promise<LaneCooldown | undefined> {
  const [end, reason] = await Promise.all([redis.get(laneCooldownKey(lane)), redis.get(laneCooldownReasonKey(lane))])
  const until = Number(end ?? 0)
  if (until <= nowMs) return undefined
  const at = reason?.indexOf('|') ?? -1
  return reason === null || at < 0
    ? { until, code: '', sentence: '' }
    : { until, code: reason.slice(0, at), sentence: masked(reason.slice(at + 1)) }
}

/** Begins a cooldown of `ms` from now, unless the lane is in one that ends later. Works on a full Redis. */
export async function coolLane(redis: Redis, lane: number, ms: number, problem: Problem): Promise<void> {
  await cooldownScript(
    redis,
    { cooldown: laneCooldownKey(lane) },
    { ms, reason: `${problem.code}|${problem.sentence}` },
  )
}

/** How a lane waits that is probed then: from `firstMs`, twice as long each time, up to `mostMs`. */
export interface ProbeWait {
  firstMs: number
  mostMs: number
  /** Whether it was a probe that ended so: another wait begins. What else ends within a wait changes nothing. */
  isProbe: boolean
}

/**
 * Begins a cooldown after which one message at a time asks whether the provider is back, until `endProbing`. Returns how
 * long it lasts from now, and whether it is another one than before. Works on a full Redis.
 */
export async function coolForProbe(
  redis: Redis,
  lane: number,
  { firstMs, mostMs, isProbe }: ProbeWait,
  { code, sentence }: Problem,
): Promise<{ ms: number; isNew: boolean }> {
  const args = { ms: firstMs, reason: `${code}|${sentence}`, mostMs, isProbe }
  const [ms, isNew] = cooldownReply.parse(await cooldownScript(redis, { cooldown: laneCooldownKey(lane) }, args))
  return { ms, isNew: isNew === 1 }
}

/** The probe of the lane was answered by the provider: all others may go. */
export async function endProbing(redis: Redis, lane: number): Promise<void> {
  await redis.del(laneProbeKey(lane))
  await endLaneCooldown(redis, lane)
}

/** Ends the lane's cooldown: the next claim may go. Workers that wait for it notice within seconds. */
export async function endLaneCooldown(redis: Redis, lane: number): Promise<void> {
  const keys = [laneCooldownKey(lane), laneCooldownReasonKey(lane), laneChunkLimiterKey(lane)]
  await redis.del(...keys)
}
