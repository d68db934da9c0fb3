// Reads message records. record-format.ts describes them; the scripts of the steps write them.

import { z } from 'zod'
import { type MessageId, messageId } from '../../kernel/message-id.ts'
import { type State, shownState } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { isThere, readHashes, readRecord } from '../../redis/records.ts'
import { laneJobKey } from '../bullmq/layout.ts'
import { FIELDS, type MessageRecord, recordSchema, stateSchema } from './record-format.ts'

/** The record, or undefined before the first claim and after its retention. */
export async function readMessage(redis: Redis, id: MessageId): Promise<MessageRecord | undefined> {
  const raw = await redis.hgetall(messageKey(id.lane, id.ulid))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(recordSchema, `message ${messageId(id.lane, id.ulid)}`, raw)
}

/** The records of many messages of one lane in one round trip, in their order. */
export const readMessages = (
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageRecord | undefined)[]> =>
  readEach(redis, lane, ulids, (hash, ulid) => readRecord(recordSchema, `message ${messageId(lane, ulid)}`, hash))

/** The same; `unreadable` for a corrupt one, for callers that must not stop at it. */
export const readMessagesOrNot = (
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageRecord | 'unreadable' | undefined)[]> =>
  readEach(redis, lane, ulids, (hash) => recordSchema.safeParse(hash).data ?? ('unreadable' as const))

async function readEach<T>(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
  read: (hash: unknown, ulid: string) => T,
): Promise<(T | undefined)[]> {
  const keys = ulids.map((ulid) => messageKey(lane, ulid))
  return (await readHashes(redis, keys)).map((hash, i) => (isThere(hash) ? read(hash, ulids[i] ?? '') : undefined))
}

/** Whether the message exists in any form: as a record, or still as a job. */
export async function messageExists(redis: Redis, { lane, ulid }: MessageId): Promise<boolean> {
  const record = messageKey(lane, ulid)
  if ((await redis.exists(record)) === 1) return true
  if ((await redis.exists(laneJobKey(lane, messageId(lane, ulid)))) === 1) return true
  // Claimed and finished between the two reads: then the record exists by now.
  return (await redis.exists(record)) === 1
}

/** In the order of the ULIDs; undefined for a message that has no record. */
export const readStates = async (
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(State | undefined)[]> => (await readProgress(redis, lane, ulids)).map((record) => record?.state)

/** The states as lookups show them: a failed repeat proves nothing about the attempt before it. */
export const readShownStates = async (
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(State | undefined)[]> =>
  (await readProgress(redis, lane, ulids)).map((record) => record && shownState(record))

const storedProgress = z.tuple([stateSchema, z.coerce.number()])

async function readProgress(redis: Redis, lane: number, ulids: readonly string[]) {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hmget(messageKey(lane, ulid), FIELDS.state, FIELDS.repeats)
  return ((await pipeline.exec()) ?? []).map(([error, fields]) => {
    if (error) throw error
    if (!Array.isArray(fields) || fields[0] === null) return undefined
    const [state, repeats] = storedProgress.parse(fields)
    return { state, repeats }
  })
}
