// messages requeue: send one message again by its id, or all that a filter finds, as a job that a worker does.

import { z } from 'zod'
import { NO_ACCOUNT } from '../accounts/permissions.ts'
import { findSender } from '../accounts/store/senders.ts'
import { parseCampaignId } from '../campaigns/campaign.ts'
import { Refusal } from '../messages/accept/refusal.ts'
import { counted } from '../messages/fault.ts'
import { parseMessageId } from '../messages/message-id.ts'
import { hasFilter, type RequeueRequest, requeueOrder } from '../messages/requeue/accept-requeue.ts'
import { REQUEUE_STATES } from '../messages/requeue/filter.ts'
import { matchedOf, newRequeueJobId, type RequeueCounts, type RequeueOrder } from '../messages/requeue/jobs.ts'
import { openRequeueQueue } from '../messages/requeue/queue.ts'
import { requeueMessage } from '../messages/requeue/requeue.ts'
import { countMatching } from '../messages/requeue/search.ts'
import type { LaneQueues } from '../queue/lane/queues.ts'
import { redisNowMs } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { openRequeuesKey } from '../redis/keys.ts'
import { existingAccount } from './accounts.ts'
import { existing } from './campaigns/campaign-context.ts'
import { CliFailure, reasonOf } from './failure.ts'
import { followRequeue } from './follow-requeue.ts'
import { withQueues } from './lanes.ts'
import { ofOneAccount } from './requeue-accounts.ts'
import { accountId, instant, nameUpTo, oneOf, phoneNumber, senderName } from './values.ts'
import { type Answer, type CommandContext, verb } from './verb.ts'

const CLASSES = ['transactional', 'campaign'] as const
/** Each takes 2.5 s at most. */
const MOST_TRIES = 2

export const requeueVerb = verb({
  usage: 'requeue [id]',
  act: 'messages.requeue',
  summary:
    'send messages again that failed, expired, were cancelled or are unknown: one by id, or all that match a filter',
  example: '--state failed --code 131053 --since 2026-03-01T00:00:00Z --dry-run',
  options: {
    '--account <id>': 'only those of one account',
    '--sender <sender>': 'only those of one sender, by its number, name or id',
    '--to <number>': 'only those to one recipient',
    '--state <state>': `one of ${REQUEUE_STATES.join(', ')}; unknown messages are flagged possible duplicate`,
    '--class <class>': `one of ${CLASSES.join(', ')}`,
    '--campaign <id>': 'only those of one campaign (cmp_1_2), or with this campaign_id',
    '--code <code>': 'only those with this problem code',
    '--since <time>': 'only those that ended at or after this time',
    '--until <time>': 'only those that ended at or before this time',
    '--all': 'all of them, when no filter is given',
    '--dry-run': 'only count them',
    '--detach': 'do not wait until it is done',
    '--yes': 'do not ask before messages of several accounts are sent again',
  },
  values: z.strictObject({
    id: z.string().optional(),
    account: accountId.optional(),
    sender: senderName.optional(),
    to: phoneNumber.optional(),
    state: oneOf(REQUEUE_STATES).optional(),
    class: oneOf(CLASSES).optional(),
    campaign: nameUpTo(255).optional(),
    code: nameUpTo(100).optional(),
    since: instant.optional(),
    until: instant.optional(),
    all: z.boolean().default(false),
    dryRun: z.boolean().default(false),
    detach: z.boolean().default(false),
    yes: z.boolean().default(false),
  }),
  run({ id, account, all, dryRun, detach, yes, campaign, since, until, ...rest }, context) {
    const isOurs = campaign !== undefined && parseCampaignId(campaign) !== undefined
    const request = {
      ...rest,
      ...(isOurs ? { campaign } : { campaign_id: campaign }),
      sinceMs: since,
      untilMs: until,
    }
    const filters = hasFilter(request)
    return withQueues(context.redis, async (queues) => {
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
      await refuseUnknown(context.redis, account, campaign)
      const nowMs = await redisNowMs(context.redis, openRequeuesKey(account ?? 0))
      const order = await orderOf(context, account, request, nowMs)
      if (dryRun) return dryAnswer(await countMatching({ redis: context.redis, queues }, order))
      const agreed = account !== undefined || yes ? order : await ofOneAccount(context, queues, order)
      return start(context, { order: agreed, account, nowMs, detach })
    })
  },
})

/** A filter that names what is not there would match nothing, and look as if all were well. */
async function refuseUnknown(redis: Redis, account: number | undefined, campaign: string | undefined): Promise<void> {
  if (account !== undefined) await existingAccount(redis, account)
  const id = campaign === undefined ? undefined : parseCampaignId(campaign)
  if (id !== undefined) await existing(redis, id)
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
    case 'campaign_over':
      throw new CliFailure('Its campaign is cancelled or no longer stored, so nothing of it is sent.')
    case 'sender_removed':
      throw new CliFailure('Its sender was removed, so it cannot be sent again.')
    case 'without_content':
      throw new CliFailure('Its content is no longer stored, so it cannot be sent again.')
    case 'ignored':
      throw new CliFailure(`The message is ${state}; only one that is ${REQUEUE_STATES.join(', ')} can be requeued.`)
  }
}

async function orderOf(
  { redis }: CommandContext,
  account: number | undefined,
  request: RequeueRequest,
  nowMs: number,
): Promise<RequeueOrder> {
  try {
    return await requeueOrder(redis, account, request, nowMs)
  } catch (error) {
    if (error instanceof Refusal) throw new CliFailure(error.message)
    throw error
  }
}

/**
 * Adding a job under its id once more changes nothing, so a Redis that is slow or away for a moment is asked again. After
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
  { redis, stderr }: CommandContext,
  asked: { order: RequeueOrder; account: number | undefined; nowMs: number; detach: boolean },
): Promise<Answer> {
  const { order, nowMs, detach } = asked
  const job = newRequeueJobId(nowMs)
  const requeues = openRequeueQueue(redis)
  try {
    await insist(job, () => requeues.start(job, { account: asked.account ?? 0, order, nowMs }))
  } finally {
    await requeues.close()
  }
  const acted = { account: asked.account ?? NO_ACCOUNT, target: job }
  if (detach) return { json: { job_id: job, state: 'waiting' }, text: `A worker does it as the job ${job}.`, acted }
  const counts = await followRequeue(redis, job, stderr)
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
function left({ without_content, campaign_over, failed }: RequeueCounts): string {
  const cannot = (count: number, why: string): string =>
    count === 0 ? '' : ` ${count} of them cannot be sent again: ${why}.`
  return (
    cannot(without_content, 'the content is no longer stored') +
    cannot(campaign_over, 'the campaign is cancelled or no longer stored') +
    cannot(failed, 'the record cannot be read')
  )
}
