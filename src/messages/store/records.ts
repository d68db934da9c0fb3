// Message records as they are read; record-format.ts says what they hold, the scripts of the steps write them.

import { z } from 'zod'
import { laneJobKey } from '../../queue/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { isThere, readHashes, readRecord } from '../../redis/records.ts'
import { type State, shownState } from '../lifecycle.ts'
import { type MessageId, messageId } from '../message-id.ts'
import { FIELDS, type MessageRecord, recordSchema, stateSchema } from './record-format.ts'

/** The record, or undefined before the first claim and after its retention. */
export async function readMessage(redis: Redis, id: MessageId): Promise<MessageRecord | undefined> {
  const raw = await redis.hgetall(messageKey(id.lane, id.ulid))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(recordSchema, `message ${messageId(id.lane, id.ulid)}`, raw)
}

/** The same; `unreadable` for one that is not what Laneway wrote, for callers that must not stop at it. */
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
  if ((await redis.exists(laneJobKey(lane, messageId(lane, ulid)))) === 1) return true
  // Claimed and finished between the two looks: then the record is there by now.
  return (await redis.exists(record)) === 1
}

/** In the order of the ULIDs; undefined for a message that has no record. */
export async function readStates(redis: Redis, lane: number, ulids: readonly string[]): Promise<(State | undefined)[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hget(messageKey(lane, ulid), FIELDS.state)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, letter]) => {
    if (error) throw error
    return letter === null ? undefined : stateSchema.parse(letter)
  })
}

const shownFields = z.tuple([stateSchema, z.coerce.number()])

/** The states as lookups show them: that a repeat failed proves nothing about the attempt before it. */
export async function readShownStates(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(State | undefined)[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  for (const ulid of ulids) pipeline.hmget(messageKey(lane, ulid), FIELDS.state, FIELDS.repeats)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, fields]) => {
    if (error) throw error
    if (!Array.isArray(fields) || fields[0] === null) return undefined
    const [state, repeats] = shownFields.parse(fields)
    return shownState({ state, repeats })
  })
}
