// Messages of campaigns wait on their lane as places of the campaign's list, without a job: a place names the recipient, and the worker
// that reads it makes the message (worker/sending/read-places.ts). The fan-out puts them there a few seconds ahead; only places of running
// campaigns are on a lane. Each has its turn, so that campaigns share a lane evenly (scripts/lane-feed.lua).
//
// A place leaves its lane in the step that claims or ends its message, gives it a job of its own, or stops its campaign. So dying at any
// line leaves a message that waits, or one that has a record or a job.
import { z } from 'zod'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { placeInId } from '../model/campaigns/message-ids.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey, laneReadersKey, placesKey, turnsKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { wakeLane } from './wake.ts'

const feedScript = defineScript(import.meta.url, 'lane-feed')
const dropScript = defineScript(import.meta.url, 'lane-drop')

/** A place that waits. */
export interface WaitingPlace {
  /** Number of the campaign on its lane. */
  run: number
  /** Of the recipient in the campaign's list, from 0. */
  place: number
}

/** Places that follow each other. */
export interface Span {
  from: number
  count: number
}

const NAME = /^(\d+)\/(\d+)$/

/** The name under which a place waits on its lane, as the scripts make it. */
export const placeName = (run: number, place: number): string => `${run}/${place}`

/** The name of the place of a campaign's message. */
export const placeNameOf = (run: number, ulid: string): string => placeName(run, placeInId(ulid))

/** The place of this name; undefined for any other text. */
export function parsePlace(name: string): WaitingPlace | undefined {
  const [, run, place] = NAME.exec(name) ?? []
  return run === undefined ? undefined : { run: Number(run), place: Number(place) }
}

/**
 * Puts places of a campaign on its lane, some thousand at most, in their order, and wakes the workers. Those that wait already stay where
 * they are; of a campaign that does not run none is added. Resolves once they are in Redis. Rejects when Redis is away or full.
 */
export async function addPlaces(redis: Redis, { lane, number }: CampaignId, spans: readonly Span[]): Promise<void> {
  if (spans.length === 0) return
  const campaign = campaignKey(lane, number)
  const keys = { places: placesKey(lane), turns: turnsKey(lane), campaign, readers: laneReadersKey(lane) }
  const args = { run: number, spans: spans.flatMap(({ from, count }) => [from, count]) }
  const added = z.number().parse(await feedScript(redis, keys, args))
  // Dying before it delays them: the sweep finds the lane.
  if (added > 0) wakeLane(redis, lane, 'campaigns')
}

/** Takes all places of a campaign off its lane that cannot be read. Doing it again changes nothing. */
export async function dropPlaces(redis: Redis, { lane, number }: CampaignId): Promise<void> {
  await dropScript(redis, { places: placesKey(lane), turns: turnsKey(lane) }, { run: number })
}

/** How many places wait on the lane. */
export const countPlaces = (redis: Redis, lane: number): Promise<number> => redis.zcard(placesKey(lane))

/** Which of these places of a campaign wait on its lane, in their order. */
export async function arePlacesWaiting(
  redis: Redis,
  { lane, number }: CampaignId,
  places: readonly number[],
): Promise<boolean[]> {
  if (places.length === 0) return []
  const turns = await redis.zmscore(placesKey(lane), ...places.map((place) => placeName(number, place)))
  return turns.map((turn) => turn !== null)
}
