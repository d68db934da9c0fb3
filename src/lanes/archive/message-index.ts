// Writes the index of a lane's messages: their ids in the order of acceptance, and a hash of each recipient. It is
// written before the message or together with it, so that a process that dies in between leaves an id without a message,
// which readers skip, and never a message that no list shows. scripts/message-index.lua describes the format;
// index-segments.ts reads it.

import { acceptedAtMs, ID_BYTES, PERSON_HASH_BYTES, packTime, packUlid } from '../../kernel/message-id.ts'
import { indexHashOf } from '../../kernel/sealed.ts'
import { placeInId } from '../../model/campaigns/message-ids.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inboundDigest, indexSegmentKeys, messageIndexKey, openSegmentsKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { DIGIT, LATENESS, RECEIVED_ID_BYTES, SERIES, segmentsFrom } from './index-segments.ts'

const addScript = defineScript(import.meta.url, 'index-add', { names: { SERIES, DIGIT, LATENESS } })

/** The entry of a message that is about to be queued. */
export interface IndexedMessage {
  ulid: string
  /** Digits of the recipient. */
  to: string
  /** Epoch ms after which it is not sent. */
  until: number
  /** Number of the campaign that it belongs to. */
  run?: number | undefined
}

/**
 * Adds messages of one lane to its index, for as long as any of them can have a record: `retentionMs` after it is last sent. A message
 * that is added twice, as by a repeat after a crash, is listed once.
 */
export async function indexMessages(
  redis: Redis,
  lane: number,
  messages: readonly IndexedMessage[],
  retentionMs: number,
): Promise<void> {
  const single = messages.filter(({ run }) => run === undefined)
  const adding = pieces(messages).map(({ run, place, messages: piece }) =>
    add(redis, lane, piece, retentionMs, { campaigns: campaignPrefix(lane), run, place }),
  )
  if (single.length > 0) adding.push(add(redis, lane, single, retentionMs))
  await Promise.all(adding)
}

function add(
  redis: Redis,
  lane: number,
  messages: readonly IndexedMessage[],
  retentionMs: number,
  ofCampaign?: { campaigns: string; run: number; place: number },
): Promise<unknown> {
  const { packedIds: ids, ...packed } = packForIndex(messages, retentionMs)
  return addScript(redis, { index: messageIndexKey(lane) }, { series: SERIES.sent, ids, ...packed, ...ofCampaign })
}

/** Messages as a script adds them to the index, see `indexMessages` in scripts/message-index.lua. */
export function packForIndex(messages: readonly IndexedMessage[], retentionMs: number) {
  const packedIds = Buffer.alloc(messages.length * ID_BYTES)
  const hashes = Buffer.alloc(messages.length * PERSON_HASH_BYTES)
  let [oldestMs, newestMs] = [Number.POSITIVE_INFINITY, 0]
  for (const [i, { ulid, to }] of messages.entries()) {
    packUlid(ulid, packedIds, i * ID_BYTES)
    hashes.writeUInt32LE(indexHashOf(to), i * PERSON_HASH_BYTES)
    const at = packedIds.readUIntBE(i * ID_BYTES, 6)
    oldestMs = Math.min(oldestMs, at)
    newestMs = Math.max(newestMs, at)
  }
  return {
    packedIds,
    hashes,
    oldestMs,
    newestMs,
    untilMs: Math.max(...messages.map(({ until }) => until)) + retentionMs,
  }
}

/** Messages of one campaign that follow each other in its list. */
interface Piece {
  run: number
  startedAtMs: number
  place: number
  messages: IndexedMessage[]
}

function pieces(messages: readonly IndexedMessage[]): Piece[] {
  const found: Piece[] = []
  for (const message of messages) {
    const { run, ulid } = message
    if (run === undefined) continue
    const place = placeInId(ulid)
    const startedAtMs = acceptedAtMs(ulid)
    const last = found.at(-1)
    if (last?.run === run && last.startedAtMs === startedAtMs && last.place + last.messages.length === place) {
      last.messages.push(message)
    } else {
      found.push({ run, startedAtMs, place, messages: [message] })
    }
  }
  return found
}

/** Adds a received message to the index of the lane that received it. */
export async function indexReceived(
  redis: Redis,
  message: { id: string; lane: number; from: string; received_at: number },
  retentionMs: number,
): Promise<void> {
  const { lane, from, received_at: at } = message
  const ids = Buffer.alloc(RECEIVED_ID_BYTES)
  packTime(at, ids, 0)
  // 27 characters are 162 bits; one more makes whole bytes of them.
  Buffer.from(`${inboundDigest(message.id)}A`, 'base64url').copy(ids, 6)
  const hashes = Buffer.alloc(PERSON_HASH_BYTES)
  hashes.writeUInt32LE(indexHashOf(from))
  const times = { oldestMs: at, newestMs: at, untilMs: Math.max(at, Date.now()) + retentionMs }
  await addScript(redis, { index: messageIndexKey(lane) }, { series: SERIES.received, ids, hashes, ...times })
}

/**
 * Keeps these messages in the index until `untilMs` and the retention at least: those that are sent again live longer
 * than was known when they were accepted. The only cost: their segments live longer.
 */
export async function keepIndexed(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
  untilMs: number,
): Promise<void> {
  if (ulids.length === 0) return
  const times = ulids.map(acceptedAtMs)
  const [oldestMs, newestMs] = [Math.min(...times), Math.max(...times)]
  const segments = await segmentsFrom(redis, lane, oldestMs)
  const pipeline = redis.pipeline()
  for (const { name, oldestMs: first } of segments) {
    if (first > newestMs) continue
    for (const key of Object.values(indexSegmentKeys(lane, name))) pipeline.pexpireat(key, untilMs, 'GT')
  }
  for (const key of [messageIndexKey(lane), openSegmentsKey(lane)]) pipeline.pexpireat(key, untilMs, 'GT')
  for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
}
