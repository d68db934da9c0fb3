// messages requeue: send one message again by its id, or all that a filter finds, as a job that a worker does.
import type { Writable } from 'node:stream'
import type { z } from 'zod'
import { listAccounts } from '../accounts/accounts.ts'
import { findSender, laneIdsOf } from '../accounts/senders.ts'
import { counted } from '../kernel/fault.ts'
import { parseMessageId } from '../kernel/message-id.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { hasFilter, requeueOrder } from '../messages/requeue/accept-requeue.ts'
import { REQUEUE_STATES } from '../messages/requeue/filter.ts'
import {
  findRequeueJob,
  matchedOf,
  newRequeueJobId,
  openRequeueQueue,
  type RequeueCounts,
  type RequeueJob,
  type RequeueOrder,
  totalOf,
} from '../messages/requeue/jobs.ts'
import { OBSTACLES, requeueMessage } from '../messages/requeue/requeue.ts'
import { countMatching, isAnyMatching } from '../messages/requeue/search.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import { parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { findCampaign } from '../recipients/campaigns.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { openRequeuesKey } from '../redis/keys.ts'
import { followJob } from './background-job.ts'
import { CliFailure, reasonOf } from './failure.ts'
import { confirm, laneQueues, noCampaign } from './session.ts'
import { noneWithCampaignId } from './unknown-campaign.ts'
import type { requeueValues } from './values.ts'
import type { Answer, CommandContext } from './verb.ts'

/** Each takes 2.5 s at most. */
const MOST_TRIES = 2
const SAY_EVERY_MS = 2_000

/** Sends one message again, or all that match. */
export async function requeue(
  {
    id,
    account,
    all,
    dryRun,
    detach,
    yes,
    campaign,
    since,
    until,
    ...rest
  }: z.output<z.ZodObject<typeof requeueValues>>,
  context: CommandContext,
): Promise<Answer> {
  const { redis } = context
  const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
  const request = {
    ...rest,
    ...(ours ? { campaign } : { campaign_id: campaign }),
    sinceMs: since,
    untilMs: until,
  }
  const filters = hasFilter(request)
  const queues = await laneQueues(context)
  if (id !== undefined) {
    if (filters || all || dryRun || account !== undefined)
      throw new CliFailure('Give either a message id or filters, not both.', 2)
    return requeueOne(context, queues, id)
  }
  if (!filters && !all) {
    const whose = account === undefined ? 'all accounts' : `account ${account}`
    const what = `every message of ${whose} that ended failed, unknown, expired or cancelled`
    throw new CliFailure(`Name a message or at least one filter; --all requeues ${what}.`, 2)
  }
  // A filter that names something unknown would match nothing, and seem to succeed.
  if (ours && !(await findCampaign(redis, ours))) throw noCampaign(ours)
  const nowMs = await redisNowMs(redis, openRequeuesKey(account ?? 0))
  const order = await requeueOrder(redis, account, request, nowMs)
  if (dryRun) {
    const counts = await countMatching({ redis, queues }, order)
    if (matchedOf(counts) === 0 && campaign !== undefined && !ours) await noneWithCampaignId(redis, account, campaign)
    return dryAnswer(counts)
  }
  const agreed = account !== undefined || yes ? order : await ofOneAccount(context, queues, order)
  return start(context, { order: agreed, account, nowMs, detach })
}

/**
 * The order as a person who named no account means it. When all that matches is of one account, it is for the lanes of that
 * account only. When messages of several match, it is the order as it is, once the person has agreed; a CliFailure when
 * they do not, or cannot be asked. Reads what may match, as a dry run does.
 */
async function ofOneAccount(context: CommandContext, queues: LaneQueues, order: RequeueOrder): Promise<RequeueOrder> {
  const { redis } = context
  const matching: { account: number; order: RequeueOrder }[] = []
  for (const { id } of await listAccounts(redis)) {
    const own = new Set(await laneIdsOf(redis, id))
    const part = { ...order, lanes: order.lanes.filter((lane) => own.has(lane)) }
    if (await isAnyMatching({ redis, queues }, part)) matching.push({ account: id, order: part })
  }
  if (matching.length < 2) return matching[0]?.order ?? { ...order, lanes: [] }
  const sentence = `This requeues messages of ${matching.length} accounts (${matching.map(({ account }) => account).join(', ')})`
  const otherwise = 'Name one with --account, or confirm with --yes.'
  await confirm(context, { sentence, otherwise, declined: 'Nothing was requeued.' })
  return order
}

async function requeueOne({ redis, config }: CommandContext, queues: LaneQueues, text: string): Promise<Answer> {
  const id = parseMessageId(text)
  const { verdict, state } = id
    ? await requeueMessage({ redis, queues, config }, id)
    : { verdict: 'missing' as const, state: undefined }
  switch (verdict) {
    case 'done': {
      const account = (id && (await findSender(redis, id.lane))?.account) ?? NO_ACCOUNT
      return { json: { id: text, requeued: true }, text: `Requeued ${text}.`, acted: { account, target: text } }
    }
    case 'missing':
      throw new CliFailure(`There is no message ${text} that could be requeued; see \`messages show ${text}\`.`)
    case 'ignored':
      throw new CliFailure(`The message is ${state}; only one that is ${REQUEUE_STATES.join(', ')} can be requeued.`)
    default:
      throw new CliFailure(OBSTACLES[verdict])
  }
}

/** The job once it is done; prints its progress every few seconds. */
async function followRequeue(redis: Redis, job: string, stderr: Writable): Promise<RequeueJob> {
  let saidAt = performance.now()
  return followJob(
    job,
    () => findRequeueJob(redis, job),
    async (found) => {
      if (performance.now() - saidAt < SAY_EVERY_MS) return
      saidAt = performance.now()
      const counts = await totalOf(redis, job, found)
      stderr.write(`Requeued ${counts.requeued} of ${counted(matchedOf(counts), 'matching message')} so far.\n`)
    },
  )
}

/**
 * Adding a job under its id once more changes nothing, so a Redis that is slow or away for a moment is tried again. After
 * that nobody can know whether the job was added, and the person learns its id.
 */
async function insist(job: string, add: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await add()
    } catch (error) {
      if (!isRedisAway(error)) throw error
      if (tries < MOST_TRIES) continue
      const doubt = `Redis gave no answer (${reasonOf(error)}), so the job ${job} may or may not have been added`
      throw new CliFailure(`${doubt}: look at it with GET /jobs/${job} before you run the command again.`)
    }
  }
}

async function start(
  { redis, stderr, use }: CommandContext,
  asked: { order: RequeueOrder; account: number | undefined; nowMs: number; detach: boolean },
): Promise<Answer> {
  const { order, nowMs, detach } = asked
  const job = newRequeueJobId(nowMs)
  const requeues = use(openRequeueQueue(redis))
  await insist(job, () => requeues.start(job, { account: asked.account ?? 0, order, nowMs }))
  const acted = { account: asked.account ?? NO_ACCOUNT, target: job }
  if (detach) return { json: { job_id: job, state: 'waiting' }, text: `A worker does it as the job ${job}.`, acted }
  const counts = await totalOf(redis, job, await followRequeue(redis, job, stderr))
  const matched = matchedOf(counts)
  return {
    json: { job_id: job, state: 'done', matched, ...counts, dry_run: false },
    text: `Requeued ${counts.requeued} of ${counted(matched, 'matching message')}.${left(counts)}`,
    acted,
  }
}

function dryAnswer(counts: RequeueCounts): Answer {
  const { requeued, ...blocked } = counts
  const matched = matchedOf(counts)
  const verb = matched === 1 ? 'matches' : 'match'
  return {
    json: { matched, requeued: 0, ...blocked, dry_run: true },
    text: `${counted(matched, 'message')} ${verb}; nothing was changed.${left(counts)}`,
  }
}

/** What cannot be sent again, and why. */
function left({ without_content, campaign_over, skipped_capped, failed }: RequeueCounts): string {
  const cannot = (count: number, why: string): string =>
    count === 0 ? '' : ` ${count} of them cannot be sent again: ${why}.`
  return (
    cannot(without_content, 'the content is no longer stored') +
    cannot(campaign_over, 'the campaign is cancelled or no longer stored') +
    cannot(skipped_capped, 'the person has had enough marketing for now') +
    cannot(failed, 'the record cannot be read')
  )
}
