// A person's data: showing it as it is read, and having a worker forget it.
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../../config.ts'
import { iso } from '../../../messages/lookup/message-document.ts'
import type { ErasureQueue } from '../../../people/erasures.ts'
import { type Erasure, findErasure, newErasureId } from '../../../people/erasures.ts'
import { type GatherDeps, personPieces } from '../../../people/gather.ts'
import type { Tombstones } from '../../../people/tombstones.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import { accountKey } from '../../../redis/keys.ts'
import { bind, type Route } from '../../bind.ts'
import { personOf } from '../person-field.ts'
import { people } from './routes.ts'

interface PeopleDeps extends GatherDeps {
  config: Pick<Config, 'retentionMs' | 'publicUrl' | 'bulkMoveWaitMs'> & GatherDeps['config']
  erasures: ErasureQueue
  tombstones: Tombstones
}

const LOOK_MS = 50

/** The routes of routes/people.ts. */
export function peopleRoutes(deps: PeopleDeps): Route[] {
  const { redis, config, erasures, tombstones } = deps
  return bind(people)({
    async show({ params, caller, inPieces }) {
      const pieces = inPieces(personPieces(deps, caller.account, personOf(params.person), Date.now()))
      // Before the header is sent, so that an unreachable Redis is answered as what it is.
      const first = await pieces.next()
      async function* all() {
        if (!first.done) yield first.value
        yield* pieces
      }
      return { headers: { 'Content-Type': 'application/json; charset=utf-8' }, stream: Readable.from(all()) }
    },

    async erase({ params, caller: { account }, note, isGone, origin }) {
      const person = personOf(params.person)
      const nowMs = await redisNowMs(redis, accountKey(account))
      const id = newErasureId(nowMs)
      // The activity names the job: a number must not stand there.
      note({ target: id })
      // First: from now on no campaign that exists sends them anything, whenever the job is done.
      await tombstones.bury(account, person, nowMs, config.retentionMs)
      await erasures.start(id, { account, person, nowMs })
      for (
        const endMs = performance.now() + config.bulkMoveWaitMs;
        performance.now() < endMs && !isGone();
        await pause(LOOK_MS)
      ) {
        const found = await findErasure(redis, id)
        if (found?.state === 'done')
          return { body: { status: true, message: 'erased', data: erasureDocument(id, found) } }
      }
      const statusUrl = `${config.publicUrl ?? origin()}/jobs/${id}`
      return { status: 202, body: { status: true, message: 'queued', data: { job_id: id, status_url: statusUrl } } }
    },
  })
}

/** An erasure as its callers see it. */
export const erasureDocument = (id: string, { state, contacts, messages, received, recipients, ...at }: Erasure) => ({
  job_id: id,
  state,
  ...{ contacts, messages, received, recipients },
  created_at: iso(at.created_at),
  ended_at: at.ended_at === undefined ? null : iso(at.ended_at),
})
