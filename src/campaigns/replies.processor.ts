// Attributes received messages to the campaigns that they answer, a moment after they came in. A message that names the one it answers (a
// quick reply, a quote, a reaction) belongs to the campaign of that one. Any other belongs to the latest campaign of the number whose
// message to the person left in the 72 hours before, because most people answer without a quote.
//
// All replies of a lane are matched in one walk over what its campaigns sent. The elected worker does it; if two do, or one
// dies in the middle, each recipient still counts once.
import { cachedSender } from '../accounts/senders.ts'
import type { Log } from '../kernel/log.ts'
import { acceptedAtMs } from '../kernel/message-id.ts'
import { DAY_MS, HOUR_MS } from '../kernel/time-units.ts'
import { archiveOf, type KeptMessage } from '../lanes/archive/archive.ts'
import { namesOfWriter } from '../lanes/messages/inbound.ts'
import { type CampaignId, campaignId } from '../model/campaigns/campaign-id.ts'
import { campaignMessageUlid, placeInId } from '../model/campaigns/message-ids.ts'
import { HISTORY } from '../model/messages/history.ts'
import { PROVEN_SENT } from '../model/messages/lifecycle.ts'
import { namesOfPeople } from '../people/names/names.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { skipCorrupt } from '../redis/records.ts'
import { countReplied, type Reply, replyLanes, settleReplies, waitingReplies } from './store/replies.ts'

/** Replies of a lane that one read matches. */
const AT_ONCE = 1_000
/** A message that names none answers one that left in this time before it. */
const ANSWERED_WITHIN_MS = 72 * HOUR_MS
/** WhatsApp reports whole seconds, so an answer can seem to come before its question. */
const WHOLE_SECOND_MS = 1_000
/** Campaigns that started longer ago are not searched. */
const STARTED_WITHIN_MS = 30 * DAY_MS
/** Of these at most so many, the latest, and so many recipients: some 100 ms. */
const MOST_CAMPAIGNS = 50
const MOST_RECIPIENTS = 4_000_000

/** Who wrote, and which message they may have answered. */
interface Writer {
  names: readonly string[]
  receivedAt: number
  /** The message that they name, by WhatsApp's id. */
  answers: string | undefined
}

/**
 * Counts the replies that wait on all lanes. A lane where that fails, as with a broken record of its sender, keeps its replies; then this
 * rejects once all others are counted.
 */
export async function countReplies(redis: Redis, log: Log): Promise<void> {
  const errors: unknown[] = []
  for (const lane of await replyLanes(redis)) {
    try {
      await countRepliesOn(redis, lane, log)
    } catch (error) {
      if (isRedisAway(error)) throw error
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}

async function countRepliesOn(redis: Redis, lane: number, log: Log): Promise<void> {
  for (;;) {
    const replies = await waitingReplies(redis, lane, AT_ONCE)
    const writers = await writersOf(redis, lane, replies)
    const counted = writers.length === 0 ? 0 : await countWriters(redis, lane, writers)
    await settleReplies(redis, lane, replies)
    if (counted > 0) log.info({ lane, replies: replies.length, counted }, 'replies.counted')
    if (replies.length < AT_ONCE) return
  }
}

async function writersOf(redis: Redis, lane: number, replies: readonly Reply[]): Promise<Writer[]> {
  const sender = replies.length === 0 ? undefined : await cachedSender(redis, lane)
  if (sender === undefined) return []
  const { account } = sender
  const found = await Promise.all(
    replies.map(async ({ message, receivedAt }) => {
      // A message that was erased since, or cannot be read, does not count.
      const received = await archiveOf(redis).find({ account, name: message }).catch(skipCorrupt)
      if (received === undefined) return []
      const { parts } = received
      return [
        { own: namesOfWriter(received), receivedAt, answers: parts.context?.message_id ?? parts.reaction?.message_id },
      ]
    }),
  )
  const writers = found.flat()
  const all = await namesOfPeople(
    redis,
    account,
    writers.map(({ own }) => own[0] ?? ''),
  )
  return writers.map(({ own, ...rest }, i) => {
    const names = [...new Set([...own, ...(all[i] ?? [])])]
    return { ...rest, names }
  })
}

/** Searches the lane's campaigns for the writers, the latest first. Returns how many were newly counted. */
async function countWriters(redis: Redis, lane: number, writers: readonly Writer[]): Promise<number> {
  const untilMs = Math.max(...writers.map(({ receivedAt }) => receivedAt)) + WHOLE_SECOND_MS
  const campaigns = {
    ...{ sinceMs: untilMs - STARTED_WITHIN_MS, untilMs },
    ...{ most: MOST_CAMPAIGNS, mostRecipients: MOST_RECIPIENTS },
  }
  const people = writers.map(({ names }) => names)
  const left = new Set(writers)
  let counted = 0
  for await (const messages of archiveOf(redis).walk({ lane, people, campaigns })) {
    const maybe = new Map<string, Writer[]>()
    for (const message of messages) {
      const writer = writers[message.who]
      if (message.kind !== 'sent' || writer === undefined || !left.has(writer)) continue
      // A person may have written several times.
      maybe.set(message.ulid, [...(maybe.get(message.ulid) ?? []), writer])
    }
    const answered = await answersAmong(redis, lane, maybe)
    // Each place once, although several may answer from it.
    const places = new Map([...answered.values()].map(({ id, place }) => [`${id.number} ${place}`, { id, place }]))
    for (const { id, place } of places.values()) if (await countReplied(redis, id, place)) counted += 1
    for (const writer of answered.keys()) left.delete(writer)
    if (left.size === 0) break
  }
  return counted
}

/** The recipient of a campaign, by the place in its list. */
interface Answered {
  id: CampaignId
  place: number
}

/** Those of the writers who answer one of these messages, by its ULID; `maybe` has those that it may have gone to. */
async function answersAmong(
  redis: Redis,
  lane: number,
  maybe: ReadonlyMap<string, readonly Writer[]>,
): Promise<Map<Writer, Answered>> {
  const ulids = [...maybe.keys()]
  const records = await archiveOf(redis).find({ lane, ulids })
  return new Map(
    ulids.flatMap((ulid, i): [Writer, Answered][] => {
      const record = records[i]
      if (record === undefined || record instanceof Error || record.run === undefined) return []
      const answered = { id: { lane, number: record.run }, place: placeInId(ulid) }
      // Others may have the same four bytes: only the person has a message under the id that follows from their name.
      const isTo = ({ names }: Writer): boolean =>
        names.some(
          (name) => campaignMessageUlid(campaignId(answered.id), acceptedAtMs(ulid), answered.place, name) === ulid,
        )
      const answering = (maybe.get(ulid) ?? []).filter((writer) => isTo(writer) && isAnswer(writer, record))
      return answering.map((writer) => [writer, answered])
    }),
  )
}

function isAnswer({ answers, receivedAt }: Writer, { state, providerId, history }: KeptMessage): boolean {
  if (answers !== undefined) return answers === providerId
  if (!PROVEN_SENT.some((each) => each === state)) return false
  return history.some(
    ({ code, atMs }) =>
      code === HISTORY.claimed && atMs - WHOLE_SECOND_MS <= receivedAt && receivedAt - atMs <= ANSWERED_WITHIN_MS,
  )
}
