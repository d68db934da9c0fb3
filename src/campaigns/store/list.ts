// The list of an account's campaigns, a page at a time. Before the page only states are read, and of the campaigns on it
// neither components nor template: a page has up to 1,000 of them.
import { z } from 'zod'
import { type CampaignId, parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import { listedDefinitionSchema } from '../../model/campaigns/definition.ts'
import { CAMPAIGN_STATES, type CampaignState } from '../../model/campaigns/lifecycle.ts'
import { campaignSchema, idOf, isKept } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignKey, campaignsOfAccountKey } from '../../redis/keys.ts'
import { isThere, jsonText, readRecord, UNLISTED_FIELD } from '../../redis/records.ts'

/** Which of an account's campaigns to list: the states, and the page. */
export interface CampaignPage {
  offset: number
  limit: number
  /** Undefined: in whatever state. */
  states?: readonly CampaignState[] | undefined
}

/** The fields that a list reads: without content and template. */
const listedSchema = campaignSchema.extend({ definition: jsonText.pipe(listedDefinitionSchema) }).omit({
  template: true,
})
export type ListedCampaign = z.infer<typeof listedSchema>
const LISTED_FIELDS = [...Object.keys(listedSchema.shape), UNLISTED_FIELD]

/** Names checked at a time, and campaigns read at a time. */
const NAMES_AT_ONCE = 200
const READ_AT_ONCE = 10

/**
 * The account's campaigns, the latest first. Expired ones are taken off the list. Up to the page only states are read, in slices: an
 * account has hundreds of campaigns, not millions, and an index by state would be one more thing that can go wrong. The page is read a
 * few at a time.
 */
export async function* listCampaigns(
  redis: Redis,
  account: number,
  { offset, limit, states }: CampaignPage,
): AsyncGenerator<ListedCampaign[]> {
  const key = campaignsOfAccountKey(account)
  let passed = 0
  for (let at = 0; passed < offset + limit; ) {
    // Without a condition, what comes before the page need not be read.
    const skips = states === undefined ? offset - passed : 0
    if (skips > 0) {
      at += skips
      passed += skips
    }
    const most = states === undefined ? Math.min(NAMES_AT_ONCE, offset + limit - passed) : NAMES_AT_ONCE
    const names = await redis.zrevrange(key, at, at + most - 1)
    if (names.length === 0) return
    const found = await statesOf(redis, names)
    const gone = names.filter((_name, i) => found[i] === undefined)
    if (gone.length > 0) await redis.zrem(key, ...gone)
    at += names.length - gone.length
    const wanted = found.flatMap((each) =>
      each && (states === undefined || states.includes(each.state)) ? [each.id] : [],
    )
    const shown = wanted.slice(Math.max(0, offset - passed), offset + limit - passed)
    passed += wanted.length
    for (let from = 0; from < shown.length; from += READ_AT_ONCE) {
      const read = await Promise.all(shown.slice(from, from + READ_AT_ONCE).map((id) => findListed(redis, id)))
      yield read.flatMap((campaign) => campaign ?? [])
    }
  }
}

/** Takes expired campaigns off the account's list, as listing does. */
export async function trimCampaigns(redis: Redis, account: number): Promise<void> {
  const key = campaignsOfAccountKey(account)
  const gone = await goneAmong(redis, await redis.zrange(key, '0', '-1'))
  if (gone.length > 0) await redis.zrem(key, ...gone)
}

/** The expired ones among these campaigns, by name. */
export async function goneAmong(redis: Redis, names: readonly string[]): Promise<string[]> {
  const gone: string[] = []
  for (let at = 0; at < names.length; at += NAMES_AT_ONCE) {
    const some = names.slice(at, at + NAMES_AT_ONCE)
    const kept = await Promise.all(
      some.map((name) => {
        const id = parseCampaignId(name)
        return id !== undefined && isKept(redis, id)
      }),
    )
    gone.push(...some.filter((_name, i) => !kept[i]))
  }
  return gone
}

/** The states of campaigns by name, in one round trip; undefined for an expired one. */
export async function statesOf(redis: Redis, names: readonly string[]) {
  return Promise.all(
    names.map(async (name) => {
      const id = parseCampaignId(name)
      const state = id && (await redis.hget(campaignKey(id.lane, id.number), 'state'))
      return id && state ? { id, state: readRecord(z.enum(CAMPAIGN_STATES), `campaign ${name}`, state) } : undefined
    }),
  )
}

async function findListed(redis: Redis, { lane, number }: CampaignId): Promise<ListedCampaign | undefined> {
  const values = await redis.hmget(campaignKey(lane, number), ...LISTED_FIELDS)
  const raw = Object.fromEntries(LISTED_FIELDS.flatMap((field, i) => (values[i] === null ? [] : [[field, values[i]]])))
  return isThere(raw) ? readRecord(listedSchema, `campaign ${idOf({ lane, number })}`, raw) : undefined
}
