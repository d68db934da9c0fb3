// messages requeue: send again what ended badly, by a filter, counting first.
import { z } from 'zod'
import { REQUEUE_STATES, type RequeueReport, requeueMessages } from '../store/requeue.ts'
import { withQueues } from './lanes.ts'
import { accountId, instant, nameUpTo, oneOf } from './typed.ts'
import { verb } from './verb.ts'

export const requeueVerb = verb({
  usage: 'requeue',
  summary: 'send again what ended failed, unknown, expired or cancelled; without a filter, all of it',
  example: '--state failed --code 131053 --since 2026-03-01T00:00:00Z --dry-run',
  options: {
    '--account <id>': 'only those of one account',
    '--state <state>': `one of ${REQUEUE_STATES.join(', ')}; an unknown one sent again is flagged possible duplicate`,
    '--campaign <text>': 'only those with this campaign_id',
    '--since <time>': 'only those that ended at or after this time',
    '--code <code>': 'only those with this code of the problem',
    '--dry-run': 'only count them',
  },
  values: z.strictObject({
    account: accountId.optional(),
    state: oneOf(REQUEUE_STATES).optional(),
    campaign: nameUpTo(255).optional(),
    since: instant.optional(),
    code: nameUpTo(100).optional(),
    dryRun: z.boolean().default(false),
  }),
  run: ({ account, state, campaign, since, code, dryRun }, { redis, config }) =>
    withQueues(redis, async (queues) => {
      const filter = { account, state, campaign, sinceMs: since, code }
      const how = { dryRun, nowMs: Date.now(), validityMs: config.validityMs }
      const report = await requeueMessages(redis, queues, filter, how)
      return { json: { ...report, dry_run: dryRun }, text: textOf(report, dryRun) }
    }),
})

function textOf(report: RequeueReport, dryRun: boolean): string {
  const lost =
    report.without_content === 0 ? '' : ` ${report.without_content} of them cannot be: their content is not kept.`
  if (dryRun) return `${report.matched} messages match; nothing was changed.${lost}`
  return `${report.queued} of ${report.matched} matching messages are queued again.${lost}`
}
