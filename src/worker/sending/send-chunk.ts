// The job `chunk`: consecutive recipients of a campaign. Their messages wait here, in the order of the list, and the lane
// takes them like those that have jobs (take.ts). A message that must be tried again gets a job of its own. The chunk is done
// when none of them waits any more; once claimed they are left to the sweeper.
//
// Where the process may die: a recipient that was not claimed has no recorded state, and another worker that takes the chunk
// sends to it; one that was claimed is skipped. Of two workers on one chunk only one gets each claim. The fan-out feeds a
// lost chunk again.

import { isFilesAway } from '../../files/store.ts'
import type { Chunk } from '../../jobs/chunk.ts'
import type { JobEnd } from '../../lanes/bullmq/worker.ts'
import { moveCampaign } from '../../recipients/campaigns.ts'
import { type OpenCampaign, type OpenCampaigns, UnreadableListError } from '../../recipients/open-campaigns.ts'
import { noteOwnPause } from '../../recipients/own-pauses.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import { waitingOf } from './chunk-messages.ts'
import { senderOrWait } from './sender-directory.ts'

/**
 * When this many workers have died over a chunk, its recipients are sent to one by one, so that the message to blame is
 * found.
 */
const MOST_CRASHES = 2

/** What a chunk needs; one for the whole process. */
export interface ChunkDeps extends SendDeps {
  campaigns: OpenCampaigns
}

/** A chunk that was taken up. */
export interface ChunkRun {
  lane: number
  chunk: Chunk
  /** Workers that died over it. */
  crashes: number
  /** The chunks of its lane. */
  chunks: TakenChunks
}

/**
 * Sends to the recipients of a chunk. Rejects only when Redis or the files are away or full: then the chunk is to be
 * taken up again.
 */
export async function sendChunk(deps: ChunkDeps, run: ChunkRun): Promise<ChunkEnd> {
  const { lane, chunk } = run
  const id = { lane, number: chunk.run }
  let campaign: OpenCampaign | undefined
  try {
    campaign = await deps.campaigns.open(id)
    // If the campaign is resumed, recipients who were not claimed are fed again.
    if (campaign === undefined) return { kind: 'done' }
    return await sendTo(deps, run, campaign)
  } catch (error) {
    if (isRedisAway(error) || isFilesAway(error)) throw error
    deps.log.error({ campaign: `cmp_${lane}_${chunk.run}`, err: error }, 'chunk.broken')
    // The fan-out handles a record that cannot be read.
    if (error instanceof CorruptRecordError && campaign === undefined) return { kind: 'done' }
    const reason =
      error instanceof UnreadableListError
        ? 'The list of recipients cannot be read on the server.'
        : 'The campaign stopped because of an internal error; see the worker log.'
    const moved = await moveCampaign(deps.redis, id, 'pause', deps.config.retentionMs, { fields: { reason } })
    if (moved.kind === 'moved') await noteOwnPause(deps.redis, id, reason)
    return { kind: 'done' }
  } finally {
    campaign?.release()
  }
}

async function sendTo(
  deps: ChunkDeps,
  { lane, chunk, crashes, chunks }: ChunkRun,
  campaign: OpenCampaign,
): Promise<ChunkEnd> {
  const found = await senderOrWait(deps, lane)
  if ('laneMs' in found) return { kind: 'lane_waits', ms: found.laneMs }
  const messages = await waitingOf(deps, campaign, chunk)
  // Without a sender their jobs become dead letters, with that reason.
  if (found.entry === undefined || crashes >= MOST_CRASHES) {
    await deps.lanes.addMany(messages.map(({ name, payload }) => ({ id: name, payload: payload() })))
    return { kind: 'done' }
  }
  return chunks.add(chunk.run, messages)
}

/** `back`: another worker continues it. */
export type ChunkEnd = JobEnd | { kind: 'back' }

/** The chunks of one lane. */
export interface TakenChunks {
  /**
   * Adds messages of campaign `run` behind those that wait. Resolves to `done` when none of them waits any more, or to
   * the reason given to `end` before that.
   */
  add(run: number, messages: readonly Candidate[]): Promise<ChunkEnd>
  /** Messages that wait. */
  waiting(): number
  /** The next ones, `most` at most. They wait until they are `taken`. */
  next(most: number): Candidate[]
  /** Removes these. */
  taken(messages: ReadonlySet<Candidate>): void
  /** Ends all chunks, or those of one campaign, with this result. */
  end(how: ChunkEnd, run?: number): void
  /** Gives back all chunks, and whatever is added later. */
  close(): void
}

/** `added` is called when there are more messages. */
export function createTakenChunks(added: () => void): TakenChunks {
  let chunks: { run: number; left: readonly Candidate[]; end: (how: ChunkEnd) => void }[] = []
  let isClosed = false

  function end(how: ChunkEnd, run?: number): void {
    const ended = chunks.filter((chunk) => run === undefined || chunk.run === run)
    chunks = chunks.filter((chunk) => !ended.includes(chunk))
    for (const chunk of ended) chunk.end(how)
  }

  return {
    end,
    add: (run, left) => {
      if (isClosed) return Promise.resolve({ kind: 'back' })
      if (left.length === 0) return Promise.resolve({ kind: 'done' })
      return new Promise((resolve) => {
        chunks.push({ run, left, end: resolve })
        added()
      })
    },
    waiting: () => chunks.reduce((sum, { left }) => sum + left.length, 0),
    next: (most) => {
      const next: Candidate[] = []
      for (const { left } of chunks) {
        if (next.length >= most) break
        next.push(...left.slice(0, most - next.length))
      }
      return next
    },
    taken: (messages) => {
      if (messages.size === 0) return
      for (const chunk of chunks) chunk.left = chunk.left.filter((message) => !messages.has(message))
      const empty = chunks.filter(({ left }) => left.length === 0)
      chunks = chunks.filter(({ left }) => left.length > 0)
      for (const chunk of empty) chunk.end({ kind: 'done' })
    },
    close: () => {
      isClosed = true
      end({ kind: 'back' })
    },
  }
}
