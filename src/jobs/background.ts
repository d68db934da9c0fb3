// Jobs of the worker's own queues: bulk moves of the gallery, status polls, erasures, retries of event deliveries.

import { z } from 'zod'
import { newUlid } from '../kernel/message-id.ts'

export const MOVE_QUEUE = 'gallery-moves'
export const MOVE_JOB = 'bulk-move'

/** Most files in one move: the step for 1,000 takes 3 to 8 ms, in which Redis serves nobody else. */
export const MOVE_MAX_FILES = 1_000

const id = z.int().positive()

/** Id of a move: of its job, of the record of its outcome, and what a person asks for its state with. */
export const moveIdSchema = z.string().regex(/^mv_[0-7][0-9A-HJKMNP-TV-Z]{25}$/)

/** A new id for a move that is requested at `nowMs` (epoch ms), as `moveIdSchema` expects it. */
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

/** Polls one lane: a lane has at most one such job, however many messages it follows. */
export const POLL_QUEUE = 'status-polls'
export const POLL_JOB = 'poll-status'

export const pollPayloadSchema = z.object({ v: z.literal(1), lane: z.number().int().positive() })
export type PollPayload = z.infer<typeof pollPayloadSchema>

/** Adding the job of a lane that has one changes nothing. */
export const pollJobId = (lane: number): string => `poll_${lane}`

/** Forgets a person. Names the record of the request, which outlives the job; the person is named there only until it is done. */
export const ERASURE_QUEUE = 'erasures'
export const ERASURE_JOB = 'erase'

export const erasurePayloadSchema = z.object({ v: z.literal(1), job: z.string().min(1).max(40) })
export type ErasurePayload = z.infer<typeof erasurePayloadSchema>

/** `<source>:<entry>:<line>` of an event. */
const ref = z.string().regex(/^\d{1,15}:\d{1,15}-\d{1,10}:\d{1,6}$/)

export const eventJobSchema = z.discriminatedUnion('kind', [
  z.object({
    v: z.literal(1),
    kind: z.literal('deliver'),
    refs: z.array(ref).min(1).max(100),
    /** Times that it was tried and failed. */
    failures: z.number().int().nonnegative(),
  }),
  z.object({ v: z.literal(1), kind: z.literal('test'), at: z.number() }),
  z.object({ v: z.literal(1), kind: z.literal('replay'), replay: z.string().max(40) }),
])
export type EventJob = z.infer<typeof eventJobSchema>
