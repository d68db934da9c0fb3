// Watches active campaigns: starts those that are due, takes over those whose fan-out has died, adds lost jobs. Every worker watches;
// each action is idempotent.

import { campaignJobId } from '../../jobs/campaigns.ts'
import { inParallel } from '../../kernel/in-parallel.ts'
import type { Log } from '../../kernel/log.ts'
import { Refusal } from '../../kernel/refusal.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { type ActiveCampaign, activeCampaigns } from '../../recipients/active-campaigns.ts'
import { heartbeatOf, takeOver } from '../../recipients/campaign-heartbeat.ts'
import { findCampaign, idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { redisNowMs } from '../../redis/clock.ts'
import { isCluster, type Redis } from '../../redis/connect.ts'
import { whileAnswering } from '../../redis/each-server.ts'
import { campaignKey } from '../../redis/keys.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { clockOffMs } from '../../redis/trusted-clock.ts'
import { type LifecycleDeps, startCampaign } from '../commands/moves.ts'
import { blockBroken } from './block.ts'

export const WATCH_MS = 500
/** A working fan-out writes its heartbeat several times a second. */
const SILENT_MS = 1_000
/** A job that waits in line is checked again after so long, and a parked one has so long to be taken. */
const IN_LINE_MS = 2_000
/** How often a campaign that is scheduled for later is checked. */
const LATER_MS = 2_000
/** One that takes this long holds up no other: what it needs is on a server of a cluster that has gone away. */
const LONGEST_MS = 5_000
/** Campaigns looked at at once. */
const AT_ONCE = 20
/** A campaign that the watch fails on is skipped for as long as it has been failing, at most this. */
const LONGEST_BACKOFF_MS = 60_000

type WatchDeps = LifecycleDeps & { log: Log }

/** What the watch keeps of a campaign from one round to the next. */
interface WatchState {
  /** Heartbeat of the fan-out. */
  heartbeat?: string
  /** Skipped until then (performance.now), and how long the wait was. */
  notBefore: number
  backoffMs: number
  /** It is being looked at. */
  isOpen: boolean
}

/** One round over all active campaigns. */
export function createWatch(deps: WatchDeps): () => Promise<void> {
  let watchStates = new Map<string, WatchState>()
  return async () => {
    const active = await activeCampaigns(deps.redis)
    if (active.length === 0) return void watchStates.clear()
    const nowOf = clocks(deps.redis)
    const remembered = watchStates
    // Drops the state of campaigns that are no longer active, or have entered another state.
    watchStates = new Map()
    const looks = active.flatMap((campaign) => {
      const name = `${idOf(campaign.id)} ${campaign.state}`
      const watched = remembered.get(name) ?? { notBefore: 0, backoffMs: 0, isOpen: false }
      watchStates.set(name, watched)
      return watched.isOpen || performance.now() < watched.notBefore ? [] : [{ campaign, watched }]
    })
    await inParallel(looks, AT_ONCE, async ({ campaign, watched }) => {
      const looking = look(deps, campaign, watched, nowOf)
      await whileAnswering(deps.redis, looking, LONGEST_MS).catch((error: unknown) =>
        deps.log.error({ campaign: idOf(campaign.id), err: error }, 'campaign.watch_failed'),
      )
    })
  }
}

/** Looks at one campaign. Never rejects: one that fails is skipped for a while. */
async function look(
  deps: WatchDeps,
  campaign: ActiveCampaign,
  watched: WatchState,
  nowOf: (id: CampaignId) => Promise<number>,
): Promise<void> {
  watched.isOpen = true
  try {
    await watchOne(deps, campaign, watched, await nowOf(campaign.id))
  } catch (error) {
    backOff(watched)
    deps.log.error({ campaign: idOf(campaign.id), err: error }, 'campaign.watch_failed')
    if (error instanceof CorruptRecordError) await blockBroken(deps, campaign.id).catch(() => {})
  } finally {
    watched.isOpen = false
  }
}

/** The clock of a campaign's server, read once in a round: once in all unless there is a cluster. */
function clocks(redis: Redis): (id: CampaignId) => Promise<number> {
  const known = new Map<number, Promise<number>>()
  return ({ lane, number }) => {
    const of = isCluster(redis) ? lane : 0
    const now = known.get(of) ?? redisNowMs(redis, campaignKey(lane, number))
    known.set(of, now)
    return now
  }
}

function backOff(watched: WatchState): void {
  watched.backoffMs = Math.min(LONGEST_BACKOFF_MS, Math.max(2 * WATCH_MS, 2 * watched.backoffMs))
  watched.notBefore = performance.now() + watched.backoffMs
}

function watchAgainIn(watched: WatchState, ms: number): void {
  watched.notBefore = performance.now() + ms
}

/** Takes over a running campaign whose fan-out has died; one that is parked, or whose job waits in line, is left alone. */
async function watchRunning(
  deps: WatchDeps,
  { id, parked }: ActiveCampaign,
  watched: WatchState,
  nowMs: number,
): Promise<void> {
  if (parked !== undefined && nowMs < parked.untilMs + IN_LINE_MS) return
  const { heartbeat, epoch } = await heartbeatOf(deps.redis, id)
  if (heartbeat !== watched.heartbeat || nowMs - Number(heartbeat) < SILENT_MS) {
    watched.heartbeat = heartbeat
    return
  }
  const waits = await deps.queue.waitsWhere('fan-out', id, epoch)
  // Overdue by the clock of Redis: the process that delayed it had a clock that was ahead.
  if (waits === 'for_its_time') await deps.queue.wake('fan-out', campaignJobId('fan-out', id, epoch))
  if (waits !== undefined) return watchAgainIn(watched, IN_LINE_MS)
  const found = await takeOver(deps.redis, id, SILENT_MS, heartbeat)
  if (found.kind !== 'taken') return
  deps.log.warn({ campaign: idOf(id), epoch: found.epoch }, 'campaign.taken_over')
  await deps.queue.add('fan-out', id, found.epoch)
}

async function watchOne(deps: WatchDeps, active: ActiveCampaign, watched: WatchState, nowMs: number): Promise<void> {
  const { id, state } = active
  if (state === 'running') return watchRunning(deps, active, watched, nowMs)
  const campaign = await findCampaign(deps.redis, id)
  if (campaign === undefined) return
  if (campaign.state === 'checking') {
    await deps.queue.add('preflight', id, campaign.epoch)
    // Adding changes nothing while the job exists. Back off, so that a failed one is not retried twice a second.
    return backOff(watched)
  }
  const dueInMs = (campaign.scheduled_at ?? 0) - nowMs
  const isDue = campaign.state === 'scheduled' && dueInMs <= 0
  if (isDue && clockOffMs(deps.redis) !== 0) return watchAgainIn(watched, LATER_MS)
  // The time may be changed meanwhile, also to an earlier one.
  if (campaign.state === 'scheduled' && dueInMs > 2 * LATER_MS) return watchAgainIn(watched, LATER_MS)
  if (!isDue && !(campaign.state === 'ready' && campaign.starts_itself)) return
  try {
    await startCampaign(deps, campaign, isDue ? campaign.scheduled_at : undefined)
    deps.log.info({ campaign: idOf(id) }, 'campaign.started')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Another worker was faster, a person has chosen another time, or the template is not approved any more: then a person has to fix that.
    if (error.code === 'wrong_state') return
    const problems = [{ path: 'template.name', message: error.message }]
    const preflight = JSON.stringify({ ...campaign.preflight, problems })
    await moveCampaign(deps.redis, id, 'block', deps.retentionMs, { epoch: campaign.epoch, fields: { preflight } })
  }
}
