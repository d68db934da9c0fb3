// Builds the document of a campaign for HTTP, the command line and the client.

import { listAccounts } from '../../accounts/accounts.ts'
import { findSender } from '../../accounts/senders.ts'
import { iso, isoOrNull } from '../../kernel/instant.ts'
import { laneWaits } from '../../lanes/cooldown.ts'
import { durationOf, lateOf, type Preflight } from '../../model/campaigns/definition.ts'
import { hasEnded } from '../../model/campaigns/lifecycle.ts'
import { deliveredTotal, type Shares, secondsLeft, sharesOf, shownRate } from '../../model/campaigns/progress.ts'
import { whyCampaignsWait } from '../../portfolios/campaign-waits.ts'
import { rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { peopleAllowed } from '../../portfolios/usage.ts'
import { runningOn } from '../../recipients/active-campaigns.ts'
import { type Campaign, idOf } from '../../recipients/campaigns.ts'
import { cappedWaits } from '../../recipients/capped-waits.ts'
import { readAllCounts } from '../../recipients/recipient-states.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { laneCooldownKey } from '../../redis/keys.ts'
import { type CampaignPage, type ListedCampaign, listCampaigns } from '../store/list.ts'
import type { CampaignDescription } from './campaign-document.ts'

/** A rate that is older than this is out of date. */
const RATE_GOOD_FOR_MS = 10_000

/** Counts are read in one step, so that they add up to `total` in every description. */
export async function describeCampaign(
  redis: Redis,
  campaign: Campaign | ListedCampaign,
): Promise<CampaignDescription> {
  const { definition, state, lane } = campaign
  const nowMs = await redisNowMs(redis, laneCooldownKey(lane))
  const [{ counts, aside }, running, sender, ofLane] = await Promise.all([
    readAllCounts(redis, campaign),
    runningOn(redis, lane),
    findSender(redis, lane),
    state === 'running' ? laneWaits(redis, lane, nowMs) : undefined,
  ])
  const rules = sender && state === 'running' ? await rulesOwnerOf(redis, sender) : undefined
  const shares = sharesOf(counts, campaign.total, state)
  const ofAll = ofLane ?? (rules && (await whyCampaignsWait(redis, rules)))
  const capped = ofAll || !rules ? undefined : await cappedWaits(redis, campaign, shares, rules, nowMs)
  const waits = ofAll ?? capped?.waits
  const measured = state === 'running' && nowMs - campaign.beat < RATE_GOOD_FOR_MS ? campaign.rate : 0
  const until = capped?.lastMs ?? waits?.until ?? undefined
  const waitMs = until && until - nowMs
  // A recent measurement means nothing for a stopped lane.
  const pace = { measured: waits ? 0 : measured, laneRate: sender?.rate ?? 1, running: running.length }
  const people = rules && (await peopleAllowed(redis, rules))
  const left =
    waits && waitMs === undefined ? undefined : withLimit(secondsLeft(shares, state, pace, waitMs), shares, people)
  const { template, recipients, valid_until } = definition
  return {
    id: idOf(campaign),
    name: definition.name ?? null,
    state,
    reason: campaign.reason === '' ? null : campaign.reason,
    waits: waits ? { ...waits, until: waits.until === null ? null : iso(waits.until) } : null,
    sender: sender?.number ?? null,
    template: {
      name: template.name,
      language: template.language.code,
      ...('components' in template && { components: template.components }),
    },
    recipients,
    has_rows: campaign.rows_file !== '',
    created_at: iso(campaign.created_at),
    scheduled_at: isoOrNull(campaign.scheduled_at),
    started_at: isoOrNull(campaign.started_at),
    ended_at: isoOrNull(campaign.ended_at),
    valid_until: valid_until ?? null,
    retry_capped: definition.retry_capped ?? { times: 0 },
    marketing_route: definition.marketing_route ?? null,
    preflight: campaign.preflight && describePreflight(campaign, nowMs),
    progress: {
      total: campaign.total,
      ...shares,
      delivered_total: deliveredTotal(shares),
      ...aside,
      rate_per_second: shownRate(shares, measured),
      held_to: (state === 'running' && campaign.pace) || null,
      seconds_left: hasEnded(state) ? 0 : (left ?? null),
    },
  }
}

/** The end that the portfolio's limit allows at the earliest; undefined if it never ends. */
function withLimit(left: number | undefined, { queued }: Shares, people: Preflight['people'] | undefined) {
  if (left === undefined || !people || queued <= people.now) return left
  const { seconds, days } = durationOf({ recipients: queued, rate: Number.POSITIVE_INFINITY, people })
  return days === null ? undefined : Math.max(left, seconds)
}

/** A page of the campaigns of the account, or of all, the latest first, described a few at a time. */
export async function describeCampaigns(
  redis: Redis,
  account: number | undefined,
  page: CampaignPage,
): Promise<CampaignDescription[]> {
  const described: CampaignDescription[] = []
  for await (const campaigns of account === undefined
    ? latestOfAll(redis, page)
    : listCampaigns(redis, account, page)) {
    described.push(...(await Promise.all(campaigns.map((campaign) => describeCampaign(redis, campaign)))))
  }
  return described
}

/** Described at a time. */
const AT_ONCE = 10

/** The campaigns of all accounts, the latest first. Of each account as many are read as the page may show. */
async function* latestOfAll(redis: Redis, { offset, limit, states }: CampaignPage): AsyncGenerator<ListedCampaign[]> {
  let latest: ListedCampaign[] = []
  for (const { id } of await listAccounts(redis)) {
    for await (const some of listCampaigns(redis, id, { offset: 0, limit: offset + limit, states }))
      latest.push(...some)
    latest = latest.sort((one, other) => other.created_at - one.created_at).slice(0, offset + limit)
  }
  const page = latest.slice(offset)
  for (let from = 0; from < page.length; from += AT_ONCE) yield page.slice(from, from + AT_ONCE)
}

function describePreflight({ definition, preflight, scheduled_at, started_at }: ListedCampaign, nowMs: number) {
  if (preflight === undefined) return undefined
  const { checked_at, seconds, ...found } = preflight
  const begins = started_at ?? Math.max(scheduled_at ?? 0, nowMs)
  // With a fixed end, fewer messages leave the later it starts.
  const validMs = definition.valid_until === undefined ? undefined : Date.parse(definition.valid_until) - begins
  const would_expire = validMs === undefined ? found.would_expire : lateOf(found, validMs)
  return { checked_at: iso(checked_at), ...found, would_expire, seconds, estimated_end: iso(begins + seconds * 1_000) }
}
