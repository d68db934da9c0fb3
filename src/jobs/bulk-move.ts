// The job `bulk-move`: puts gallery files into a folder, all or none. Added by the producer, done by the worker in one
// atomic step that a second run does not repeat.
import { z } from 'zod'
import { newUlid } from '../messages/message-id.ts'

export const MOVE_QUEUE = 'gallery-moves'
export const MOVE_JOB = 'bulk-move'

/** Most files in one move: the step for 1,000 takes 3 to 8 ms, in which Redis serves nobody else. */
export const MOVE_MAX_FILES = 1_000

const id = z.int().positive()

/** Id of a move: of its job, of the record of its outcome, and what a person asks for its state with. */
export const moveIdSchema = z.string().regex(/^mv_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)

/** A new id for a move that is asked for at `nowMs` (epoch ms), as `moveIdSchema` wants it. */
export const newMoveId = (nowMs: number): string => `mv_${newUlid(nowMs)}`

export const movePayloadSchema = z.object({
  v: z.literal(1),
  account: id,
  move: moveIdSchema,
  file_ids: z.array(id).min(1).max(MOVE_MAX_FILES),
  folder_id: id,
})
export type MovePayload = z.infer<typeof movePayloadSchema>

/** Only trouble with Redis itself is tried again; a broken record or payload is not. */
export const MOVE_RETRY = { attempts: 5, backoff: { type: 'exponential', delay: 500 } }
