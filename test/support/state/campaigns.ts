// What is kept of campaigns, and of those that a worker looks after.
import type { CampaignId } from '../../../src/campaigns/campaign-id.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import {
  activeCampaignsKey,
  campaignCountsKey,
  campaignKey,
  campaignMarksKey,
  campaignsOfAccountKey,
  parkedCampaignsKey,
  rootKeys,
} from '../../../src/redis/keys.ts'
import { namesAt, recordAt, timesAt, valueAt } from './handles.ts'

/** The record of a campaign. */
export const campaignRecord = (redis: Redis, { lane, number }: CampaignId) => recordAt(redis, campaignKey(lane, number))

/** How many of a campaign's messages are in which state, by the letter of the state. */
export const countsOf = (redis: Redis, { lane, number }: CampaignId) => recordAt(redis, campaignCountsKey(lane, number))

/** The states of a campaign's recipients, packed. */
export const marksOf = (redis: Redis, { lane, number }: CampaignId) => valueAt(redis, campaignMarksKey(lane, number))

/** Writes down the state, as a number, of the recipient at this place. */
export const markPlace = (redis: Redis, { lane, number }: CampaignId, place: number, state: number) =>
  redis.call('BITFIELD', campaignMarksKey(lane, number), 'SET', 'u4', `#${place}`, state)

/** Campaigns of an account, by when they were made. */
export const campaignsOf = (redis: Redis, account: number) => timesAt(redis, campaignsOfAccountKey(account))

/** Campaigns of the lane that a worker looks after: number and state. */
export const activeCampaignsOn = (redis: Redis, lane: number) => recordAt(redis, activeCampaignsKey(lane))

/** Campaigns of the lane that run and that nobody works on for now: number and why. */
export const parkedCampaignsOn = (redis: Redis, lane: number) => recordAt(redis, parkedCampaignsKey(lane))

/** Lanes that have campaigns that a worker looks after. */
export const campaignLanes = (redis: Redis) => namesAt(redis, rootKeys.campaignLanes)
