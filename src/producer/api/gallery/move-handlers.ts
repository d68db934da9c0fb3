// Bulk move: the producer only checks, queues the job and waits for a while; a worker does it.
import type { MoveOutcome } from '../../../gallery/store/moves.ts'
import { moveIdSchema, newMoveId } from '../../../jobs/bulk-move.ts'
import { counted, type Fault } from '../../../messages/fault.ts'
import { ApiError, internal, notFound } from '../../errors.ts'
import type { Handlers } from '../../route.ts'
import type { GalleryDeps } from './deps.ts'
import type { galleryFiles } from './file-routes.ts'
import { GALLERY } from './folder-routes.ts'

type MoveRoutes = Pick<typeof galleryFiles, 'move' | 'showMove'>

/** Handlers of bulk moves. */
export const moveHandlers = ({ config, moves }: Pick<GalleryDeps, 'config' | 'moves'>): Handlers<MoveRoutes> => ({
  async move({ caller, body, origin }) {
    const id = newMoveId(Date.now())
    const outcome = await moves.run({ v: 1, account: caller.account, move: id, ...body }, config.bulkMoveWaitMs)
    if (outcome === undefined) {
      const statusUrl = `${config.publicUrl ?? origin()}${GALLERY}/jobs/${id}`
      const message = 'The move is queued and not done yet. Ask status_url how it ended.'
      return { status: 202, body: { success: true, message, data: { job_id: id, status_url: statusUrl } } }
    }
    if (outcome.state === 'done') return { body: { success: true, message: doneMessage(outcome.moved) } }
    const faults = faultsOfMove(outcome)
    if (faults.length === 0) throw internal(new Error(`move ${id} met a broken record, see the worker's log`))
    throw new ApiError(404, 'not_found', failedMessage(faults), { details: faults })
  },

  async showMove({ caller, params }) {
    const id = moveIdSchema.safeParse(params.job_id)
    const found = id.success ? await moves.stateOf(caller.account, id.data) : undefined
    if (!id.success || found === undefined) throw notFound('This job')
    const answer = (status: 'pending' | 'done' | 'failed', message: string, details: readonly Fault[] = []) => ({
      body: { success: true as const, message, data: { job_id: id.data, status, details } },
    })
    switch (found.state) {
      case 'pending':
        return answer('pending', 'The move is queued and not done yet.')
      case 'done':
        return answer('done', doneMessage(found.moved))
      case 'given_up':
        return answer('failed', failedMessage([]))
      case 'failed': {
        const faults = faultsOfMove(found)
        return answer('failed', failedMessage(faults), faults)
      }
    }
  },
})

/** Literally this text: interface.md has it so. */
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
