// The cooldown of a lane: a time in which nothing of it is sent, because its provider said so or cannot be reached. It is a key that
// every claim reads. It begins here, or in the step that proves an attempt unsent (`setNotSent`), and ends here or when it expires.
import { z } from 'zod'
import { iso } from '../kernel/instant.ts'
import { masked } from '../kernel/masked.ts'
import type { LANE_WAIT_REASONS } from '../model/lanes/lane-status.ts'
import type { Problem } from '../model/messages/outcome.ts'
import type { Redis } from '../redis/connect.ts'
import { laneCooldownKey, laneCooldownReasonKey, laneProbeKey, senderKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { cooldownOf, isLanePaused, type LaneCooldown } from './stats.ts'

const cooldownScript = defineScript(import.meta.url, 'lane-cooldown')

const cooldownReply = z.tuple([z.number(), z.number()])

/** The cooldown that the lane is in, or undefined. */
export async function laneCooldown(redis: Redis, lane: number, nowMs: number): Promise<LaneCooldown | undefined> {
  const [end, reason] = await Promise.all([redis.get(laneCooldownKey(lane)), redis.get(laneCooldownReasonKey(lane))])
  return cooldownOf(Number(end ?? 0), nowMs, reason ?? '')
}

/** Begins a cooldown of `ms` from now, unless the lane is in one that ends later. Works on a full Redis. */
export async function coolLane(redis: Redis, lane: number, ms: number, problem: Problem): Promise<void> {
  await cooldownScript(
    redis,
    { cooldown: laneCooldownKey(lane) },
    { ms, reason: `${problem.code}|${problem.sentence}` },
  )
}

/** The waits of a lane that is probed: `firstMs`, doubled each time, up to `mostMs`. */
export interface ProbeWait {
  firstMs: number
  mostMs: number
  /** True if a probe failed, which starts a longer wait. Other failures during a wait are ignored. */
  isProbe: boolean
}

/**
 * Begins a cooldown after which one message at a time probes the provider, until `endProbing`. Returns how long it lasts from now, and
 * whether it is a new one. Works on a full Redis.
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

/** The provider answered the probe of the lane: all others may go. */
export async function endProbing(redis: Redis, lane: number): Promise<void> {
  await redis.del(laneProbeKey(lane))
  await endLaneCooldown(redis, lane)
}

/** Ends the lane's cooldown: the next claim may go. Workers that wait for it notice within seconds. */
export async function endLaneCooldown(redis: Redis, lane: number): Promise<void> {
  await redis.del(laneCooldownKey(lane), laneCooldownReasonKey(lane))
}

/** Why a lane sends nothing now. */
export interface LaneWaits {
  why: (typeof LANE_WAIT_REASONS)[number]
  /** When that ends (epoch ms); null when unknown. */
  until: number | null
  /** The same for a person, in one sentence without numbers of people. */
  sentence: string
}

/** Why the lane sends nothing at `now` on Redis' clock (epoch ms); undefined when it may. */
export async function laneWaits(redis: Redis, lane: number, now: number): Promise<LaneWaits | undefined> {
  const [isPaused, cooldown] = await Promise.all([isLanePaused(redis, lane), laneCooldown(redis, lane, now)])
  if (isPaused) {
    // The reason is written before the pause, so that whoever reads the pause finds it.
    const reason = await redis.hget(senderKey(lane), 'paused_for')
    const sentence = withReason('Its sender is paused', masked(reason ?? ''))
    return { why: 'lane_paused', until: null, sentence }
  }
  if (cooldown === undefined) return undefined
  const { until, code, sentence } = cooldown
  const said = withReason(`Its sender waits until ${iso(until)}`, sentence === '' ? code : sentence)
  return { why: 'lane_cooldown', until, sentence: said }
}

function withReason(text: string, reason: string): string {
  const sentence = reason === '' ? text : `${text}: ${reason}`
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`
}
