// Sending many messages again, as a job that a worker does, and how far it is.

import { permits } from '../../../accounts/permissions.ts'
import type { Config } from '../../../config.ts'
import { checkedKey, refuseOtherBody } from '../../../messages/accept/idempotency-key.ts'
import { iso } from '../../../messages/lookup/message-document.ts'
import { hasFilter, requeueOrder } from '../../../messages/requeue/accept-requeue.ts'
import { createDryRuns, type DryRuns } from '../../../messages/requeue/dry-runs.ts'
import {
  findRequeueJob,
  matchedOf,
  newRequeueJobId,
  type RequeueCounts,
  type RequeueJob,
  totalOf,
} from '../../../messages/requeue/jobs.ts'
import { MOST_OPEN, openRequeue } from '../../../messages/requeue/open-jobs.ts'
import type { RequeueQueue } from '../../../messages/requeue/queue.ts'
import { bodyDigest, rememberKey } from '../../../messages/store/idempotency.ts'
import { findErasure, isErasureId } from '../../../people/erasures.ts'
import type { LaneQueues } from '../../../queue/lane/queues.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import type { Redis } from '../../../redis/connect.ts'
import { openRequeuesKey } from '../../../redis/keys.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import type { AnswerOf, CallOf, Handlers } from '../../route.ts'
import { erasureDocument } from '../people/handlers.ts'
import type { messages } from './routes.ts'

interface RequeueDeps {
  redis: Redis
  config: Pick<Config, 'publicUrl'>
  queues: LaneQueues
  requeues: RequeueQueue
}

type RequeueRoutes = Pick<typeof messages, 'requeueMany' | 'job'>

/** Handlers of `/messages/requeue` and `/jobs/{id}`. */
export function requeueHandlers(deps: RequeueDeps): Handlers<RequeueRoutes> {
  const dryRuns = createDryRuns(deps)
  return { requeueMany: (call) => requeue(deps, dryRuns, call), job: (call) => showJob(deps.redis, call) }
}

async function requeue(
  { redis, config, requeues }: RequeueDeps,
  dryRuns: DryRuns,
  call: CallOf<RequeueRoutes['requeueMany']>,
): Promise<AnswerOf<RequeueRoutes['requeueMany']>> {
  const { all, dry_run, since: sinceMs, until: untilMs, ...rest } = call.body
  const { account } = call.caller
  const request = { ...rest, sinceMs, untilMs }
  if (!all && !hasFilter(request)) {
    const message = 'give at least one filter, or true to requeue all that failed, is unknown, expired or was cancelled'
    throw invalid([{ path: 'all', message }])
  }
  const nowMs = await redisNowMs(redis, openRequeuesKey(account))
  const order = await requeueOrder(redis, account, request, nowMs)
  if (dry_run) {
    call.note('nothing')
    // Nothing is counted for a client that has hung up.
    const counts = await dryRuns.count(account, order, () => !call.isGone())
    if (counts === undefined) throw tooMany('Dry runs of this account are under way; ask again when one has answered.')
    const data = { matched: matchedOf(counts), ...blocked(counts) }
    return { body: { status: true, message: 'nothing was changed', data } }
  }
  // The key stands for the job before there is one: a repeat makes what a crash in between has left out.
  let id = newRequeueJobId(nowMs)
  const key = checkedKey(call.headers['Idempotency-Key'])
  if (key !== undefined) {
    const digest = bodyDigest(call.sent)
    const kept = await rememberKey(redis, { account, route: 'requeue', key }, { id, digest })
    refuseOtherBody(kept, digest)
    id = kept.id
  }
  if (!(await openRequeue(redis, account, id, nowMs))) {
    throw tooMany(`${MOST_OPEN} requeue jobs of this account are not done yet; wait until one of them is.`)
  }
  await requeues.start(id, { account, order, nowMs })
  call.note({ target: id })
  const statusUrl = `${config.publicUrl ?? call.origin()}/jobs/${id}`
  return { status: 202, body: { status: true, message: 'queued', data: { job_id: id, status_url: statusUrl } } }
}

const tooMany = (message: string): ApiError =>
  new ApiError(429, 'too_many_requeues', message, { headers: { 'Retry-After': '5' } })

async function showJob(
  redis: Redis,
  { params: { id }, caller }: CallOf<RequeueRoutes['job']>,
): Promise<AnswerOf<RequeueRoutes['job']>> {
  if (isErasureId(id)) {
    const erasure = permits(caller, 'admin') ? await findErasure(redis, id) : undefined
    if (erasure?.account !== caller.account) throw notFound('The job')
    return { body: { status: true, message: erasure.state, data: erasureDocument(id, erasure) } }
  }
  const job = await findRequeueJob(redis, id)
  if (job?.account !== caller.account) throw notFound('The job')
  return { body: { status: true, message: job.state, data: jobDocument(id, job, await totalOf(redis, id, job)) } }
}

const jobDocument = (id: string, job: RequeueJob, counts: RequeueCounts) => ({
  job_id: id,
  state: job.state,
  matched: matchedOf(counts),
  requeued: counts.requeued,
  ...blocked(counts),
  created_at: iso(job.created_at),
  ended_at: job.ended_at === undefined ? null : iso(job.ended_at),
})

/** Those that match and cannot be sent again. */
const blocked = ({ without_content, campaign_over, failed }: RequeueCounts) => ({
  without_content,
  campaign_over,
  failed,
})
