// Received messages, found by the chat product's id.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/corrupt-record.ts'
import { inboundKey, inboundKeyOf } from '../../redis/keys.ts'
import { assertReplicated } from '../../redis/replication.ts'
import { execOrThrow } from '../../redis/transaction.ts'
import { indexReceived } from './message-index.ts'

const inboundSchema = z.object({
  id: z.string(),
  /** The lane of the sender that received it. */
  lane: z.coerce.number().int().positive(),
  /** Digits of the person who wrote; empty when the chat product does not give the number. */
  from: z.string(),
  type: z.string(),
  text: z.string(),
  /** Epoch ms. */
  received_at: z.coerce.number(),
})
export type InboundMessage = z.infer<typeof inboundSchema>

/** Stores a received message; storing it again, as the chat product repeats webhooks, changes nothing. */
export async function storeInbound(
  redis: Redis,
  account: number,
  message: InboundMessage,
  retentionMs: number,
): Promise<void> {
  const key = inboundKey(account, message.id)
  // First, so that whoever dies in between leaves an id without a message. A repeat is shown once.
  if ((await redis.exists(key)) === 0) await indexReceived(redis, message, retentionMs)
  await execOrThrow(redis.multi().hset(key, message).pexpire(key, retentionMs, 'NX'))
  await assertReplicated(redis, [key])
}

/**
 * A received message of the account by the chat product's id; undefined when there is none. Throws a
 * CorruptRecordError.
 */
export const findInbound = (redis: Redis, account: number, id: string): Promise<InboundMessage | undefined> =>
  readInbound(redis, inboundKey(account, id))

/** The same by what stands for the id in the index. */
export const findInboundBy = (redis: Redis, account: number, digested: string): Promise<InboundMessage | undefined> =>
  readInbound(redis, inboundKeyOf(account, digested))

async function readInbound(redis: Redis, key: string): Promise<InboundMessage | undefined> {
  const raw = await redis.hgetall(key)
  return Object.keys(raw).length === 0 ? undefined : readRecord(inboundSchema, 'received message', raw)
}
