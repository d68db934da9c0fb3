// Per-recipient state of a campaign, four bits each in the order of its list, and how many are in each state. The Lua step
// that changes a message writes both (lanes/messages/scripts/message-lifecycle.lua), so they always agree with the record, and outlive
// it: a recipient with a state was claimed once and is never fed again.

import { readProgress } from '../lanes/messages/records.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { ASIDE } from '../model/campaigns/counts.ts'
import { LETTERS, STATES, type State } from '../model/messages/lifecycle.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignCountsKey, queuedAgainKey, recipientStatesKey } from '../redis/keys.ts'

/** Recipients whose states are read at a time: 16 KB. */
const STATES_AT_ONCE = 32_768
/** Records read at a time: after a large requeue 100,000 messages may be queued again. */
const RECORDS_AT_ONCE = 1_000

/** The states of `count` recipients from place `from` on; undefined for a message that was never claimed. */
export async function readRecipientStates(
  redis: Redis,
  { lane, number }: CampaignId,
  from: number,
  count: number,
): Promise<(State | undefined)[]> {
  if (count <= 0) return []
  const first = from >> 1
  const bytes = await redis.getrangeBuffer(recipientStatesKey(lane, number), first, (from + count - 1) >> 1)
  return Array.from({ length: count }, (_, i) => {
    const place = from + i - 2 * first
    const byte = bytes[place >> 1] ?? 0
    return STATES[(place % 2 === 0 ? byte >> 4 : byte & 15) - 1]
  })
}

/** The place of the first recipient from `from` on whose message was never claimed; `total` when there is none. */
export async function firstUnclaimed(redis: Redis, id: CampaignId, from: number, total: number): Promise<number> {
  for await (const [first] of placesWhere(redis, id, { from, total }, (state) => state === undefined)) {
    if (first !== undefined) return first
  }
  return total
}

/** Places of the recipients whose message was never claimed, a piece of the list at a time. */
export const unclaimedPlaces = (redis: Redis, id: CampaignId, total: number): AsyncGenerator<number[]> =>
  placesWhere(redis, id, { from: 0, total }, (state) => state === undefined)

/** Places of the recipients whose message was claimed and is not settled, a piece of the list at a time. */
export const unsettledPlaces = (redis: Redis, id: CampaignId, total: number): AsyncGenerator<number[]> =>
  placesWhere(redis, id, { from: 0, total }, isUnsettled)

/** Whether a message in this state was claimed and is not settled. */
export const isUnsettled = (state: State | undefined): boolean =>
  state === 'queued' || state === 'sending' || state === 'unconfirmed'

async function* placesWhere(
  redis: Redis,
  id: CampaignId,
  { from, total }: { from: number; total: number },
  isWanted: (state: State | undefined) => boolean,
): AsyncGenerator<number[]> {
  for (let at = from; at < total; at += STATES_AT_ONCE) {
    const states = await readRecipientStates(redis, id, at, Math.min(STATES_AT_ONCE, total - at))
    const places = states.flatMap((state, i) => (isWanted(state) ? [at + i] : []))
    if (places.length > 0) yield places
  }
}

export type Counts = Partial<Record<State, number>>

/** How many of a campaign's messages have a record in each state. */
export async function readCounts(redis: Redis, { lane, number }: CampaignId): Promise<Counts> {
  return countsOf(await redis.hgetall(campaignCountsKey(lane, number)))
}

/** Parts of what was sent, of what failed and of all: held by WhatsApp, to people who have had enough, and answered. */
export interface CountsAside {
  held: number
  capped: number
  replied: number
}

/** The same with how many of them are held or capped, and how many people have answered. */
export async function readAllCounts(
  redis: Redis,
  { lane, number }: CampaignId,
): Promise<{ counts: Counts; aside: CountsAside }> {
  const hash = await redis.hgetall(campaignCountsKey(lane, number))
  return { counts: countsOf(hash), aside: countsAsideOf(hash) }
}

/** How many are held and capped and have answered, from the fields of that hash. */
export const countsAsideOf = (hash: Readonly<Record<string, string>>): CountsAside => ({
  held: Number(hash[ASIDE.held] ?? 0),
  capped: Number(hash[ASIDE.capped] ?? 0),
  replied: Number(hash[ASIDE.replied] ?? 0),
})

/** The same from the fields of that hash. */
export function countsOf(hash: Readonly<Record<string, string>>): Counts {
  return Object.fromEntries(
    STATES.flatMap((state) => {
      const count = Number(hash[LETTERS[state]] ?? 0)
      return count === 0 ? [] : [[state, count]]
    }),
  )
}

/** ULIDs of the campaign's messages that have a record and wait for another try, a page at a time. */
export async function* queuedMessagesOf(redis: Redis, { lane, number }: CampaignId): AsyncGenerator<string[]> {
  const again = await redis.zrange(queuedAgainKey(lane), '0', '-1')
  for (let from = 0; from < again.length; from += RECORDS_AT_ONCE) {
    const some = again.slice(from, from + RECORDS_AT_ONCE)
    const records = await readProgress(redis, lane, some)
    yield some.filter((_ulid, i) => {
      const record = records[i]
      return record !== undefined && !(record instanceof Error) && record.state === 'queued' && record.run === number
    })
  }
}
