// Bulk moves: the producer checks, queues the job and waits for a while for the outcome that the worker records.

import type { FileStore } from '../../../files/store.ts'
import { findMoveOutcome, type MoveOutcome, openMoveQueue } from '../../../gallery/moves.ts'
import { type MovePayload, moveIdSchema, newMoveId } from '../../../jobs/background.ts'
import type { Config } from '../../../kernel/config.ts'
import { counted, type Fault } from '../../../kernel/fault.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, internal } from '../../errors.ts'
import type { Handlers } from '../../route.ts'
import { succeeds } from '../answers.ts'
import { addressOf, found, outcomeWithin } from '../requests.ts'
import { GALLERY, type galleryFiles } from './routes.ts'

/**
 * Moves of one account that wait at the same time in a process. Workers do moves in order of arrival, some ms each, so
 * that this many delay no other account noticeably.
 */
const WAITING_MAX = 50

/** The outcome of a move, or the state of its job. */
export type MoveState = MoveOutcome | { state: 'pending' } | { state: 'given_up' }

const tooMany = (): ApiError =>
  new ApiError(
    429,
    'too_many_moves',
    `${WAITING_MAX} moves of this account are under way; wait until one of them is done.`,
    { headers: { 'Retry-After': '1' } },
  )

export type BulkMoves = ReturnType<typeof openBulkMoves>

/** Opens the queue of moves on a connection that fails fast. */
export function openBulkMoves(redis: Redis) {
  const queue = openMoveQueue(redis)
  /** Waiting moves, by account. */
  const underWay = new Map<number, number>()
  let closed = false

  return {
    /** Queues a move and waits up to `limitMs` for its outcome; undefined if there is none yet. 429 if too many wait. */
    async run(payload: MovePayload, limitMs: number): Promise<MoveOutcome | undefined> {
      const { account, move } = payload
      const own = underWay.get(account) ?? 0
      if (own >= WAITING_MAX) throw tooMany()
      underWay.set(account, own + 1)
      try {
        await queue.add(payload)
        return await outcomeWithin(
          limitMs,
          () => findMoveOutcome(redis, account, move),
          () => closed,
        )
      } finally {
        const left = (underWay.get(account) ?? 1) - 1
        if (left > 0) underWay.set(account, left)
        else underWay.delete(account)
      }
    },

    /** The state of a move; undefined if the account has none of this id. */
    async stateOf(account: number, move: string): Promise<MoveState | undefined> {
      // The job first: it may be removed as soon as the outcome is stored, never before.
      const job = await queue.find(account, move)
      const outcome = await findMoveOutcome(redis, account, move)
      if (outcome !== undefined) return outcome
      if (job === undefined) return undefined
      return { state: job === 'failed' ? 'given_up' : 'pending' }
    },

    /** Requests that still wait are answered 202, without an outcome. */
    async close(): Promise<void> {
      closed = true
      await queue.close()
    },
  }
}

/** `bulkMoveWaitMs` is how long a request waits for its move before it is answered 202. */
export interface GalleryDeps {
  redis: Redis
  config: Pick<Config, 'publicUrl' | 'uploadMaxBytes' | 'bulkMoveWaitMs' | 'limits'> & { files: FileStore }
  moves: BulkMoves
}

type MoveRoutes = Pick<typeof galleryFiles, 'move' | 'showMove'>

/** Handlers of bulk moves. */
export const moveHandlers = ({ config, moves }: Pick<GalleryDeps, 'config' | 'moves'>): Handlers<MoveRoutes> => ({
  async move(call) {
    const { caller, body } = call
    const id = newMoveId(Date.now())
    const outcome = await moves.run({ v: 1, account: caller.account, move: id, ...body }, config.bulkMoveWaitMs)
    if (outcome === undefined) {
      const status_url = addressOf(config, call, `${GALLERY}/jobs/${id}`)
      const message = 'The move is queued and not done yet. Ask status_url how it ended.'
      return { status: 202, ...succeeds(message, { job_id: id, status_url }) }
    }
    if (outcome.state === 'done') return { body: { success: true, message: doneMessage(outcome.moved) } }
    const faults = faultsOfMove(outcome)
    if (faults.length === 0) throw internal(new Error(`move ${id} met a broken record, see the worker's log`))
    throw new ApiError(404, 'not_found', failedMessage(faults), { details: faults })
  },

  async showMove({ caller, params }) {
    const { data: job_id = '' } = moveIdSchema.safeParse(params.job_id)
    const move = found(job_id ? await moves.stateOf(caller.account, job_id) : undefined, 'This job')
    const answer = (status: 'pending' | 'done' | 'failed', message: string, details: readonly Fault[] = []) =>
      succeeds(message, { job_id, status, details })
    switch (move.state) {
      case 'pending':
        return answer('pending', 'The move is queued and not done yet.')
      case 'done':
        return answer('done', doneMessage(move.moved))
      case 'given_up':
        return answer('failed', failedMessage([]))
      case 'failed': {
        const faults = faultsOfMove(move)
        return answer('failed', failedMessage(faults), faults)
      }
    }
  },
})

/** Exactly this text is part of the interface. */
const doneMessage = (moved: number): string => `${moved} file(s) moved`

/** What the caller asked for that does not exist; none when the failure is ours. */
function faultsOfMove(outcome: Extract<MoveOutcome, { state: 'failed' }>): Fault[] {
  if (outcome.reason === 'no_folder') return [{ path: 'folder_id', message: 'the folder does not exist' }]
  return outcome.missing.map((file) => ({ path: 'file_ids', message: `file ${file} does not exist` }))
}

function failedMessage(faults: readonly Fault[]): string {
  const [first] = faults
  if (first === undefined) return 'The move failed on our side, nothing was moved.'
  const more = faults.length > 1 ? ` (and ${counted(faults.length - 1, 'more file')} do not)` : ''
  return `${first.path}: ${first.message}${more}; nothing was moved.`
}
