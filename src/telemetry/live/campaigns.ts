// What a snapshot shows of campaigns: those that are not over, and the last few that are.
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { mostEntries } from '../../kernel/most-entries.ts'
import type { LaneStats } from '../../lanes/stats.ts'
import { parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import { CAMPAIGN_STATES, hasEnded } from '../../model/campaigns/lifecycle.ts'
import { deliveredTotal, secondsLeft, sharesOf, shownRate } from '../../model/campaigns/progress.ts'
import type { RuleWaits } from '../../portfolios/campaign-waits.ts'
import type { RulesOwnerId } from '../../portfolios/rules-owner.ts'
import type { Campaign } from '../../recipients/campaigns.ts'
import { type CappedWaits, cappedWaits } from '../../recipients/capped-waits.ts'
import { countsAsideOf, countsOf } from '../../recipients/recipient-states.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignCountsKey, campaignKey, campaignsOfAccountKey } from '../../redis/keys.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { isInScope, type Scope, type SnapshotCampaign } from '../snapshot.ts'

/** How many of an account's newest campaigns are read, besides the active ones. */
const NEWEST = 20
const ACCOUNTS_MAX = 100
/** Shown at most, and of those that are over. */
const MOST = 50
const MOST_OVER = 5
/** Which are the newest is looked up so often. */
const NEWEST_EVERY_MS = 2_000
/** Whether a campaign waits for capped people is looked up so often. */
const CAPPED_EVERY_MS = 5_000
/** A rate that is older than this does not describe the present. */
const RATE_GOOD_FOR_MS = 10_000

const FIELDS = [
  ...(['account', 'state', 'reason', 'total', 'rate', 'beat', 'pace', 'preflight_starts'] as const),
  ...(['started_at', 'next'] as const),
]
const text = z.string().nullable()
const fields = z.tuple([text, z.enum(CAMPAIGN_STATES), text, text, text, text, text, text, text, text])
/** Of the rest only this is shown, and it does not change but with a preflight. */
const named = z.object({ name: z.string().optional() })
const preflight = z.object({ refused: z.record(z.string(), z.number()) })
type Fixed = { name: string | null; refused: number }

/** Reads campaigns for snapshots of this process. */
export function createCampaignReader(redis: Redis) {
  const fixed = new LRUCache<string, Fixed>({ ...mostEntries(1_000) })
  const capped = new LRUCache<string, { found: CappedWaits | undefined }>({
    ...{ max: 200, ttl: CAPPED_EVERY_MS, perf: performance },
  })
  const newest = new LRUCache<string, string[]>({ max: 200, ttl: NEWEST_EVERY_MS, perf: performance })

  async function newestOf(account: number): Promise<string[]> {
    const known = newest.get(String(account))
    if (known) return known
    const ids = await redis.zrevrange(campaignsOfAccountKey(account), 0, NEWEST - 1)
    newest.set(String(account), ids)
    return ids
  }

  async function readOne(id: string): Promise<ReadCampaign | undefined> {
    const parsed = parseCampaignId(id)
    if (parsed === undefined) return undefined
    const { lane, number } = parsed
    const [values, counts] = await Promise.all([
      redis.hmget(campaignKey(lane, number), ...FIELDS),
      redis.hgetall(campaignCountsKey(lane, number)),
    ])
    // One that is not kept any more, or that cannot be read: its own address shows which.
    const read = fields.safeParse(values)
    if (!read.success) return undefined
    const [account, state, reason, total, rate, beat, pace, preflights, startedAt, next] = read.data
    const { name, refused } = await fixedOf(id, `${state === 'checking'} ${preflights}`)
    const isFresh = state === 'running' && Date.now() - Number(beat ?? 0) < RATE_GOOD_FOR_MS
    const recipients = Number(total ?? 0)
    const shares = sharesOf(countsOf(counts), recipients, state)
    return {
      list: { lane, number, started_at: Number(startedAt ?? 0), next: Number(next ?? 0) },
      ...{ id, name, account: Number(account), state, total: recipients, refused },
      ...shares,
      delivered_total: deliveredTotal(shares),
      ...countsAsideOf(counts),
      rate_per_s: isFresh ? shownRate(shares, Number(rate ?? 0)) : 0,
      paused_for: state === 'paused' ? reason || null : null,
      throttle: state === 'running' && pace ? `held to ${pace} messages a second` : null,
    }
  }

  async function fixedOf(id: string, version: string): Promise<Fixed> {
    const key = `${id} ${version}`
    const known = fixed.get(key)
    if (known) return known
    const { lane = 0, number = 0 } = parseCampaignId(id) ?? {}
    const [definition, found] = await redis.hmget(campaignKey(lane, number), 'definition', 'preflight')
    const checked = preflight.safeParse(jsonOf(found))
    const read: Fixed = {
      name: named.safeParse(jsonOf(definition)).data?.name ?? null,
      refused: checked.success ? Object.values(checked.data.refused).reduce((sum, each) => sum + each, 0) : 0,
    }
    // What a preflight that is under way will find is not there yet.
    if (checked.success || !version.startsWith('true')) fixed.set(key, read)
    return read
  }

  async function cappedOf(campaign: ReadCampaign, { owner, nowMs }: LaneNow): Promise<CappedWaits | undefined> {
    if (campaign.state !== 'running' || owner === undefined) return undefined
    const known = capped.get(campaign.id)
    if (known) return known.found
    const { account, total, list } = campaign
    const found = await cappedWaits(redis, { account, total, ...list }, campaign, owner, nowMs).catch(noneOfCorrupt)
    capped.set(campaign.id, { found })
    return found
  }

  return {
    /** `active`: ids of active campaigns; `lanes`: the state of their lanes. */
    async read(
      accounts: readonly number[],
      active: readonly string[],
      lanes: ReadonlyMap<number, LaneNow>,
      scope: Scope,
    ): Promise<SnapshotCampaign[]> {
      const recent = await Promise.all(accounts.slice(0, ACCOUNTS_MAX).map(newestOf))
      const ids = [...new Set([...active.slice(0, MOST), ...recent.flat()])].filter((id) =>
        isInScope(scope, parseCampaignId(id)?.lane ?? 0),
      )
      const found = (await Promise.all(ids.map(readOne))).filter((campaign) => campaign !== undefined)
      const running = new Map<number, number>()
      for (const { list, state } of found) {
        const { lane } = list
        if (state === 'running') running.set(lane, (running.get(lane) ?? 0) + 1)
      }
      const on = found.filter(({ state }) => !hasEnded(state))
      const over = found.filter(({ state }) => hasEnded(state)).sort(newestFirst)
      const shown = [...on.sort(liveliestFirst), ...over.slice(0, MOST_OVER)].slice(0, MOST)
      return Promise.all(
        shown.map(async (each) => {
          const { list, ...campaign } = each
          const now = lanes.get(list.lane) ?? NO_LANE
          const { rate, isPaused, cooldown, nowMs, resting } = now
          const { state } = campaign
          // A recent measurement means nothing for a stopped lane.
          const rests = state === 'running' ? resting : undefined
          const isLaneStopped = isPaused || cooldown !== undefined || rests !== undefined
          const ofCapped = isLaneStopped ? undefined : await cappedOf(each, now)
          const rule = rests ?? ofCapped?.waits
          const measured = cooldown || rule ? 0 : campaign.rate_per_s
          const until = cooldown?.until ?? ofCapped?.lastMs ?? rule?.until
          const pace = { laneRate: rate || 1, running: running.get(list.lane) ?? 1, measured }
          const left = isPaused ? undefined : secondsLeft(campaign, state, pace, until && until - nowMs)
          const waits = rule === undefined ? null : { ...rule, until: new Date(rule.until).toISOString() }
          return { ...campaign, eta_s: hasEnded(state) ? 0 : (left ?? null), waits }
        }),
      )
    },
  }
}

/** What is read of it. `list`: where its messages are, and how far it has come. */
type ReadCampaign = Omit<SnapshotCampaign, 'eta_s' | 'waits'> & {
  list: Pick<Campaign, 'lane' | 'number' | 'next'> & { started_at: number }
}

/** Its own address shows that it cannot be read. */
function noneOfCorrupt(error: unknown): undefined {
  if (!(error instanceof CorruptRecordError)) throw error
}

interface LaneNow extends Pick<LaneStats, 'isPaused' | 'cooldown' | 'nowMs'> {
  rate: number
  resting: RuleWaits | undefined
  /** Of the rules of its sender; undefined while nothing runs on it. */
  owner: RulesOwnerId | undefined
}
const NO_LANE: LaneNow = {
  ...{ rate: 1, isPaused: false, nowMs: 0 },
  cooldown: undefined,
  resting: undefined,
  owner: undefined,
}

const numberOf = (id: string): number => parseCampaignId(id)?.number ?? 0
const newestFirst = (one: { id: string }, other: { id: string }): number => numberOf(other.id) - numberOf(one.id)

/** In the order in which a person wants to see them. */
const LIVELIEST = ['running', 'paused', 'blocked', 'scheduled', 'checking', 'ready', 'draft'] as const
const liveliness = (state: string): number => (LIVELIEST as readonly string[]).indexOf(state)
const liveliestFirst = (one: SnapshotCampaign | Live, other: Live): number =>
  liveliness(one.state) - liveliness(other.state) || newestFirst(one, other)
type Live = Pick<SnapshotCampaign, 'id' | 'state'>

function jsonOf(stored: string | null | undefined): unknown {
  try {
    return JSON.parse(stored ?? 'null')
  } catch {
    return undefined
  }
}
