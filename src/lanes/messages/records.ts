// Reads the records of messages, for those who move them on: lanes, workers, reports. What shows, sends again or erases
// messages that have ended asks the archive. record-format.ts describes a record; the scripts of the steps write it.

import { z } from 'zod'
import { type MessageId, messageId } from '../../kernel/message-id.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { type CorruptRecordError, isThere, readHashes, readRecord, recordOrError } from '../../redis/records.ts'
import { laneJobKey } from '../bullmq/layout.ts'
import { FIELD, type MessageRecord, recordSchema, stateSchema } from './record-format.ts'

export type { MessageRecord } from './record-format.ts'

/** The record, or undefined before the first claim and after its retention. */
export async function readMessage(redis: Redis, id: MessageId): Promise<MessageRecord | undefined> {
  const raw = await redis.hgetall(messageKey(id.lane, id.ulid))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(recordSchema, `message ${messageId(id.lane, id.ulid)}`, raw)
}

/**
 * The records of many messages of one lane in one round trip, in their order; in place of one that is not what Laneway wrote
 * the error that says so, for callers that must not stop at it.
 */
export async function readMessages(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageRecord | CorruptRecordError | undefined)[]> {
  const keys = ulids.map((ulid) => messageKey(lane, ulid))
  return (await readHashes(redis, keys)).map((hash, i) =>
    isThere(hash) ? recordOrError(recordSchema, `message ${messageId(lane, ulids[i] ?? '')}`, hash) : undefined,
  )
}

/** The id of the attempt that counts; empty before the first claim. */
export const readAttempt = async (redis: Redis, { lane, ulid }: MessageId): Promise<string> =>
  (await redis.hget(messageKey(lane, ulid), FIELD.attempt)) ?? ''

/** Whether the message exists in any form: as a record, or still as a job. */
export async function messageExists(redis: Redis, { lane, ulid }: MessageId): Promise<boolean> {
  const record = messageKey(lane, ulid)
  if ((await redis.exists(record)) === 1) return true
  if ((await redis.exists(laneJobKey(lane, messageId(lane, ulid)))) === 1) return true
  // Claimed and finished between the two reads: then the record exists by now.
  return (await redis.exists(record)) === 1
}

/** How far a message has come. */
export interface Progress {
  state: State
  /** Times it was queued again although it may have gone out. */
  repeats: number
  /** Number of the campaign of ours that it belongs to. */
  run: number | undefined
  /** Code of its problem. */
  code: string | undefined
}

const progressSchema = z
  .tuple([stateSchema, z.coerce.number(), z.coerce.number<string>().nullable(), z.string().nullable()])
  .transform(
    ([state, repeats, run, problem]): Progress => ({
      ...{ state, repeats, run: run ?? undefined },
      code: problem?.split('|', 1)[0],
    }),
  )

/** The same of how far they have come, which takes a few fields of each record. */
export async function readProgress(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(Progress | CorruptRecordError | undefined)[]> {
  if (ulids.length === 0) return []
  const pipeline = redis.pipeline()
  const { state, repeats, run, problem } = FIELD
  for (const ulid of ulids) pipeline.hmget(messageKey(lane, ulid), state, repeats, run, problem)
  return ((await pipeline.exec()) ?? []).map(([error, fields], i) => {
    if (error) throw error
    if (!Array.isArray(fields) || fields[0] === null) return undefined
    return recordOrError(progressSchema, `message ${messageId(lane, ulids[i] ?? '')}`, fields)
  })
}
