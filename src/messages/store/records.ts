// Message records as they are read. A record is one hash with short field names, because a million of them live for weeks;
// this file says what each holds, messages.ts and its scripts write them.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { jsonText, readRecord } from '../../redis/corrupt-record.ts'
import { isThere, readHashes } from '../../redis/hashes.ts'
import { laneJobKey, laneQueue, messageKey } from '../../redis/keys.ts'
import type { State } from '../lifecycle.ts'
import { type MessageId, messageId } from '../message-id.ts'
import type { Problem } from '../outcome.ts'

/** The letter each state is stored under. */
export const LETTERS: Readonly<Record<State, string>> = {
  queued: 'q',
  sending: 'c',
  unconfirmed: 'l',
  sent: 's',
  delivered: 'd',
  read: 'r',
  failed: 'f',
  expired: 'x',
  cancelled: 'k',
  unknown: 'n',
}
const STATE_OF = new Map(Object.entries(LETTERS).map(([state, letter]) => [letter, state]))
/** A state from the letter it is stored under. */
export const stateSchema = z
  .string()
  .transform((letter) => STATE_OF.get(letter))
  .pipe(z.enum(Object.keys(LETTERS) as [State, ...State[]]))

const recordSchema = z
  .object({
    s: stateSchema,
    a: z.string().default(''),
    n: z.coerce.number().int().default(0),
    o: z.coerce.number().int().default(0),
    b: z.string().default(''),
    h: z.string().default(''),
    t: z.string().default(''),
    k: z.enum(['interactive', 'image', 'audio', 'template']),
    x: z.string().default(''),
    v: jsonText.pipe(z.array(z.string())).optional(),
    y: z.enum(['t', 'c']),
    u: z.coerce.number(),
    g: z.string().optional(),
    r: z.coerce.number().int().optional(),
    w: z.string().optional(),
    e: z.string().optional(),
    p: z.string().optional(),
  })
  .transform((raw) => ({
    state: raw.s,
    /** Id of the latest attempt; empty before the first claim. */
    attempt: raw.a,
    /** Tries that ended proven unsent and count. */
    tries: raw.n,
    /** Times it was queued again although it may have gone out. */
    repeats: raw.o,
    /** What is known of other attempts than that, see src/messages/lifecycle.ts. */
    others: raw.b,
    /** Packed history, see src/messages/history.ts. */
    history: raw.h,
    /** Recipient: digits with country code. */
    to: raw.t,
    type: raw.k,
    /** Empty for a message of a campaign. */
    text: raw.x,
    /** Of a campaign's message: what was filled in, from which its text is made (campaigns/store/text.ts). */
    filled: raw.v,
    class: raw.y === 't' ? ('transactional' as const) : ('campaign' as const),
    /** Epoch ms. */
    validUntil: raw.u,
    /** Grouping id of the request. */
    campaign: raw.g,
    /** Number of the campaign of ours that it belongs to. */
    run: raw.r,
    /** The chat product's own id, once known. */
    providerId: raw.w,
    problem: raw.e === undefined ? undefined : problemOf(raw.e),
    /** The send payload as JSON, kept until the message is delivered; of a campaign's message only while it may be sent again. */
    payload: raw.p,
  }))
export type MessageRecord = z.infer<typeof recordSchema>

function problemOf(stored: string): Problem {
  const at = stored.indexOf('|')
  return { code: stored.slice(0, at), sentence: stored.slice(at + 1) }
}

/** The record, or undefined before the first claim and after its retention. */
export async function readMessage(redis: Redis, id: MessageId): Promise<MessageRecord | undefined> {
  const raw = await redis.hgetall(messageKey(id.lane, id.ulid))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(recordSchema, `message ${messageId(id.lane, id.ulid)}`, raw)
}

/** The same; `unreadable` for one that is not what Laneway wrote, for whoever must not stop at it. */
export async function readMessagesOrNot(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageRecord | 'unreadable' | undefined)[]> {
  const hashes = await readHashes(
    redis,
    ulids.map((ulid) => messageKey(lane, ulid)),
  )
  return hashes.map((hash) => {
    const parsed = isThere(hash) ? recordSchema.safeParse(hash) : undefined
    return parsed?.success === false ? 'unreadable' : parsed?.data
  })
}

/** The records of many messages of one lane in one round trip, in their order. */
export async function readMessages(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageRecord | undefined)[]> {
  const hashes = await readHashes(
    redis,
    ulids.map((ulid) => messageKey(lane, ulid)),
  )
  return hashes.map((hash, i) =>
    isThere(hash) ? readRecord(recordSchema, `message ${messageId(lane, ulids[i] ?? '')}`, hash) : undefined,
  )
}

/** Whether the message exists in any form: as a record, or still as a job. */
export async function messageExists(redis: Redis, { lane, ulid }: MessageId): Promise<boolean> {
  const record = messageKey(lane, ulid)
  if ((await redis.exists(record)) === 1) return true
  if ((await redis.exists(laneJobKey(lane, laneQueue(lane), messageId(lane, ulid)))) === 1) return true
  // Claimed and finished between the two looks: then the record is there by now.
  return (await redis.exists(record)) === 1
}
