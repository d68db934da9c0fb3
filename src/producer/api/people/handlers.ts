// A person's data: showing it as it is read, and having a worker erase it.

import { type Erasure, type ErasureQueue, findErasure, newErasureId } from '../../../erase/erasures.ts'
import { type GatherDeps, personPieces } from '../../../erase/gather.ts'
import type { Config } from '../../../kernel/config.ts'
import { iso, isoOrNull } from '../../../kernel/instant.ts'
import { type Tombstones, tombstonesKeptMs } from '../../../people/tombstones.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import { accountKey } from '../../../redis/keys.ts'
import { bind, type Route } from '../../bind.ts'
import { queued, shows } from '../answers.ts'
import { addressOf, JSON_TYPE, outcomeWithin, streamed } from '../requests.ts'
import { people } from './routes.ts'

interface PeopleDeps extends GatherDeps {
  config: Pick<Config, 'retentionMs' | 'publicUrl' | 'bulkMoveWaitMs'> & GatherDeps['config']
  erasures: ErasureQueue
  tombstones: Tombstones
}

export function peopleRoutes(deps: PeopleDeps): Route[] {
  const { redis, config, erasures, tombstones } = deps
  return bind(people)({
    show: (call) => streamed(call, personPieces(deps, call.caller.account, call.params.person, Date.now()), JSON_TYPE),

    async erase(call) {
      const { account } = call.caller
      const { person } = call.params
      const nowMs = await redisNowMs(redis, accountKey(account))
      const id = newErasureId(nowMs)
      // The audit log names the job, never a number.
      call.audit({ target: id })
      // First: from now on no existing campaign sends them anything, whenever the job is done.
      await tombstones.bury(account, person, nowMs, tombstonesKeptMs(config))
      await erasures.start(id, { account, person, nowMs })
      const findEnded = async () => {
        const erasure = await findErasure(redis, id)
        return erasure?.state === 'done' ? erasure : undefined
      }
      const erasure = await outcomeWithin(config.bulkMoveWaitMs, findEnded, call.isGone)
      if (erasure !== undefined) return shows('erased', erasureDocument(id, erasure))
      return queued({ job_id: id, status_url: addressOf(config, call, `/jobs/${id}`) })
    },
  })
}

/** An erasure as its callers see it. */
export const erasureDocument = (
  id: string,
  { state, contacts, messages, received, recipients, contact_book: book, ...at }: Erasure,
) => ({
  job_id: id,
  state,
  ...{ contacts, messages, received, recipients },
  contact_book: book ?? null,
  created_at: iso(at.created_at),
  ended_at: isoOrNull(at.ended_at),
})
