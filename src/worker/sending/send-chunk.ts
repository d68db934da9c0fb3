// The job `chunk`: recipients of a campaign who stand side by side in its list. Their messages are put on the lane, in
// the order of the list, and the lane takes them like those that have jobs (take.ts); one that has to be tried again
// gets a job of its own. The chunk is done when none of them waits any more: from their claims on the sweep looks after
// them.
//
// Where the process may die: who was not claimed has no mark, and the chunk, taken up again, goes on with them; who was
// claimed is passed over. Two that run one chunk meet in the claims. A lost chunk is fed again by its fan-out
// (unstick.ts).
import { moveCampaign } from '../../campaigns/store/campaigns.ts'
import { type OpenCampaign, type OpenCampaigns, UnreadableListError } from '../../campaigns/store/open-campaigns.ts'
import { isFilesAway } from '../../files/store.ts'
import type { Chunk } from '../../jobs/chunk.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { SendDeps } from './attempt.ts'
import { waitingOf } from './chunk-messages.ts'
import { senderOrWait } from './sender-directory.ts'
import type { ChunkEnd, TakenChunks } from './waiting-messages.ts'

/**
 * When this many workers have died over a chunk, its recipients are sent to one by one, so that the one to blame is
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
    // Whoever was not claimed is fed again should it be resumed.
    if (campaign === undefined) return { kind: 'done' }
    return await sendTo(deps, run, campaign)
  } catch (error) {
    if (isRedisAway(error) || isFilesAway(error)) throw error
    deps.log.error({ campaign: `cmp_${lane}_${chunk.run}`, err: error }, 'chunk.broken')
    // Its fan-out sees to a record that cannot be read.
    if (error instanceof CorruptRecordError && campaign === undefined) return { kind: 'done' }
    const reason =
      error instanceof UnreadableListError
        ? 'The list of recipients cannot be read on the server.'
        : 'The campaign stopped because of an internal error; see the worker log.'
    await moveCampaign(deps.redis, id, 'pause', deps.config.retentionMs, { fields: { reason } })
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
