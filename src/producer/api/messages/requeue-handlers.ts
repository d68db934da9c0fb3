// Requeueing many messages as a job that a worker does, and its progress.

import { findErasure, isErasureId } from '../../../erase/erasures.ts'
import type { Config } from '../../../kernel/config.ts'
import { iso, isoOrNull } from '../../../kernel/instant.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { requeueOrder } from '../../../messages/requeue/accept-requeue.ts'
import {
  findRequeueJob,
  MOST_OPEN,
  matchedOf,
  newRequeueJobId,
  openRequeue,
  type RequeueCounts,
  type RequeueQueue,
  totalOf,
} from '../../../messages/requeue/jobs.ts'
import { createDryRuns } from '../../../messages/requeue/search.ts'
import { permits } from '../../../model/accounts/permissions.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import type { Redis } from '../../../redis/connect.ts'
import { openRequeuesKey } from '../../../redis/keys.ts'
import { accountOf } from '../../acting-account.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Caller, Handlers } from '../../route.ts'
import { queued, shows } from '../answers.ts'
import { erasureDocument } from '../people/handlers.ts'
import { addressOf, idFor } from '../requests.ts'
import type { messages } from './routes.ts'

export interface RequeueDeps {
  redis: Redis
  config: Pick<Config, 'publicUrl'>
  queues: LaneQueues
  requeues: RequeueQueue
}

/** Handlers of `/messages/requeue` and `/jobs/{id}`. */
export function requeueHandlers(deps: RequeueDeps): Handlers<Pick<typeof messages, 'requeueMany' | 'job'>> {
  const { redis, config, requeues } = deps
  const dryRuns = createDryRuns(deps)

  return {
    async requeueMany(call) {
      const { all: _all, dry_run, since: sinceMs, until: untilMs, ...rest } = call.body
      const { account } = call.caller
      const request = { ...rest, sinceMs, untilMs }
      const nowMs = await redisNowMs(redis, openRequeuesKey(account))
      const order = await requeueOrder(redis, account, request, nowMs)
      if (dry_run) {
        call.audit('nothing')
        // Counting stops when the client hangs up.
        const counts = await dryRuns.count(account, order, () => !call.isGone())
        if (counts === undefined) {
          throw tooMany('Dry runs of this account are under way; ask again when one has answered.')
        }
        return shows('nothing was changed', { matched: matchedOf(counts), ...blocked(counts) })
      }
      // The key is bound to the job's id before the job exists: after a crash in between, a repeat makes the job.
      const id = await idFor(redis, call, 'requeue', newRequeueJobId(nowMs))
      if (!(await openRequeue(redis, account, id, nowMs))) {
        throw tooMany(`${MOST_OPEN} requeue jobs of this account are not done yet; wait until one of them is.`)
      }
      await requeues.start(id, { account, order, nowMs })
      call.audit({ target: id })
      return queued({ job_id: id, status_url: addressOf(config, call, `/jobs/${id}`) })
    },

    async job({ params: { id }, caller }) {
      if (isErasureId(id)) {
        const erasure = permits(caller, 'admin') ? await findErasure(redis, id) : undefined
        if (erasure === undefined || isOfOthers(caller, erasure)) throw notFound('The job')
        return shows(erasure.state, erasureDocument(id, erasure))
      }
      const job = await findRequeueJob(redis, id)
      if (job === undefined || isOfOthers(caller, job)) throw notFound('The job')
      const counts = await totalOf(redis, id, job)
      return shows(job.state, {
        job_id: id,
        state: job.state,
        matched: matchedOf(counts),
        requeued: counts.requeued,
        ...blocked(counts),
        created_at: iso(job.created_at),
        ended_at: isoOrNull(job.ended_at),
      })
    },
  }
}

/** Of an account that the caller does not act for; an operator who acts for none sees the jobs of all. */
const isOfOthers = (caller: Caller, { account }: { account: number }): boolean =>
  account !== (accountOf(caller) ?? account)

const tooMany = (message: string): ApiError =>
  new ApiError(429, 'too_many_requeues', message, { headers: { 'Retry-After': '5' } })

/** Matching messages that cannot be sent again. */
const blocked = ({ without_content, campaign_over, skipped_capped, failed }: RequeueCounts) => ({
  without_content,
  campaign_over,
  skipped_capped,
  failed,
})
