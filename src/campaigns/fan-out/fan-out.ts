// The job `fan-out`: keeps a running campaign's lane supplied, a few seconds ahead, until every recipient's message has
// come to an end. It works for half a minute and then puts itself back, so that any worker may go on.
//
// Where the process may die: between putting messages on the lane and moving the cursor, they are fed again, which
// adds nothing. Anywhere else nothing is lost either, because the cursor stands in Redis and another worker takes over
// within about a second (watch.ts). Two fan-outs that overlap make the same ids and move the cursor once.

import { findSender } from '../../accounts/store/senders.ts'
import type { Config } from '../../config.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import type { Log } from '../../log.ts'
import type { Redis } from '../../redis/connect.ts'
import { BrokenRecordError } from '../../redis/corrupt-record.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { repeatedly } from '../../repeatedly.ts'
import type { CampaignId } from '../campaign-id.ts'
import { createFailureBrake } from '../circuit-breaker.ts'
import { templateProblem } from '../commands/lifecycle.ts'
import { maySendAgain, offerOf } from '../definition.ts'
import { createFeeding } from '../feeding.ts'
import { createMeter } from '../meter.ts'
import { compileComponents } from '../parameters.ts'
import { sharesOf, unsettled } from '../progress.ts'
import { beatCampaign, type Campaign, findCampaign, idOf, moveCampaign, NOW } from '../store/campaigns.ts'
import { campaignFolder } from '../store/files.ts'
import { firstUnclaimed } from '../store/marks.ts'
import { type RoundPicture, takeRound } from '../store/round.ts'
import { openSnapshot, type Snapshot } from '../store/snapshot.ts'
import { adopt } from './adopt.ts'
import { blockBroken } from './block.ts'
import { feed, type Mould } from './feed.ts'
import { createStuckCheck, unstick } from './unstick.ts'

export interface FanOutDeps {
  redis: Redis
  config: Pick<Config, 'dataDir' | 'retentionMs' | 'validityMs'>
  log: Log
  queues: LaneQueues
}

/** After this long the job puts itself back. */
const TERM_MS = 30_000
/** Recipients fed in one step: adding 250 jobs keeps Redis busy for some 5 ms, in which it serves nobody else. */
const CHUNK = 250
/** A lane's window is seconds long: looking this often keeps it full. */
const REST_MS = 100
/** Much shorter than the silence after which another worker takes over. */
const BEAT_MS = 250

/** `again`: it has put itself back; `over`: the campaign does not run in this epoch, or has just ended. */
export async function fanOut(
  deps: FanOutDeps,
  id: CampaignId,
  epoch: number,
  stopped: AbortSignal,
): Promise<'again' | 'over'> {
  const campaign = await findCampaign(deps.redis, id).catch(async (error: unknown) => {
    if (!(error instanceof BrokenRecordError)) throw error
    deps.log.error({ campaign: idOf(id), err: error }, 'campaign.broken')
    await blockBroken({ redis: deps.redis, ...deps.config }, id)
    return undefined
  })
  if (campaign?.state !== 'running' || campaign.epoch !== epoch) return 'over'
  const snapshot = await openSnapshot(campaignFolder(deps.config.dataDir, id), campaign.snapshot).catch(
    (error: unknown) => {
      deps.log.error({ campaign: idOf(id), err: error }, 'campaign.unreadable')
      return undefined
    },
  )
  if (snapshot === undefined) {
    return stop(deps, campaign, 'pause', { reason: 'The list of recipients cannot be read on the server.' })
  }
  const beating = repeatedly(BEAT_MS, () => beatCampaign(deps.redis, id, epoch), deps.log)
  try {
    return await supply(deps, campaign, snapshot, stopped)
  } catch (error) {
    // Without Redis nothing can be said about it; whoever takes over later goes on.
    if (isRedisAway(error)) throw error
    deps.log.error({ campaign: idOf(id), err: error }, 'campaign.broken')
    return await stop(deps, campaign, 'pause', { reason: 'It could not go on; the log of the worker tells why.' })
  } finally {
    beating.stop()
    await snapshot.close()
  }
}

async function supply(
  deps: FanOutDeps,
  campaign: Campaign,
  snapshot: Snapshot,
  stopped: AbortSignal,
): Promise<'again' | 'over'> {
  const mould = mouldOf(campaign, deps.config.validityMs.campaign)
  await adopt(deps, campaign, mould, snapshot)
  const feeding = createFeeding(campaign.pace)
  const brake = createFailureBrake()
  const taking = createMeter()
  const ending = createMeter()
  const stuck = createStuckCheck()
  const around = createLook(deps.redis, campaign)
  const until = performance.now() + TERM_MS
  let cursor: { from: number; to: number } | undefined
  let rate = campaign.rate

  while (performance.now() < until && !stopped.aborted) {
    const picture = await takeRound(deps.redis, campaign, campaign.epoch, { cursor, rate, pace: feeding.pace() })
    if (picture === undefined) return 'over'
    cursor = undefined
    const { nowMs, next } = picture
    const figures = figuresOf(campaign, picture)
    rate = taking.measure(figures.taken, nowMs)
    if (next >= campaign.total && figures.unsettled === 0) return stop(deps, campaign, 'finish', { ended_at: NOW })
    const { laneRate, problem } = await around()
    const reason = problem ?? brake.check(figures)
    if (reason !== undefined) return stop(deps, campaign, 'pause', { reason })

    const measured = ending.measure(figures.finished, nowMs)
    const room = feeding.room({ ...picture, taken: figures.taken, measured, laneRate })
    if (next >= campaign.total) {
      const { taken, unsettled } = figures
      if (stuck({ unclaimed: campaign.total - taken, unsettled, backlog: picture.backlog })) {
        const from = await unstick(deps, mould, campaign.total, snapshot)
        if (from !== undefined) cursor = { from: next, to: from }
      }
      await rest(stopped)
      continue
    }
    // Whoever has a message already is passed over without a rest, as after a pause or a crash.
    const at = room > 0 ? await firstUnclaimed(deps.redis, campaign, next, campaign.total) : next
    const recipients = room > 0 ? await snapshot.read(at, Math.min(room, CHUNK)) : []
    const fed = await feed(deps, mould, recipients, at)
    feeding.fed(fed)
    cursor = { from: next, to: at + recipients.length }
    if ((recipients.length < CHUNK && fed > 0) || cursor.to === next) await rest(stopped)
  }
  if (cursor !== undefined)
    await takeRound(deps.redis, campaign, campaign.epoch, { cursor, rate, pace: feeding.pace() })
  return 'again'
}

function mouldOf(campaign: Campaign, validityMs: number): Mould {
  const { template: wanted, recipients, valid_until } = campaign.definition
  const result = compileComponents(wanted.components, offerOf(recipients))
  if (!result.ok) throw new Error(`the components of campaign ${idOf(campaign)} do not compile any more`)
  return {
    id: campaign,
    startedAtMs: campaign.started_at ?? 0,
    name: wanted.name,
    language: wanted.language.code,
    compiled: result.compiled,
    until: valid_until === undefined ? (campaign.resumed_at ?? 0) + validityMs : Date.parse(valid_until),
    again: maySendAgain(recipients),
  }
}

function figuresOf(campaign: Campaign, { counts, lost }: RoundPicture) {
  const shares = sharesOf(counts, campaign.total, 'running')
  const { delivered, read, sent, failed, unknown } = shares
  // What a crash of ours left unproven tells nothing of the campaign: it counts neither as good nor as bad.
  const unproven = unknown - lost
  return {
    taken: campaign.total - (shares.queued - (counts.queued ?? 0)),
    unsettled: unsettled(shares),
    finished: sent + delivered + read + failed + unproven,
    failed: failed + unproven,
  }
}

/**
 * What a person may change while the campaign runs: the rate of the lane, and the template, when one that is not
 * approved any more is imported. Looked at again every two seconds.
 */
function createLook(redis: Redis, campaign: Campaign) {
  let known: { laneRate: number; problem: string | undefined } = { laneRate: 1, problem: undefined }
  let until = 0
  return async () => {
    if (performance.now() > until) {
      const [sender, problem] = await Promise.all([findSender(redis, campaign.lane), templateProblem(redis, campaign)])
      known = { laneRate: sender?.rate ?? 1, problem }
      until = performance.now() + 2_000
    }
    return known
  }
}

async function stop(
  deps: FanOutDeps,
  campaign: Campaign,
  move: 'pause' | 'finish',
  fields: Record<string, string>,
): Promise<'over'> {
  const { redis, config, log } = deps
  const moved = await moveCampaign(redis, campaign, move, config.retentionMs, { epoch: campaign.epoch, fields })
  if (moved.kind === 'moved') log.info({ campaign: idOf(campaign), state: moved.state, ...fields }, 'campaign.stopped')
  return 'over'
}

function rest(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, REST_MS)
    function done(): void {
      clearTimeout(timer)
      stopped.removeEventListener('abort', done)
      resolve()
    }
    stopped.addEventListener('abort', done)
  })
}
