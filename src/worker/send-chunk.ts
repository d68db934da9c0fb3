// The job `chunk`: recipients of a campaign that one worker sends to. It claims them one after the other as there is room
// on the lane and in its slots; each goes through the same attempt as a message with a job of its own, and gets such a job
// when it has to be tried again. The chunk is done when the last one is claimed: from then on the records are swept.
//
// Where the process may die: who was not claimed has no mark, and the chunk, taken up again, goes on with them; who was
// claimed is passed over. Two that run one chunk meet in the claims. A lost chunk is fed again by its fan-out (unstick.ts).
import { setTimeout as pause } from 'node:timers/promises'
import { moveCampaign } from '../campaigns/store/campaigns.ts'
import { type OpenCampaign, type OpenCampaigns, UnreadableListError } from '../campaigns/store/open-campaigns.ts'
import { type Deadline, deadlineIn, isOver } from '../deadline.ts'
import { isFilesAway } from '../files/store.ts'
import type { Chunk } from '../jobs/chunk.ts'
import { type Pace, paceOf } from '../messages/pace.ts'
import type { ClaimResult } from '../messages/store/claim.ts'
import { MOST_FRESH } from '../messages/store/claim-fresh.ts'
import { conclude } from '../messages/store/conclude.ts'
import { LOOK_GOOD_FOR_MS } from '../opt-outs/store/hold.ts'
import { laneMetaKey } from '../queue/layout.ts'
import type { JobEnd } from '../queue/worker.ts'
import { CorruptRecordError } from '../redis/corrupt-record.ts'
import { isRedisAway } from '../redis/errors.ts'
import type { Claimed, Outgoing, SendDeps } from './attempt.ts'
import { type ChunkMessage, stillWanted, waitingOf } from './chunk-messages.ts'
import { claimChunk, type Unclaimed } from './claim-chunk.ts'
import type { ChunkRoom } from './lane-room.ts'
import { senderOrWait } from './lane-sender.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { waits } from './settle.ts'

/**
 * A pause of the lane holds within this time for chunks in hand. An opt-out or an erasure holds as barred.ts says: what was
 * found is good for twice as long, so that what is claimed leaves without being asked for by itself.
 */
const LOOK_MS = LOOK_GOOD_FOR_MS / 2
/** When it is asked again whether the lane is paused and who is barred, and until when that is good. */
interface Look {
  againAt: Deadline
  goodUntil: Deadline
}
/** As it is asked from now on. */
const lookNow = (): Look => ({ againAt: deadlineIn(LOOK_MS), goodUntil: deadlineIn(LOOK_GOOD_FOR_MS) })
const NO_LOOK: Look = { againAt: deadlineIn(Number.NEGATIVE_INFINITY), goodUntil: deadlineIn(Number.NEGATIVE_INFINITY) }

/** A lane that is paused takes its chunks up again when it is resumed; if that was missed, after this. */
const PAUSED_MS = 5_000
/** What would wait longer for its slot gives the chunk back: nobody holds it meanwhile. */
const MOST_WAIT_MS = 1_000
/** When so many workers have died over a chunk, its recipients are sent to one by one, so that one to blame is found. */
const MOST_CRASHES = 2

/** What a chunk needs besides what each of its attempts does; one for the whole process. */
export interface ChunkDeps extends SendDeps {
  campaigns: OpenCampaigns
  /** Messages of the campaign were taken up. */
  noteMoved: (lane: number, run: number) => void
}

/** A chunk in a worker's hand. */
export interface ChunkRun {
  lane: number
  chunk: Chunk
  /** Workers that died over it. */
  crashes: number
  room: ChunkRoom
  /** The latest slot of the lane that was given out here (`performance.now()`). */
  latestSlotAt: () => number
  /** Sends a claimed message in its slot and says what becomes of it. */
  send: (entry: DirectoryEntry, outgoing: Outgoing, claimed: Claimed) => Promise<JobEnd>
  stopping: AbortSignal
}

/** `back`: the process stops, and another one goes on. */
export type ChunkEnd = JobEnd | { kind: 'back' }

const DONE: ChunkEnd = { kind: 'done' }

/** Sends to the recipients of a chunk. Rejects only when Redis or the files are away or full; then the chunk is to be taken up again. */
export async function sendChunk(deps: ChunkDeps, run: ChunkRun): Promise<ChunkEnd> {
  const { lane, chunk } = run
  const id = { lane, number: chunk.run }
  let campaign: OpenCampaign | undefined
  try {
    const looked = lookNow()
    const paused = deps.redis.hexists(laneMetaKey(lane), 'paused')
    // Should opening fail before this is looked at.
    paused.catch(() => {})
    campaign = await deps.campaigns.open(id)
    if ((await paused) === 1) return { kind: 'lane_waits', ms: PAUSED_MS }
    // Whoever was not claimed is fed again should it be resumed.
    if (campaign === undefined) return DONE
    return await sendTo(deps, run, campaign, looked)
  } catch (error) {
    if (isRedisAway(error) || isFilesAway(error)) throw error
    deps.log.error({ campaign: `cmp_${lane}_${chunk.run}`, err: error }, 'chunk.broken')
    // Its fan-out sees to a record that cannot be read.
    if (error instanceof CorruptRecordError && campaign === undefined) return DONE
    const reason =
      error instanceof UnreadableListError
        ? 'The list of recipients cannot be read on the server.'
        : 'The campaign stopped because of an internal error; see the worker log.'
    await moveCampaign(deps.redis, id, 'pause', deps.config.retentionMs, { fields: { reason } })
    return DONE
  } finally {
    campaign?.release()
  }
}

/** `looked`: as it was asked whether the lane is paused. Files that are slow to read may make that long ago. */
async function sendTo(deps: ChunkDeps, run: ChunkRun, campaign: OpenCampaign, looked: Look): Promise<ChunkEnd> {
  const { lane, chunk, crashes } = run
  const found = await senderOrWait(deps, lane)
  if ('laneMs' in found) return { kind: 'lane_waits', ms: found.laneMs }
  const waiting = await waitingOf(deps, campaign, chunk)
  // Without a sender their jobs become dead letters, with that reason.
  if (found.entry === undefined || crashes >= MOST_CRASHES) {
    await deps.lanes.addMany(waiting.map(({ name, payload }) => ({ id: name, payload: payload() })))
    return DONE
  }
  return createChunk(deps, run, campaign, looked).send(waiting)
}

function createChunk(
  deps: ChunkDeps,
  { lane, chunk, room, latestSlotAt, send: sendOne, stopping }: ChunkRun,
  campaign: OpenCampaign,
  looked: Look,
) {
  const { redis } = deps
  /** Set when no more is to be claimed. */
  let end: ChunkEnd | undefined
  let lastLook = looked
  let refusedMs = 0
  /** In jobs of their own that are being added. */
  const adding: Promise<void>[] = []

  async function send(messages: ChunkMessage[]): Promise<ChunkEnd> {
    let left = messages
    try {
      while (left.length > 0 && end === undefined) {
        if (!(await room.free(stopping))) return { kind: 'back' }
        const found = await senderOrWait(deps, lane)
        if ('laneMs' in found) return { kind: 'lane_waits', ms: found.laneMs }
        const { entry } = found
        // It was removed meanwhile; the chunk, taken up again, finds that at its beginning.
        if (entry === undefined) return { kind: 'waits', ms: 1 }
        const now = await look(left)
        if (now.isPaused) return { kind: 'lane_waits', ms: PAUSED_MS }
        left = now.left
        if (left.length === 0) break
        const pace = paceOf(entry.sender.rate)
        const { most, waitMs } = fitting(pace)
        if (waitMs > MOST_WAIT_MS) return { kind: 'lane_waits', ms: waitMs }
        if (waitMs > 0) {
          await pause(waitMs, undefined, { signal: stopping }).catch(() => {})
          continue
        }
        const batch = left.slice(0, room.take(Math.min(left.length, most, MOST_FRESH)))
        // Another chunk of the lane, or messages with jobs, came first.
        if (batch.length === 0) continue
        const early = await claimAll(entry, batch, pace)
        left = [...early, ...left.slice(batch.length)]
        deps.noteMoved(lane, chunk.run)
      }
      return end ?? DONE
    } finally {
      await Promise.all(adding)
    }
  }

  /** How many may be claimed now without a slot that is too far ahead, or how long to wait until there is one. */
  function fitting(pace: Pace): { most: number; waitMs: number } {
    const aheadMs = pace.aheadUs.campaign / 1_000
    const gapMs = pace.gapUs / 1_000
    const now = performance.now()
    if (refusedMs > 0) {
      const waitMs = refusedMs
      refusedMs = 0
      return { most: 0, waitMs }
    }
    const latestAt = latestSlotAt()
    if (latestAt < now) return { most: Math.max(1, Math.floor(aheadMs / gapMs)), waitMs: 0 }
    const most = Math.floor((now + aheadMs - latestAt) / gapMs)
    if (most >= 1) return { most, waitMs: 0 }
    // More than one slot is let pass, so that they are claimed a few at a time.
    return { most: 0, waitMs: Math.ceil(latestAt + gapMs - aheadMs / 2 - now) }
  }

  /**
   * Claims those that have places, in one go, and sends what was claimed; returns those whose slots would be too far
   * ahead.
   */
  async function claimAll(entry: DirectoryEntry, batch: readonly ChunkMessage[], pace: Pace): Promise<ChunkMessage[]> {
    let launched = 0
    let unclaimed: Unclaimed<ChunkMessage>[] = []
    try {
      const how = { lane, run: chunk.run, pace, wantedUntil: lastLook.goodUntil }
      unclaimed = await claimChunk(deps, entry, how, batch, (message, claimed) => {
        launched += 1
        launch(entry, message, claimed)
      })
    } finally {
      for (let i = launched; i < batch.length; i += 1) room.end()
    }
    const early: ChunkMessage[] = []
    let failure: unknown
    for (const { message, ...what } of unclaimed) {
      if ('refused' in what) {
        if (await refused(message, what.refused)) early.push(message)
      } else if (isRedisAway(what.failure)) {
        failure = what.failure
      } else {
        // Whatever is wrong with it, a job of its own ends as a dead letter that says so.
        deps.log.error({ message: message.name, err: what.failure }, 'chunk.message_broken')
        addJob(message)
      }
    }
    if (failure !== undefined) throw failure
    return early
  }

  function launch(entry: DirectoryEntry, outgoing: ChunkMessage, claimed: Claimed): void {
    void attempt(entry, outgoing, claimed)
  }

  /** Never rejects. */
  async function attempt(entry: DirectoryEntry, outgoing: ChunkMessage, claimed: Claimed): Promise<void> {
    try {
      const became = await sendOne(entry, outgoing, claimed)
      if (became.kind !== 'done') await goOn(outgoing, became)
    } catch (error) {
      // Its record says that it was claimed: the sweep decides.
      const level = isRedisAway(error) ? 'warn' : 'error'
      deps.log[level]({ message: outgoing.name, err: error }, 'attempt.not_settled')
    } finally {
      room.end()
    }
  }

  /** The message gets a job of its own before the chunk is done. */
  function addJob({ name, payload }: ChunkMessage, delayMs = 0): void {
    const added = deps.lanes.add(name, payload(), delayMs)
    // It may fail before it is waited for.
    added.catch(() => {})
    adding.push(added)
  }

  /** What becomes of one that may not be sent now; true when it is to be claimed again by this chunk. */
  async function refused(outgoing: ChunkMessage, result: ClaimResult): Promise<boolean> {
    const { id, payload } = outgoing
    switch (result.verdict) {
      case 'too_early':
        refusedMs = refusedMs === 0 ? result.waitMs : Math.min(refusedMs, result.waitMs)
        return true
      case 'lane_cooldown':
        end = { kind: 'lane_waits', ms: result.waitMs }
        return true
      case 'recipient_cooldown':
        await waits(deps.redis, id, result.waitMs)
        addJob(outgoing, result.waitMs)
        return false
      case 'message_waits':
        addJob(outgoing, result.waitMs)
        return false
      case 'stopped':
        end = DONE
        return false
      case 'gone':
        await conclude(redis, id, 'gone', payload(), deps.config.retentionMs)
    }
    return false
  }

  /** What becomes of one whose attempt has ended. It may be long after the chunk. */
  async function goOn({ name, payload }: ChunkMessage, became: JobEnd): Promise<void> {
    switch (became.kind) {
      case 'waits':
        // The lane may have been paused for what this one was told.
        lastLook = NO_LOOK
        return deps.lanes.add(name, payload(), became.ms)
      case 'lane_waits':
        end ??= became
        return deps.lanes.add(name, payload())
      case 'done_lane_waits':
        end ??= { kind: 'lane_waits', ms: became.ms }
    }
  }

  /** Now and then: whether the lane is paused, and who of these was erased or has opted out since. Those are ended. */
  async function look(left: ChunkMessage[]): Promise<{ isPaused: boolean; left: ChunkMessage[] }> {
    if (!isOver(lastLook.againAt)) return { isPaused: false, left }
    lastLook = lookNow()
    const [paused, wanted] = await Promise.all([
      redis.hexists(laneMetaKey(lane), 'paused'),
      stillWanted(deps, campaign, left),
    ])
    return { isPaused: paused === 1, left: wanted }
  }

  return { send }
}
