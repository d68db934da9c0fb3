// What is to leave later: messages with a time of their own and campaigns that are scheduled, in one list, the next first.
import { listAccounts } from '../accounts/accounts.ts'
import type { Sender } from '../accounts/senders.ts'
import type { CampaignDescription } from '../campaigns/commands/campaign-document.ts'
import { describeCampaign } from '../campaigns/commands/describe.ts'
import { type ListedCampaign, listCampaigns } from '../campaigns/store/list.ts'
import { iso } from '../kernel/instant.ts'
import { type DelayedJob, type DelayedPosition, positionAt } from '../lanes/delayed-jobs.ts'
import type { ListedMessage } from '../messages/lookup/message-schema.ts'
import { nextDelayed, scheduledMessage } from '../messages/lookup/scheduled.ts'
import { idOf } from '../recipients/campaigns.ts'
import type { ListSettings } from '../recipients/unclaimed-message.ts'
import type { Redis } from '../redis/connect.ts'

/** Scheduled campaigns of an account that are read, the latest made first. */
const CAMPAIGNS_MOST = 1_000

/** Of whom, and from when until when (epoch ms). */
export interface ScheduledSpan {
  /** Of all accounts, where it is not given. */
  account: number | undefined
  /** Some or all of the account. */
  senders: readonly Sender[]
  sinceMs: number
  untilMs: number
}

/** What may be to leave later, and where it is in the list. */
export type ScheduledEntry = { position: DelayedPosition } & (
  | { job: DelayedJob }
  | { campaign: ListedCampaign; atMs: number }
)

/** An entry as lists show it. */
export type Scheduled =
  | { kind: 'message'; at: string; message: Extract<ListedMessage, { to: string }> }
  | { kind: 'campaign'; at: string; campaign: CampaignDescription }

/**
 * All campaigns of the span, and the next `most` jobs that follow `after`, each in their order. Jobs of messages that are tried again
 * are among them.
 */
export async function findScheduled(
  redis: Redis,
  { account, senders, sinceMs, untilMs }: ScheduledSpan,
  { after = positionAt(sinceMs), most }: { after?: DelayedPosition | undefined; most: number },
): Promise<ScheduledEntry[]> {
  const [jobs, campaigns] = await Promise.all([
    nextDelayed(redis, senders, { after, untilMs, most }),
    scheduledCampaigns(redis, account),
  ])
  const lanes = new Set(senders.map(({ id }) => id))
  return [
    ...jobs.map((job) => ({ position: { score: job.score, id: job.id }, job })),
    ...campaigns
      .filter(({ campaign: { lane }, atMs }) => lanes.has(lane) && atMs >= sinceMs && atMs < untilMs)
      .map((each) => ({ position: { ...positionAt(each.atMs), id: idOf(each.campaign) }, ...each })),
  ]
}

/** Undefined for a job whose message is tried again, or gone by now. */
export async function showScheduled(
  redis: Redis,
  entry: ScheduledEntry,
  of: { senders: readonly Sender[]; lists: ListSettings },
): Promise<Scheduled | undefined> {
  if ('campaign' in entry) {
    return { kind: 'campaign', at: iso(entry.atMs), campaign: await describeCampaign(redis, entry.campaign) }
  }
  const message = await scheduledMessage(redis, entry.job, { ...of, nowMs: Date.now() })
  return message && { kind: 'message', at: iso(entry.job.dueMs), message }
}

/** With when each is to start (epoch ms). */
async function scheduledCampaigns(
  redis: Redis,
  account: number | undefined,
): Promise<{ campaign: ListedCampaign; atMs: number }[]> {
  const found: { campaign: ListedCampaign; atMs: number }[] = []
  const page = { offset: 0, limit: CAMPAIGNS_MOST, states: ['scheduled'] } as const
  const accounts = account === undefined ? (await listAccounts(redis)).map(({ id }) => id) : [account]
  for (const each of accounts) {
    for await (const some of listCampaigns(redis, each, page)) {
      for (const campaign of some) found.push({ campaign, atMs: campaign.scheduled_at ?? 0 })
    }
  }
  return found
}
