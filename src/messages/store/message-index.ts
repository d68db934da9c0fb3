// The index of a lane's messages: which there are, in the order of their acceptance, and to whom each goes. It is
// written before the message itself or together with it, so that a process that dies in between leaves an id without a
// message, which readers pass over, and never a message that no list shows. scripts/message-index.lua says what it
// looks like in Redis; index-segments.ts reads it.
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inboundDigest, indexSegmentKeys, messageIndexKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { acceptedAtMs, ID_BYTES, PERSON_HASH_BYTES, packTime, packUlid, placeIn } from '../message-id.ts'
import { indexHashOf } from '../sealed.ts'
import { RECEIVED_ID_BYTES, segmentsFrom } from './index-segments.ts'

const addScript = defineScript(import.meta.url, 'index-add')
const addCampaignScript = defineScript(import.meta.url, 'index-add-campaign')

/** What the index is told of a message that is about to be queued. */
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
 * Adds messages of one lane to its index, for as long as any of them can have a record: `retentionMs` after it is last
 * sent. Adding one again, as when a repeat makes up for what a crash left out, shows it once all the same.
 */
export async function indexMessages(
  redis: Redis,
  lane: number,
  messages: readonly IndexedMessage[],
  retentionMs: number,
): Promise<void> {
  const single = messages.filter(({ run }) => run === undefined)
  const adding: Promise<unknown>[] = []
  if (single.length > 0) adding.push(addSingle(redis, lane, single, retentionMs))
  if (single.length < messages.length) {
    for (const piece of pieces(messages)) adding.push(addPiece(redis, lane, piece, retentionMs))
  }
  await Promise.all(adding)
}

function addSingle(
  redis: Redis,
  lane: number,
  messages: readonly IndexedMessage[],
  retentionMs: number,
): Promise<unknown> {
  const { packedIds: ids, ...packed } = packForIndex(messages, retentionMs)
  return addScript(redis, { index: messageIndexKey(lane) }, { series: 'o', ids, ...packed })
}

/** Messages of no campaign as a script adds them to the index, see `indexMessages` in scripts/message-index.lua. */
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
  return { packedIds, hashes, oldestMs, newestMs, untilMs: lastOf(messages) + retentionMs }
}

const lastOf = (messages: readonly IndexedMessage[]): number => Math.max(...messages.map(({ until }) => until))

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
    const place = campaignPlace(ulid)
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

/** The place in its campaign's list that an id was made from, see campaigns/message-ids.ts. */
function campaignPlace(ulid: string): number {
  packUlid(ulid, scratch, 0)
  return placeIn(scratch)
}

const scratch = Buffer.alloc(ID_BYTES)

function addPiece(
  redis: Redis,
  lane: number,
  { run, startedAtMs, place, messages }: Piece,
  retentionMs: number,
): Promise<unknown> {
  const ids = Buffer.alloc(messages.length * ID_BYTES)
  const hashes = Buffer.alloc(messages.length * PERSON_HASH_BYTES)
  for (const [i, { ulid, to }] of messages.entries()) {
    packUlid(ulid, ids, i * ID_BYTES)
    hashes.writeUInt32LE(indexHashOf(to), i * PERSON_HASH_BYTES)
  }
  const untilMs = lastOf(messages) + retentionMs
  const args = { campaigns: campaignPrefix(lane), run, startedAtMs, place, ids, hashes, untilMs }
  return addCampaignScript(redis, { index: messageIndexKey(lane) }, args)
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
  await addScript(redis, { index: messageIndexKey(lane) }, { series: 'r', ids, hashes, ...times })
}

/**
 * Keeps these messages in the index until `untilMs` and the retention at least: those that are sent again live longer
 * than was known when they were accepted. Costs nothing but a longer life of the segments that they stand in.
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
  const index = messageIndexKey(lane)
  const pipeline = redis.pipeline()
  for (const { name, oldestMs: first } of segments) {
    if (first > newestMs) continue
    for (const key of Object.values(indexSegmentKeys(lane, name))) pipeline.pexpireat(key, untilMs, 'GT')
  }
  for (const key of [index, `${index}:open`]) pipeline.pexpireat(key, untilMs, 'GT')
  for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
}
