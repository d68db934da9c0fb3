// Bulk move: the producer only checks, queues the job and waits for a while; a worker does it.
import { z } from 'zod'
import type { MoveOutcome } from '../../gallery/store/moves.ts'
import { MOVE_MAX_FILES, moveIdSchema, newMoveId } from '../../jobs/bulk-move.ts'
import { listUpTo } from '../../messages/bounded-list.ts'
import { counted, type Fault } from '../../messages/fault.ts'
import { baseUrlOf } from '../base-url.ts'
import { ApiError, internal, notFound } from '../errors.ts'
import { fieldsOf, idField } from '../fields.ts'
import { ignoredIn } from '../ignored.ts'
import type { Answer, Call, Route } from '../route.ts'
import { galleryAccess as access, GALLERY, type GalleryDeps } from './gallery-route.ts'

const moveSchema = z.object({ file_ids: listUpTo(MOVE_MAX_FILES, idField, { min: 1 }), folder_id: idField })

export function moveRoutes({ config, moves }: Pick<GalleryDeps, 'config' | 'moves'>): Route[] {
  async function move({ caller, body, request }: Call): Promise<Answer> {
    const fields = fieldsOf(moveSchema, body)
    const headers = ignoredIn(body, ['file_ids', 'folder_id'])
    const id = newMoveId(Date.now())
    const outcome = await moves.run({ v: 1, account: caller.account, move: id, ...fields }, config.bulkMoveWaitMs)
    if (outcome === undefined) {
      const statusUrl = `${baseUrlOf(config, request)}${GALLERY}/jobs/${id}`
      const message = 'The move is queued and not done yet. Ask status_url how it ended.'
      return { status: 202, headers, body: { success: true, message, data: { job_id: id, status_url: statusUrl } } }
    }
    if (outcome.state === 'done') return { headers, body: { success: true, message: doneMessage(outcome.moved) } }
    const faults = faultsOfMove(outcome)
    if (faults.length === 0) throw internal(new Error(`move ${id} met a broken record, see the worker's log`))
    throw new ApiError(404, 'not_found', failedMessage(faults), { details: faults })
  }

  async function show({ caller, params }: Call): Promise<Answer> {
    const id = moveIdSchema.safeParse(params.job_id)
    const found = id.success ? await moves.stateOf(caller.account, id.data) : undefined
    if (!id.success || found === undefined) throw notFound('This job')
    const answer = (status: string, message: string, details: readonly Fault[] = []) => ({
      body: { success: true, message, data: { job_id: id.data, status, details } },
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
  }

  return [
    { method: 'post', path: `${GALLERY}/files/bulk-move`, access, body: { as: 'json' }, handle: move },
    { method: 'get', path: `${GALLERY}/jobs/:job_id`, access, body: { as: 'ignored' }, handle: show },
  ]
}

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
