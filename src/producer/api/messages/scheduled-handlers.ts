// What is to leave later: messages with a time of their own and campaigns that are scheduled, in one list.
import { existingSenders } from '../../../accounts/named-senders.ts'
import { listSenders } from '../../../accounts/senders.ts'
import { describeCampaign } from '../../../campaigns/commands/describe.ts'
import { type ListedCampaign, listCampaigns } from '../../../campaigns/store/list.ts'
import { iso } from '../../../kernel/instant.ts'
import { positionAt } from '../../../lanes/delayed-jobs.ts'
import { nextDelayed, scheduledMessage } from '../../../messages/lookup/scheduled.ts'
import { idOf } from '../../../recipients/campaigns.ts'
import type { ListSettings } from '../../../recipients/unclaimed-message.ts'
import type { Redis } from '../../../redis/connect.ts'
import type { Handlers } from '../../route.ts'
import { lists } from '../answers.ts'
import { pageOfAll, readPosition } from '../requests.ts'
import type { messages } from './routes.ts'

/** Scheduled campaigns of an account that are read, the latest made first. */
const CAMPAIGNS_MOST = 1_000

export const scheduledHandlers = ({
  redis,
  config,
}: {
  redis: Redis
  config: ListSettings
}): Pick<Handlers<typeof messages>, 'scheduled'> => ({
  async scheduled({ caller: { account }, query }) {
    const { sender, since = 0, until = Number.POSITIVE_INFINITY, limit, cursor } = query
    const all = await listSenders(redis, account)
    const senders = sender === undefined ? all : existingSenders(all, sender, account)
    const from = cursor === undefined ? { at: positionAt(since).score, id: '' } : readPosition(cursor)
    const [jobs, campaigns] = await Promise.all([
      nextDelayed(redis, senders, { after: { score: from.at, id: from.id }, untilMs: until, most: limit + 1 }),
      scheduledCampaigns(redis, account),
    ])
    const lanes = new Set(senders.map(({ id }) => id))
    const entries = [
      ...jobs.map((job) => ({ position: { at: job.score, id: job.id }, job })),
      ...campaigns
        .filter(({ campaign: { lane }, atMs }) => lanes.has(lane) && atMs >= since && atMs < until)
        .map((each) => ({ position: { at: positionAt(each.atMs).score, id: idOf(each.campaign) }, ...each })),
    ]
    const { data, next } = pageOfAll(entries, ({ position }) => position, { limit, cursor })
    const nowMs = Date.now()
    const shown = await Promise.all(
      data.map(async (entry) => {
        if ('campaign' in entry) {
          const campaign = await describeCampaign(redis, entry.campaign)
          return { kind: 'campaign' as const, at: iso(entry.atMs), campaign }
        }
        const message = await scheduledMessage(redis, entry.job, { senders, nowMs, lists: config })
        return message && { kind: 'message' as const, at: iso(entry.job.dueMs), message }
      }),
    )
    return lists({ data: shown.flatMap((entry) => entry ?? []), next })
  },
})

/** With when each is to start (epoch ms). */
async function scheduledCampaigns(
  redis: Redis,
  account: number,
): Promise<{ campaign: ListedCampaign; atMs: number }[]> {
  const found: { campaign: ListedCampaign; atMs: number }[] = []
  const page = { offset: 0, limit: CAMPAIGNS_MOST, states: ['scheduled'] } as const
  for await (const some of listCampaigns(redis, account, page)) {
    for (const campaign of some) found.push({ campaign, atMs: campaign.scheduled_at ?? 0 })
  }
  return found
}
