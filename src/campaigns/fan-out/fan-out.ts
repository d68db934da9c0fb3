// The job `fan-out`: keeps a running campaign's lane supplied, a few seconds ahead, until every recipient's message has
// come to an end. It works in time slices. One ends when nothing has moved for a moment: then the campaign is parked until
// its messages move or some time has passed, and its slot is free for another one. It ends as well when others wait for a
// slot, and after half a minute, so that any worker may go on.
//
// Where the process may die: between putting places on the lane and moving the cursor, they are fed again, which
// sends nothing twice. Anywhere else nothing is lost either, because the cursor is in Redis and another worker takes over
// within about a second (watch.ts). Two fan-outs that overlap make the same ids and move the cursor once.

import { type FileStore, isFilesAway } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { repeatedly } from '../../kernel/repeatedly.ts'
import { SharedMoments, sharedTickBefore } from '../../kernel/shared-ticks.ts'
import { traceRound } from '../../kernel/tracing.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import {
  MOST_PARK_MS,
  parkMs,
  portionOf,
  roundMs,
  SHORTEST_ROUND_MS,
  WIDEST_WINDOW,
} from '../../model/campaigns/pace.ts'
import { concluded, sharesOf, unsettled } from '../../model/campaigns/progress.ts'
import { sendCampaignHeartbeat } from '../../recipients/campaign-heartbeat.ts'
import { type Campaign, findCampaign, idOf, moveCampaign, NOW } from '../../recipients/campaigns.ts'
import { advanceFanOut, type FanOutState } from '../../recipients/fan-out-state.ts'
import { logOwnPause } from '../../recipients/own-pauses.ts'
import { type Parking, parkCampaign } from '../../recipients/parked-campaigns.ts'
import { messageSpecOf } from '../../recipients/recipient-message.ts'
import { openSnapshot, type Snapshot } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { observerOf } from '../../redis/observe.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { blockBroken } from './block.ts'
import { feed } from './feed.ts'
import { mostFrequentCode } from './frequent-code.ts'
import { createLocalStates, type LocalState, type LocalStates } from './local-state.ts'
import { requeueStuck } from './lost-recipients.ts'

/** Dependencies of a time slice of a fan-out. */
export interface FanOutDeps {
  redis: Redis
  files: FileStore
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  log: Log
}

/** The worker's side of a time slice. */
export interface TimeSlice {
  localStates: LocalStates
  /** Whether another campaign waits for this slot. */
  isWanted: () => boolean
  /** Those of all campaigns of this process. */
  moments: SharedMoments
}

/** `over`: the campaign does not run in this epoch, or has just ended. Else its next slice is due after so long. */
export type SliceEnd = 'over' | { nextMs: number }

/** After this long a slice ends, and when others wait after this long. */
const SLICE_MS = 30_000
const SHORT_SLICE_MS = 1_000
/** A slice ends when nothing has moved for so long. */
const IDLE_MS = 300
/** Twice this is much shorter than the silence after which another worker takes over. Each round is a heartbeat as well. */
const HEARTBEAT_MS = 250

/** One time slice of a campaign, if it runs in this epoch. Rejects only while Redis or the files are away. */
export async function fanOut(
  deps: FanOutDeps,
  id: CampaignId,
  epoch: number,
  stopped: AbortSignal,
  slice: TimeSlice = { localStates: createLocalStates(), isWanted: () => false, moments: new SharedMoments() },
): Promise<SliceEnd> {
  const campaign = await findCampaign(deps.redis, id).catch(async (error: unknown) => {
    if (!(error instanceof CorruptRecordError)) throw error
    deps.log.error({ campaign: idOf(id), err: error }, 'campaign.broken')
    await blockBroken({ redis: deps.redis, ...deps.config }, id)
    return undefined
  })
  if (campaign?.state !== 'running' || campaign.epoch !== epoch) {
    await sendCampaignHeartbeat(deps.redis, id, epoch)
    return 'over'
  }
  const snapshot = await openSnapshot(deps.files, id, campaign.snapshot).catch((error: unknown) => {
    if (isFilesAway(error)) throw error
    deps.log.error({ campaign: idOf(id), err: error }, 'campaign.unreadable')
    return undefined
  })
  if (snapshot === undefined) {
    return stop(deps, campaign, 'pause', { reason: 'The list of recipients cannot be read on the server.' })
  }
  // The first one ends its parking.
  let hasBeaten = false
  const beat = async (): Promise<void> => {
    if (!hasBeaten) await sendCampaignHeartbeat(deps.redis, id, epoch)
    hasBeaten = false
  }
  const heartbeat = repeatedly(HEARTBEAT_MS, beat, deps.log)
  try {
    const end = await supply(deps, campaign, snapshot, stopped, slice, () => {
      hasBeaten = true
    })
    if (end === 'over') slice.localStates.forget(campaign)
    if (end === 'over' || end.parked === undefined) return end
    // No heartbeat may follow: it would end the parking.
    heartbeat.stop()
    await parkCampaign(deps.redis, campaign, epoch, end.parked)
    return { nextMs: end.parked.ms }
  } catch (error) {
    // Without Redis its state is unknown; the process that takes over continues.
    if (isRedisAway(error) || isFilesAway(error)) throw error
    deps.log.error({ campaign: idOf(id), err: error }, 'campaign.broken')
    return await stop(deps, campaign, 'pause', {
      reason: 'The campaign stopped because of an internal error; see the worker log.',
    })
  } finally {
    heartbeat.stop()
  }
}

async function supply(
  deps: FanOutDeps,
  campaign: Campaign,
  snapshot: Snapshot,
  stopped: AbortSignal,
  slice: TimeSlice,
  beaten: () => void,
): Promise<'over' | { nextMs: number; parked?: Parking }> {
  const spec = messageSpecOf(campaign, deps.config.validityMs.campaign)
  const local = slice.localStates.of(campaign)
  const { feeding, breaker, concluding, ending, stuck, laneInfo } = local
  feeding.begin()
  const begunAt = performance.now()
  // Park again at once if nothing has changed since it was parked.
  let movedAt = local.parkedMs > 0 ? Number.NEGATIVE_INFINITY : begunAt
  let cursor: { from: number; to: number } | undefined
  let measuredRate = campaign.rate
  let isIdle = false
  let running = 1

  while (!stopped.aborted) {
    const beganAtMs = Date.now()
    const worked = performance.now() - begunAt
    if (worked >= SLICE_MS || (worked >= SHORT_SLICE_MS && slice.isWanted())) break
    const state = await advanceFanOut(deps.redis, campaign, campaign.epoch, {
      cursor,
      rate: measuredRate,
      pace: feeding.pace(),
    })
    if (state === undefined) return 'over'
    beaten()
    cursor = undefined
    const { nowMs, next } = state
    running = state.running
    const figures = figuresOf(campaign, state)
    measuredRate = concluding.measure(figures.concluded, nowMs)
    if (next >= campaign.total && figures.unsettled === 0) return stop(deps, campaign, 'finish', { ended_at: NOW })
    const { laneRate, problem } = await laneInfo(deps.redis, campaign)
    const broken = breaker.check(figures)
    // With nobody left to send to there is nothing to hold back.
    const reason =
      figures.queued > 0 ? (problem ?? (broken && (await withCode(deps.redis, campaign, broken)))) : undefined
    if (reason !== undefined) return stop(deps, campaign, 'pause', { reason })

    const moved = hasMoved(local, figures, next)
    if (moved) movedAt = performance.now()
    const measured = ending.measure(figures.ended, nowMs)
    const backlog = state.backlog + state.places
    const room = feeding.room({ ...state, backlog: backlog - state.later, taken: figures.taken, measured, laneRate })
    const rate = feeding.pace() ?? laneRate
    const portion =
      nowMs < spec.until
        ? { room, least: portionOf(rate, state.running) }
        : // None of them is sent, only recorded: the pace does not apply.
          { room: WIDEST_WINDOW - state.places, least: portionOf(WIDEST_WINDOW) }
    if (next >= campaign.total) {
      const { taken, unsettled } = figures
      if (stuck({ unclaimed: campaign.total - taken, unsettled, backlog })) {
        const from = await requeueStuck(deps, spec, campaign.total, snapshot)
        if (from !== undefined) cursor = { from: next, to: from }
      }
    } else {
      // Recipients that have a message already are skipped at once, as after a pause or a crash.
      const fed = await feed(deps.redis, campaign, { next, total: campaign.total, ...portion })
      feeding.fed(fed.count)
      if (fed.count > 0) traceRound({ campaign: idOf(campaign), lane: campaign.lane, recipients: fed.count, beganAtMs })
      cursor = { from: next, to: fed.next }
      // The cursor moves with each step, so that a takeover repeats little.
      const isMore = fed.count === 0 ? fed.next !== next : portion.room - fed.count >= portion.least
      if (isMore && fed.next < campaign.total) continue
    }
    const isStill = (cursor === undefined || cursor.to === next) && !moved
    const isWanted = slice.isWanted()
    isIdle = isStill && (isWanted || performance.now() - movedAt >= IDLE_MS)
    // Do not pause while another job waits for this slot.
    if (isIdle || isWanted) break
    // Once all have left the line, its end is waited for.
    const pauseMs = figures.queued > 0 ? roundMs(rate, running) : SHORTEST_ROUND_MS
    await slice.moments.until(sharedTickBefore(performance.now() + pauseMs), stopped)
  }
  if (cursor !== undefined && cursor.to !== cursor.from)
    await advanceFanOut(deps.redis, campaign, campaign.epoch, { cursor, rate: measuredRate, pace: feeding.pace() })
  if (!isIdle) return { nextMs: stopped.aborted ? 1 : SHORTEST_ROUND_MS }
  local.parkedMs = parkMs(local.parkedMs, running)
  const ms = Math.min(local.parkedMs, Math.max(SHORTEST_ROUND_MS, feeding.heldForMs() ?? MOST_PARK_MS))
  return { nextMs: ms, parked: { ms, reason: 'idle', rate: measuredRate } }
}

/**
 * Whether the figures differ from those of the last round, or the cursor is further than ever. A cursor that was set back and returns
 * is no progress: otherwise a campaign that searches in vain for lost messages would restart its parking time each time.
 */
function hasMoved(local: LocalState, figures: Record<string, number>, next: number): boolean {
  local.furthest = Math.max(local.furthest, next)
  const now = [...Object.values(figures), local.furthest].join(' ')
  if (now === local.figures) return false
  local.figures = now
  local.parkedMs = 0
  return true
}

function figuresOf(campaign: Campaign, { counts, exempt }: FanOutState) {
  const shares = sharesOf(counts, campaign.total, 'running')
  const { delivered, read, sent, failed, unconfirmed, unknown } = shares
  // One without proof counts as bad from the start, and as good once it is proven sent: waiting for evidence takes a
  // minute, in which thousands leave.
  const bad = failed + unconfirmed + unknown
  const ended = sent + delivered + read + bad
  return {
    taken: campaign.total - (shares.queued - (counts.queued ?? 0)),
    concluded: concluded(shares),
    queued: shares.queued,
    unsettled: unsettled(shares),
    ended,
    finished: ended - exempt,
    failed: bad - exempt,
  }
}

/** The reason of a pause, with what most of those messages failed for. */
async function withCode(redis: Redis, campaign: CampaignId, reason: string): Promise<string> {
  const code = await mostFrequentCode(redis, campaign)
  return code === undefined ? reason : `${reason} Most often: ${code}.`
}

async function stop(
  deps: FanOutDeps,
  campaign: Campaign,
  move: 'pause' | 'finish',
  fields: Record<string, string>,
): Promise<'over'> {
  const { redis, config, log } = deps
  const moved = await moveCampaign(redis, campaign, move, config.retentionMs, { epoch: campaign.epoch, fields })
  if (moved.kind === 'moved')
    log.info({ campaign: idOf(campaign), state: moved.state, reason: fields.reason }, 'campaign.stopped')
  if (moved.kind === 'moved' && move === 'pause') {
    observerOf(redis).campaignPaused('failures')
    await logOwnPause(redis, campaign, fields.reason ?? '')
  }
  return 'over'
}
