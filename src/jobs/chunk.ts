// The job `chunk`: consecutive recipients of a campaign's list, whose messages one worker sends. It names places and nothing
// else: who of them gets a message is decided by the campaign's recipient states and by each claim, so that running a chunk
// twice, at the same time or never does no harm.

import { z } from 'zod'
import { MOST_IN_CHUNK } from '../model/campaigns/pace.ts'

export const CHUNK_JOB = 'chunk'

export const chunkSchema = z.object({
  v: z.literal(1),
  /** Number of the campaign on its lane. */
  run: z.number().int().positive(),
  /** Place of the first recipient in the campaign's list, from 0. */
  from: z.number().int().nonnegative(),
  count: z.number().int().min(1).max(MOST_IN_CHUNK),
})
export type Chunk = z.infer<typeof chunkSchema>

/**
 * Adding the same chunk again while it waits changes nothing. `by` names the process that feeds it: one that was
 * dropped with an earlier epoch of its campaign, or that BullMQ may have lost, is added under another name.
 */
export const chunkJobId = ({ run, from, count }: Chunk, by: string): string => `chunk_${run}_${from}_${count}_${by}`

const ID = /^chunk_(\d+)_(\d+)_(\d+)_/

/** The contents of a waiting chunk's id, without its job; undefined for any other text. */
export function parseChunkJobId(id: string): { run: number; from: number; count: number } | undefined {
  const match = ID.exec(id)
  return match ? { run: Number(match[1]), from: Number(match[2]), count: Number(match[3]) } : undefined
}
