// What a campaign knows of each of its recipients beyond the records of their messages: the state, half a byte each, in
// the order of its list. The Lua step that changes a message writes it (messages/store/scripts/message-lifecycle.lua), so it is as true as
// the record and outlives it: whoever has a mark was claimed once and is never fed again, however old the record.
import { z } from 'zod'
import { LETTERS, STATES, type State } from '../../messages/lifecycle.ts'
import { defineMessageScript } from '../../messages/store/message-script.ts'
import { FIELDS } from '../../messages/store/record-format.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignCountsKey, campaignKey, campaignMarksKey, messageKey, queuedAgainKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { CampaignId } from '../campaign.ts'

/** `not_kept`: of a campaign that began before campaigns kept this; what became of the message cannot be known any more. */
export type Mark = State | 'not_kept'

const NOT_KEPT = 15
/** Recipients whose marks are read at a time: 16 KB. */
const AT_ONCE = 32_768

/** The mark at a place of the piece that begins with an even place; undefined for a message that was never claimed. */
function markAt(bytes: Uint8Array, place: number): Mark | undefined {
  const byte = bytes[place >> 1] ?? 0
  const mark = place % 2 === 0 ? byte >> 4 : byte & 15
  return mark === NOT_KEPT ? 'not_kept' : STATES[mark - 1]
}

/** The marks of `count` recipients from the one at place `from`, in their order. */
export async function readMarks(
  redis: Redis,
  { lane, number }: CampaignId,
  from: number,
  count: number,
): Promise<(Mark | undefined)[]> {
  if (count <= 0) return []
  const first = from >> 1
  const bytes = await redis.getrangeBuffer(campaignMarksKey(lane, number), first, (from + count - 1) >> 1)
  return Array.from({ length: count }, (_, i) => markAt(bytes, from + i - 2 * first))
}

/** All recipients with their marks, from the one at place `from` to the end of the list, a piece at a time. */
async function* pieces(redis: Redis, id: CampaignId, from: number, total: number) {
  for (let at = from; at < total; at += AT_ONCE) {
    yield { at, marks: await readMarks(redis, id, at, Math.min(AT_ONCE, total - at)) }
  }
}

/** Place of the first recipient from `from` on whose message was never claimed; `total` when there is none. */
export async function firstUnclaimed(redis: Redis, id: CampaignId, from: number, total: number): Promise<number> {
  for await (const { at, marks } of pieces(redis, id, from, total)) {
    const found = marks.indexOf(undefined)
    if (found !== -1) return at + found
  }
  return total
}

/** Places of the recipients whose message was never claimed, a piece of the list at a time. */
export async function* unclaimedPlaces(redis: Redis, id: CampaignId, total: number): AsyncGenerator<number[]> {
  for await (const { at, marks } of pieces(redis, id, 0, total)) {
    const places = marks.flatMap((mark, i) => (mark === undefined ? [at + i] : []))
    if (places.length > 0) yield places
  }
}

/** Places of the recipients whose message was claimed and is not settled, a piece of the list at a time. */
export async function* unsettledPlaces(redis: Redis, id: CampaignId, total: number): AsyncGenerator<number[]> {
  for await (const { at, marks } of pieces(redis, id, 0, total)) {
    const places = marks.flatMap((mark, i) =>
      mark === 'queued' || mark === 'sending' || mark === 'unconfirmed' ? [at + i] : [],
    )
    if (places.length > 0) yield places
  }
}

const adoptScript = defineMessageScript(import.meta.url, 'campaign-adopt')
const adoptedScript = defineScript(import.meta.url, 'campaign-adopted')

/**
 * Marks recipients of a campaign that began before campaigns kept marks, from their records. `isOld`: the records of
 * those that were fed may have expired, so whoever has none is marked `not_kept` and gets nothing more. Does nothing in
 * another epoch than the campaign's.
 */
export async function adoptMarks(
  redis: Redis,
  { lane, number, epoch }: CampaignId & { epoch: number },
  from: number,
  ulids: readonly string[],
  isOld: boolean,
): Promise<void> {
  await adoptScript(
    redis,
    { marks: campaignMarksKey(lane, number), campaign: campaignKey(lane, number) },
    { records: messageKey(lane, ''), from, ...(isOld && { notKept: NOT_KEPT }), epoch, ulids },
  )
}

const adopted = z.tuple([
  z.tuple([z.null(), z.record(z.string(), z.string())]),
  z.tuple([z.null(), z.instanceof(Buffer).nullable()]),
])

/**
 * The end of adopting: those that were marked `not_kept` and had never been claimed are counted as unknown, so that the
 * figures add up, and the campaign says that it keeps marks. Does nothing when that was done before, or in another epoch.
 */
export async function endAdopting(
  redis: Redis,
  { lane, number, epoch }: CampaignId & { epoch: number },
  total: number,
): Promise<void> {
  const [counts, marks] = [campaignCountsKey(lane, number), campaignMarksKey(lane, number)]
  const [[, hash], [, bytes]] = adopted.parse(await redis.multi().hgetall(counts).getBuffer(marks).exec())
  const claimed = Object.values(countsOf(hash)).reduce((sum, count) => sum + count, 0)
  let uncounted = -claimed
  for (let place = 0; bytes !== null && place < total; place += 1) {
    if (markAt(bytes, place) !== undefined) uncounted += 1
  }
  // What is claimed between the look and this step is marked and counted at once, so that the difference stays the same.
  await adoptedScript(redis, { campaign: campaignKey(lane, number), counts }, { epoch, uncounted })
}

// How many of a campaign's messages are in which state, as Redis counts them in the same step as each message.

export type Counts = Partial<Record<State, number>>

/** Messages with a record, by state. */
export async function readCounts(redis: Redis, { lane, number }: CampaignId): Promise<Counts> {
  return countsOf(await redis.hgetall(campaignCountsKey(lane, number)))
}

/** From what stands in the hash of counts. */
export function countsOf(hash: Readonly<Record<string, string>>): Counts {
  return Object.fromEntries(
    STATES.flatMap((state) => {
      const count = Number(hash[LETTERS[state]] ?? 0)
      return count === 0 ? [] : [[state, count]]
    }),
  )
}

// The messages of a campaign that have a record and wait for another try: thrown back by the provider, or never left.

/** Most records read at a time: after a large requeue 100,000 messages may be queued again. */
const RECORDS_AT_ONCE = 1_000

/** Their ULIDs, a page at a time. They are among the lane's messages that are queued again. */
export async function* queuedMessagesOf(redis: Redis, { lane, number }: CampaignId): AsyncGenerator<string[]> {
  const again = await redis.zrange(queuedAgainKey(lane), '0', '-1')
  for (let from = 0; from < again.length; from += RECORDS_AT_ONCE) {
    const some = again.slice(from, from + RECORDS_AT_ONCE)
    const records = await Promise.all(some.map((ulid) => redis.hmget(messageKey(lane, ulid), FIELDS.state, FIELDS.run)))
    yield some.filter((_ulid, i) => records[i]?.[0] === LETTERS.queued && records[i]?.[1] === String(number))
  }
}
