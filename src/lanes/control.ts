// Steering lanes by hand: list, pause, resume, change the pace. What the command line and the admin endpoints share.

import { findSender, listSenders, type Sender, setPausedFor, setSenderRate } from '../accounts/store/senders.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'
import { waitingInChunks } from '../queue/lane/waiting.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { laneCooldownKey } from '../redis/keys.ts'
import { oldestWaitingAt } from './age.ts'
import { endLaneCooldown, laneCooldown } from './cooldown.ts'
import type { LaneStatus } from './lane-status.ts'
import { tellRecovered } from './sender-events.ts'
import { timesReopened } from './wake.ts'

/** How every lane of the account stands; without an account, all lanes. */
export async function listLanes(redis: Redis, queues: LaneQueues, account?: number): Promise<LaneStatus[]> {
  return lanesOf(redis, queues, await listSenders(redis, account))
}

/** How the lanes of these senders stand, in their order. */
export async function lanesOf(redis: Redis, queues: LaneQueues, senders: readonly Sender[]): Promise<LaneStatus[]> {
  return Promise.all(senders.map((sender) => laneStatus(redis, queues, sender)))
}

async function laneStatus(redis: Redis, queues: LaneQueues, sender: Sender): Promise<LaneStatus> {
  const [paused, counts, chunked, cooldown, reopened, oldestAt] = await Promise.all([
    queues.isPaused(sender.id),
    queues.counts(sender.id),
    waitingInChunks(redis, sender.id),
    redisNowMs(redis, laneCooldownKey(sender.id)).then((nowMs) => laneCooldown(redis, sender.id, nowMs)),
    timesReopened(redis, sender.id),
    oldestWaitingAt(redis, sender.id),
  ])
  return {
    lane: sender.id,
    account: sender.account,
    number: sender.number,
    name: sender.name,
    provider: sender.provider,
    rate: sender.rate,
    paused,
    paused_for: paused ? sender.paused_for : '',
    paused_by: paused ? sender.paused_by : '',
    cooldown_until: cooldown ? new Date(cooldown.until).toISOString() : null,
    cooldown_code: cooldown?.code ?? '',
    cooldown_for: cooldown?.sentence ?? '',
    waiting: (counts.wait ?? 0) + (counts.prioritized ?? 0) + chunked,
    oldest_waiting_at: oldestAt === undefined ? null : new Date(oldestAt).toISOString(),
    delayed: counts.delayed ?? 0,
    active: counts.active ?? 0,
    reopened,
    set_aside: counts.failed ?? 0,
  }
}

/** The lane's sender, when it belongs to the account (or whoever owns it, without an account). */
export async function laneOf(redis: Redis, lane: number, account?: number): Promise<Sender | undefined> {
  const sender = await findSender(redis, lane)
  if (sender === undefined || sender.removed_at !== undefined) return undefined
  return account === undefined || sender.account === account ? sender : undefined
}

/** Nothing more leaves the lane but what is in flight. `by` is shown to whoever asks why. */
export async function pauseLane(
  redis: Redis,
  queues: LaneQueues,
  lane: number,
  { reason, by }: { reason: string; by: string },
): Promise<void> {
  await setPausedFor(redis, lane, reason, by)
  await queues.pause(lane)
}

/**
 * Lets the lane send again: ends its pause and its cooldown. A provider that still wants the cooldown says so to the
 * next message, which loses nothing. Dying in between leaves the lane paused; the command is run again.
 */
export async function resumeLane(redis: Redis, queues: LaneQueues, lane: number): Promise<void> {
  await endLaneCooldown(redis, lane)
  await queues.resume(lane)
  await setPausedFor(redis, lane, '', '')
  await tellRecovered(redis, lane)
}

/** Changes the pace; it holds from the next window of about 100 ms, for every worker. */
export async function setLaneRate(redis: Redis, queues: LaneQueues, lane: number, rate: number): Promise<void> {
  await setSenderRate(redis, lane, rate)
  await queues.letChunksGo(lane)
}
