// Sending many messages again, as a job that a worker does.
//
//   POST /messages/requeue    filters, or all; dry_run counts only; else the id of a job
//   GET  /jobs/{id}           how far it is

import { z } from 'zod'
import { checkedKey, refuseOtherBody } from '../../accept/idempotency-key.ts'
import { messageClassSchema } from '../../jobs/send.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { iso } from '../../lookup/message-document.ts'
import { textUpTo } from '../../messages/bounded-text.ts'
import { bodyDigest, rememberKey } from '../../messages/store/idempotency.ts'
import type { Redis } from '../../redis/connect.ts'
import { redisNowMs } from '../../redis/heartbeats.ts'
import { hasFilter, requeueOrder } from '../../requeue/accept-requeue.ts'
import { createDryRuns, type DryRuns } from '../../requeue/dry-runs.ts'
import { REQUEUE_STATES } from '../../requeue/filter.ts'
import {
  findRequeueJob,
  matchedOf,
  newRequeueJobId,
  type RequeueCounts,
  type RequeueJob,
  totalOf,
} from '../../requeue/jobs.ts'
import { MOST_OPEN, openRequeue } from '../../requeue/open-jobs.ts'
import type { RequeueQueue } from '../../requeue/queue.ts'
import { ApiError, invalid, notFound } from '../errors.ts'
import { fieldsOf } from '../fields.ts'
import type { Access, Answer, Call, Route } from '../route.ts'

interface RequeueDeps {
  redis: Redis
  queues: LaneQueues
  requeues: RequeueQueue
}

const access: Access = { in: 'bearer', permission: 'messages:send' }
const time = z.iso
  .datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' })
  .transform((text) => Date.parse(text))
const requeueBody = z.strictObject({
  sender: textUpTo(255).optional(),
  to: textUpTo(40).optional(),
  state: z.enum(REQUEUE_STATES).optional(),
  class: messageClassSchema.optional(),
  campaign: textUpTo(40).optional(),
  campaign_id: textUpTo(255).optional(),
  code: textUpTo(100).optional(),
  since: time.optional(),
  until: time.optional(),
  all: z.boolean().default(false),
  dry_run: z.boolean().default(false),
})

export function requeueRoutes(deps: RequeueDeps): Route[] {
  const dryRuns = createDryRuns(deps)
  return [
    {
      method: 'post',
      path: '/messages/requeue',
      access,
      body: { as: 'json' },
      handle: (call) => requeue(deps, dryRuns, call),
    },
    { method: 'get', path: '/jobs/:id', access, body: { as: 'ignored' }, handle: (call) => showJob(deps.redis, call) },
  ]
}

async function requeue({ redis, requeues }: RequeueDeps, dryRuns: DryRuns, call: Call): Promise<Answer> {
  const { all, dry_run, since: sinceMs, until: untilMs, ...rest } = fieldsOf(requeueBody, call.body)
  const { account } = call.caller
  const request = { ...rest, sinceMs, untilMs }
  if (!all && !hasFilter(request)) {
    const message = 'give at least one filter, or true to requeue all that failed, is unknown, expired or was cancelled'
    throw invalid([{ path: 'all', message }])
  }
  const nowMs = await redisNowMs(redis)
  const order = await requeueOrder(redis, account, request, nowMs)
  if (dry_run) {
    // Nothing is counted for a client that has hung up.
    const counts = await dryRuns.count(account, order, () => !call.request.socket.destroyed)
    if (counts === undefined) throw tooMany('Dry runs of this account are under way; ask again when one has answered.')
    const data = { matched: matchedOf(counts), ...blocked(counts) }
    return { body: { status: true, message: 'nothing was changed', data } }
  }
  // The key stands for the job before there is one: a repeat makes what a crash in between has left out.
  let id = newRequeueJobId(nowMs)
  const key = checkedKey(call.header('idempotency-key'))
  if (key !== undefined) {
    const digest = bodyDigest(call.body)
    const kept = await rememberKey(redis, { account, route: 'requeue', key }, { id, digest })
    refuseOtherBody(kept, digest)
    id = kept.id
  }
  if (!(await openRequeue(redis, account, id, nowMs))) {
    throw tooMany(`${MOST_OPEN} requeue jobs of this account are not done yet; wait until one of them is.`)
  }
  await requeues.start(id, { account, order, nowMs })
  return { status: 202, body: { status: true, message: 'queued', data: { job_id: id, status_url: `/jobs/${id}` } } }
}

const tooMany = (message: string): ApiError =>
  new ApiError(429, 'too_many_requeues', message, { headers: { 'Retry-After': '5' } })

async function showJob(redis: Redis, { params, caller }: Call): Promise<Answer> {
  const id = params.id ?? ''
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
