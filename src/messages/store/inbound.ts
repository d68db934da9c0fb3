// Received messages, found by the chat product's id.
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { jsonText, readRecord } from '../../redis/corrupt-record.ts'
import { inboundKey, inboundKeyOf, outboxKey } from '../../redis/keys.ts'
import { assertReplicated } from '../../redis/replication.ts'
import { execOrThrow } from '../../redis/transaction.ts'
import { receivedPartsSchema } from '../received.ts'
import { indexReceived } from './message-index.ts'

const inboundSchema = z.object({
  id: z.string(),
  /** The lane of the sender that received it. */
  lane: z.coerce.number().int().positive(),
  /** Digits of the person who wrote, or the user id where the chat product does not give the number. */
  from: z.string(),
  type: z.string(),
  text: z.string(),
  /** JSON in the hash. Messages of before have none. */
  parts: jsonText.pipe(receivedPartsSchema).prefault('{}'),
  /** Epoch ms. */
  received_at: z.coerce.number(),
})
export type InboundMessage = z.infer<typeof inboundSchema>
/** One that is to be stored. */
export type NewInbound = Omit<InboundMessage, 'parts'> & Partial<Pick<InboundMessage, 'parts'>>

/** Whoever listens was told of it. */
const NOTIFIED = 'notified'

/**
 * Stores a received message and tells whoever listens; doing it again, as the chat product repeats webhooks, changes
 * nothing. Dying before it is told: the webhook was not answered, and is brought again.
 */
export async function storeInbound(
  redis: Redis,
  account: number,
  message: NewInbound,
  retentionMs: number,
): Promise<void> {
  const key = inboundKey(account, message.id)
  if ((await redis.hget(key, NOTIFIED)) === '1') return
  // First, so that whoever dies in between leaves an id without a message. A repeat is shown once.
  if ((await redis.exists(key)) === 0) {
    await indexReceived(redis, message, retentionMs)
    const stored = { ...message, parts: JSON.stringify(message.parts ?? {}) }
    await execOrThrow(redis.multi().hset(key, stored).pexpire(key, retentionMs, 'NX'))
  }
  const event = JSON.stringify({ about: 'received', id: message.id, at: message.received_at })
  await redis.xadd(outboxKey(message.lane), 'NOMKSTREAM', '*', 'e', event)
  await redis.hset(key, NOTIFIED, '1')
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
