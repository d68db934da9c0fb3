// Attributes received messages to the campaigns that they answer, a moment after they came in. A message that names the one it answers (a
// quick reply, a quote, a reaction) belongs to the campaign of that one. Any other belongs to the latest campaign of the number whose
// message to the person left in the 72 hours before, because most people answer without a quote.
//
// All replies of a lane are matched in one read of the index of its campaigns, four bytes a recipient. The elected worker does it; if two
// do, or one dies in the middle, each recipient still counts once.
import { cachedSender } from '../accounts/senders.ts'
import type { Log } from '../kernel/log.ts'
import { acceptedAtMs, PERSON_HASH_BYTES } from '../kernel/message-id.ts'
import { indexHashesOf } from '../kernel/sealed.ts'
import { findInboundBy, namesOfWriter } from '../lanes/messages/inbound.ts'
import { placesIn, readSegment, type Segment, segmentsBetween } from '../lanes/messages/index-segments.ts'
import type { MessageRecord } from '../lanes/messages/record-format.ts'
import { readMessagesOrNot } from '../lanes/messages/records.ts'
import { type CampaignId, campaignId, parseCampaignId } from '../model/campaigns/campaign.ts'
import { campaignMessageUlid, placeInId } from '../model/campaigns/message-ids.ts'
import { readHistory } from '../model/messages/history.ts'
import { PROVEN_SENT } from '../model/messages/lifecycle.ts'
import { namesOfPeople } from '../people/names/names.ts'
import type { Redis } from '../redis/connect.ts'
import { countReplied, type Reply, replyLanes, settleReplies, waitingReplies } from './store/replies.ts'

/** Replies of a lane that one read matches. */
const AT_ONCE = 1_000
/** A message that names none answers one that left in this time before it. */
const ANSWERED_WITHIN_MS = 72 * 3_600_000
/** WhatsApp reports whole seconds, so an answer can seem to come before its question. */
const WHOLE_SECOND_MS = 1_000
/** Campaigns that started longer ago are not searched. */
const STARTED_WITHIN_MS = 30 * 86_400_000
/** Of these at most so many, the latest, and so many recipients: some 100 ms. */
const MOST_CAMPAIGNS = 50
const MOST_RECIPIENTS = 4_000_000
/** Recipients read at a time: 256 KB. */
const RECIPIENTS_AT_ONCE = 65_536

/** Who wrote, and which message they may have answered. */
interface Writer {
  names: readonly string[]
  /** Of all names, as the index has them. */
  hashes: readonly number[]
  receivedAt: number
  /** The message that they name, by WhatsApp's id. */
  answers: string | undefined
}

/** Counts the replies that wait on all lanes. */
export async function countReplies(redis: Redis, log: Log): Promise<void> {
  for (const lane of await replyLanes(redis)) {
    for (;;) {
      const replies = await waitingReplies(redis, lane, AT_ONCE)
      const writers = await writersOf(redis, lane, replies)
      const counted = writers.length === 0 ? 0 : await countWriters(redis, lane, writers)
      await settleReplies(redis, lane, replies)
      if (counted > 0) log.info({ lane, replies: replies.length, counted }, 'replies.counted')
      if (replies.length < AT_ONCE) break
    }
  }
}

async function writersOf(redis: Redis, lane: number, replies: readonly Reply[]): Promise<Writer[]> {
  const sender = replies.length === 0 ? undefined : await cachedSender(redis, lane)
  if (sender === undefined) return []
  const { account } = sender
  const found = await Promise.all(
    replies.map(async ({ message, receivedAt }) => {
      // A message that was erased since, or cannot be read, does not count.
      const received = await findInboundBy(redis, account, message).catch(() => undefined)
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
    return { ...rest, names, hashes: names.flatMap(indexHashesOf).map((hash) => hash.readUInt32LE()) }
  })
}

/** Searches the lane's campaigns for the writers, the latest first. Returns how many were newly counted. */
async function countWriters(redis: Redis, lane: number, writers: readonly Writer[]): Promise<number> {
  const latestMs = Math.max(...writers.map(({ receivedAt }) => receivedAt)) + WHOLE_SECOND_MS
  const { segments } = await segmentsBetween(redis, lane, latestMs - STARTED_WITHIN_MS, latestMs)
  const campaigns = segments
    .filter(({ kind }) => kind === 'campaign')
    .sort((one, other) => other.newestMs - one.newestMs)
    .slice(0, MOST_CAMPAIGNS)
  let left = [...writers]
  let [counted, looked] = [0, 0]
  for (const segment of campaigns) {
    const recipients = await placesIn(redis, segment)
    looked += recipients
    if (left.length === 0 || looked > MOST_RECIPIENTS) break
    const id = parseCampaignId(`cmp_${lane}_${segment.name.slice(1)}`)
    if (id === undefined) continue
    const answered = await answersOf(redis, { id, segment, recipients }, left)
    for (const place of new Set(answered.values())) if (await countReplied(redis, id, place)) counted += 1
    left = left.filter((writer) => !answered.has(writer))
  }
  return counted
}

/** Those of the writers who answer this campaign, with their places in its list. */
async function answersOf(
  redis: Redis,
  { id, segment, recipients }: { id: CampaignId; segment: Segment; recipients: number },
  writers: readonly Writer[],
): Promise<Map<Writer, number>> {
  const byHash = new Map<number, Writer[]>()
  for (const writer of writers) {
    for (const hash of writer.hashes) byHash.set(hash, [...(byHash.get(hash) ?? []), writer])
  }
  /** By message: a person may have written several times. */
  const maybe = new Map<string, Writer[]>()
  for (let from = 0; from < recipients; from += RECIPIENTS_AT_ONCE) {
    const to = Math.min(recipients, from + RECIPIENTS_AT_ONCE)
    const range = { from: from * PERSON_HASH_BYTES, to: to * PERSON_HASH_BYTES }
    const hashes = (await readSegment(redis, segment, 'hashes', range)) ?? Buffer.alloc(0)
    for (let at = 0; at + PERSON_HASH_BYTES <= hashes.length; at += PERSON_HASH_BYTES) {
      const place = from + at / PERSON_HASH_BYTES
      for (const writer of byHash.get(hashes.readUInt32LE(at)) ?? []) {
        // Others may have the same four bytes: only the person has a message under the id that follows from their name.
        for (const name of writer.names) {
          const ulid = campaignMessageUlid(campaignId(id), segment.newestMs, place, name)
          const some = maybe.get(ulid) ?? []
          maybe.set(ulid, some)
          some.push(writer)
        }
      }
    }
  }
  const ulids = [...maybe.keys()]
  const records = await readMessagesOrNot(redis, id.lane, ulids)
  return new Map(
    ulids.flatMap((ulid, i): [Writer, number][] => {
      const record = records[i]
      if (record === undefined || record === 'unreadable') return []
      const answering = (maybe.get(ulid) ?? []).filter((writer) => isAnswer(writer, record, ulid))
      return answering.map((writer) => [writer, placeInId(ulid)])
    }),
  )
}

function isAnswer(
  { answers, receivedAt }: Writer,
  { state, providerId, history }: MessageRecord,
  ulid: string,
): boolean {
  if (answers !== undefined) return answers === providerId
  if (!PROVEN_SENT.some((each) => each === state)) return false
  return readHistory(history, acceptedAtMs(ulid)).some(
    ({ code, atMs }) => code === 'c' && atMs - WHOLE_SECOND_MS <= receivedAt && receivedAt - atMs <= ANSWERED_WITHIN_MS,
  )
}
